#include "services/page/terminal_view.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "pipeline/transcript.h"
#include "services/page/watches.h"
#include "tests/pipeline/support.h"

namespace runnel::page {
namespace {

using pipeline::test::Events;
using pipeline::test::Lossy;

std::unique_ptr<pipeline::Graph> graph_of(const std::string& text) {
  pipeline::GraphOptions options;
  options.nodes = pipeline::test::test_nodes();
  options.amend = [nodes = options.nodes](pipeline::GraphText& graph) { add_watches(graph, nodes); };
  options.speed = 2;
  auto graph = pipeline::Graph::build(text, options);
  EXPECT_TRUE(graph.ok()) << graph.status().text();
  return graph.ok() ? std::move(graph).value() : nullptr;
}

TEST(Watches, StandBehindSourcesModelsAndEvents) {
  auto graph = *pipeline::parse_graph(
      "wav path=a.wav name=in ! fbank ! infer model=m.rnl name=m ! detect ! jsonl\nin. ! null");
  add_watches(graph, pipeline::host_nodes());
  EXPECT_EQ(pipeline::to_text(graph).find("watch what=source") != std::string::npos, true);
  std::vector<std::pair<std::string, std::string>> found;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = graph.nodes[i];
    if (node.type != "watch") continue;
    found.emplace_back(graph.nodes[static_cast<std::size_t>(node.input)].type, node.parameters[0].value);
    // Before sinks: a terminal's line is taken away before they write to the terminal.
    EXPECT_EQ(node.input + 1, static_cast<int>(i));
  }
  EXPECT_EQ(found, (std::vector<std::pair<std::string, std::string>>{
                       {"wav", "source"}, {"infer", "model"}, {"detect", "events"}}));
}

TEST(TerminalView, ShowsLevelAndLossesAndMakesRoomForEvents) {
  Lossy::samples.assign(16000, 0.1F);
  Lossy::losses = {{8000, 320}};
  Lossy::sample_rate = 16000;
  Events::at = {4000};
  Events::label = "word";
  const auto graph = graph_of("lossy ! events ! null");
  ASSERT_NE(graph, nullptr);
  std::string screen;
  TerminalView view([&](std::string_view text) { screen += text; });
  view.connect(*graph);
  graph->on_step([&](const pipeline::Graph& stepped) { view.stepped(stepped); });
  ASSERT_TRUE(graph->run().ok());
  view.clear();
  // -20 dB are two thirds of the bar.
  EXPECT_NE(screen.find("[#############.......] -20 dB"), std::string::npos) << screen;
  EXPECT_NE(screen.find("LOST 320 samples"), std::string::npos) << screen;
  EXPECT_TRUE(screen.ends_with("\r\x1b[K")) << "nothing is left";
}

TEST(TerminalView, ShowsTheTextOfAnUtteranceUntilItIsFinal) {
  TerminalView view([](std::string_view) {});
  pipeline::Watch watch;
  pipeline::Transcript transcript;
  pipeline::Event event;
  event.transcript = &transcript;
  transcript.text = "turn\x1b[2J the light";
  view.watched(watch, event, {});
  EXPECT_EQ(view.line(3.25, 0, 79), "3.2 s  [....................] -60 dB  turn?[2J the light");
  EXPECT_EQ(view.line(3.25, 0, 47), "3.2 s  [....................] -60 dB  the light") << "its end";
  transcript.final = true;
  view.watched(watch, event, {});
  EXPECT_EQ(view.line(3.25, 0, 79), "3.2 s  [....................] -60 dB");
}

TEST(TerminalView, KeepsToTheWidth) {
  const TerminalView view([](std::string_view) {});
  EXPECT_EQ(view.line(3.25, 0, 79), "3.2 s  [....................] -60 dB");
  EXPECT_EQ(view.line(3.25, 12, 10), "3.2 s  [..");
}

}  // namespace
}  // namespace runnel::page
