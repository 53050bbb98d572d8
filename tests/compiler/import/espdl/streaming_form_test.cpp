// Graphs written for streaming with --chunk: the digits network, and small ones that StreamingCache can or
// cannot keep.
#include "compiler/write/espdl/streaming_form.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "compiler/import/espdl/importer.h"
#include "compiler/run_whole.h"
#include "compiler/write/espdl/writer.h"
#include "tests/compiler/import/espdl/graph_maker.h"
#include "tests/compiler/run_graph.h"
#include "tests/support/data.h"

namespace runnel {
namespace {

using compiler::EspdlTarget;
using compiler::Graph;
using test::Bytes;
using test::GraphMaker;

Bytes random_bytes(std::size_t count) {
  std::mt19937 random(3);
  Bytes out(count);
  for (std::byte& byte : out) byte = static_cast<std::byte>(random());
  return out;
}

Graph digits() {
  auto imported = compiler::import_espdl(
      test::read_file(std::filesystem::path(RUNNEL_SOURCE_FOLDER) / "models/digits/digits_c_s8.espdl"),
      {.target = EspdlTarget::c});
  EXPECT_TRUE(imported.ok()) << imported.status().text();
  return std::move(imported->graph);
}

// Read without making padding of its caches, call by call as ESP-DL runs it: the streaming graph itself.
std::vector<compiler::Buffers> call_by_call(const Graph& streaming, const Bytes& recording,
                                            std::size_t bytes_per_call) {
  std::vector<compiler::Buffers> calls;
  for (std::size_t at = 0; at + bytes_per_call <= recording.size(); at += bytes_per_call) {
    calls.push_back({Bytes(recording.begin() + static_cast<std::ptrdiff_t>(at),
                           recording.begin() + static_cast<std::ptrdiff_t>(at + bytes_per_call))});
  }
  auto outputs = compiler::run_whole(streaming, calls);
  EXPECT_TRUE(outputs.ok()) << outputs.status().text();
  return outputs.ok() ? *outputs : std::vector<compiler::Buffers>();
}

Bytes joined(const std::vector<compiler::Buffers>& calls) {
  Bytes all;
  for (const auto& call : calls) all.insert(all.end(), call[0].begin(), call[0].end());
  return all;
}

TEST(StreamingForm, DigitsFrameByFrameAreTheStreamedAndTheOfflineResult) {
  const Graph graph = digits();
  const Bytes recording = random_bytes(200 * 40);
  const auto own = test::RunnableGraph::make(graph);
  ASSERT_TRUE(own.ok()) << own.status().text();
  const auto streamed = (*own)->streamed({recording}, 1);
  ASSERT_TRUE(streamed.ok()) << streamed.status().text();
  for (const int chunk : {1, 4, 8}) {
    const auto form = compiler::streaming_form(graph, chunk);
    ASSERT_TRUE(form.ok()) << form.status().text();
    ASSERT_TRUE(form->refusals.empty()) << form->refusals[0];
    EXPECT_EQ(form->lags, std::vector<std::int64_t>{0});
    EXPECT_EQ(joined(call_by_call(form->graph, recording, static_cast<std::size_t>(chunk) * 40)),
              (*streamed)[0])
        << chunk;
  }
}

TEST(StreamingForm, WrittenDigitsReadBackToTheOfflineGraphAndItsStream) {
  const Graph graph = digits();
  const Bytes recording = random_bytes(96 * 40);
  const auto whole = compiler::run_whole(graph, {{recording}}, 96);
  ASSERT_TRUE(whole.ok()) << whole.status().text();
  const auto written = compiler::write_espdl(graph, {.chunk = 4});
  ASSERT_TRUE(written.ok()) << written.status().text();
  const auto again = compiler::import_espdl(written->bytes);
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(again->graph.tensors[static_cast<std::size_t>(again->graph.inputs[0])].shape,
            (std::vector<std::int32_t>{1, 4, 40}));
  const auto runnable = test::RunnableGraph::make(again->graph);
  ASSERT_TRUE(runnable.ok()) << runnable.status().text();
  ASSERT_TRUE((*runnable)->streams());
  for (const std::int64_t block : {1, 3, 4}) {
    const auto streamed = (*runnable)->streamed({recording}, block);
    ASSERT_TRUE(streamed.ok()) << streamed.status().text();
    EXPECT_EQ((*streamed)[0], (*whole)[0][0]) << block;
  }
  // The values inside are many calls in a row, joined: longer than what the caches keep.
  ASSERT_EQ(again->graph.vectors.size(), 1u);
  EXPECT_GT(again->graph.vectors[0].inputs[0].shape[1], 130);
}

TEST(StreamingForm, PaddingThatWouldNotBeZerosIsRefusedByName) {
  GraphMaker maker;
  const auto x = maker.input({1, 16, 4}, -4);
  const auto a = maker.conv("first", x, 4, 3, {.pad_left = 1, .pad_right = 1});
  const auto b = maker.conv("second", a, 4, 3, {.pad_left = 1, .pad_right = 1});
  const auto form = compiler::streaming_form(maker.graph({b}), 4);
  ASSERT_TRUE(form.ok()) << form.status().text();
  ASSERT_EQ(form->refusals.size(), 1u);
  EXPECT_NE(form->refusals[0].find("\"second\""), std::string::npos) << form->refusals[0];
}

// As ESP-DL's exporter has it, if it is asked for: frames that inner padding takes part in belong to the
// warm-up, and all others are the offline result.
TEST(StreamingForm, StridedNetworksWithInnerPaddingHaveAWarmUp) {
  GraphMaker maker;
  const auto x = maker.input({1, 64, 4}, -4);
  const auto a = maker.conv("first", x, 4, 3, {.stride_width = 2, .pad_left = 1, .pad_right = 1});
  const auto b = maker.conv("second", a, 4, 3, {.pad_left = 1, .pad_right = 1});
  const auto c = maker.conv("third", b, 4, 5, {.pad_left = 2, .pad_right = 2});
  const auto y = maker.add("join", c, a);
  const Graph graph = maker.graph({y});
  EXPECT_FALSE(compiler::streaming_form(graph, 4)->refusals.empty()) << "only if it is asked for";
  const auto form = compiler::streaming_form(graph, 4, 100);
  ASSERT_TRUE(form.ok()) << form.status().text();
  ASSERT_TRUE(form->refusals.empty()) << form->refusals[0];
  // The first inner layer sees the cache's zeros; the second one what the first made of them.
  EXPECT_EQ(form->heads, std::vector<std::int64_t>{2});
  EXPECT_EQ(form->tails, std::vector<std::int64_t>{3});
  const Bytes recording = random_bytes(64 * 4);
  const auto whole = compiler::run_whole(graph, {{recording}});
  ASSERT_TRUE(whole.ok()) << whole.status().text();
  const Bytes stream = joined(call_by_call(form->graph, recording, 4 * 4));
  const auto lag = form->lags[0], head = form->heads[0];
  const auto equal_from = [&](std::int64_t frame) {
    return std::equal(stream.begin() + (lag + frame) * 4, stream.end(), (*whole)[0][0].begin() + frame * 4);
  };
  EXPECT_TRUE(equal_from(head));
  EXPECT_FALSE(equal_from(0)) << "padding makes no difference here";

  const auto written =
      compiler::write_espdl(graph, {.target = EspdlTarget::c, .chunk = 4, .warm_up = lag + head});
  ASSERT_TRUE(written.ok()) << written.status().text();
  ASSERT_TRUE(written->refusals.empty()) << written->refusals[0];
  ASSERT_FALSE(written->notes.empty());
  EXPECT_NE(written->notes[0].find("its first " + std::to_string(lag + head) + " frames are warm-up"),
            std::string::npos)
      << written->notes[0];
  const auto less = compiler::streaming_form(graph, 4, lag + head - 1);
  ASSERT_TRUE(less.ok());
  ASSERT_EQ(less->refusals.size(), 1u);
  EXPECT_NE(less->refusals[0].find("a warm-up of " + std::to_string(lag + head) +
                                   " frames, expected at most " + std::to_string(lag + head - 1)),
            std::string::npos)
      << less->refusals[0];
}

TEST(StreamingForm, LookAheadAtTheInputIsALag) {
  GraphMaker maker;
  const auto x = maker.input({1, 16, 4}, -4);
  const auto a = maker.conv("first", x, 4, 3, {.pad_left = 1, .pad_right = 1});
  const auto form = compiler::streaming_form(maker.graph({a}), 4);
  ASSERT_TRUE(form.ok()) << form.status().text();
  ASSERT_TRUE(form->refusals.empty()) << form->refusals[0];
  EXPECT_EQ(form->lags, std::vector<std::int64_t>{1});
  const auto written = compiler::write_espdl(maker.graph({a}), {.target = EspdlTarget::c, .chunk = 4});
  ASSERT_TRUE(written.ok()) << written.status().text();
  ASSERT_EQ(written->notes.size(), 1u);
  EXPECT_NE(written->notes[0].find("1 frames are warm-up"), std::string::npos) << written->notes[0];
}

// A residual around a window without padding: the branch waits in a cache of its own, and the crop of the
// offline graph is gone.
TEST(StreamingForm, ResidualsWaitForTheWindow) {
  GraphMaker maker;
  const auto x = maker.input({1, 20, 4}, -4);
  const auto a = maker.conv("first", x, 4, 3, {});
  const auto b = maker.conv("second", a, 4, 3, {.dilation_width = 2});
  const auto cut = maker.slice("crop", x, 1, 6);
  const auto y = maker.add("join", b, cut);
  const Graph graph = maker.graph({y});
  const auto form = compiler::streaming_form(graph, 4);
  ASSERT_TRUE(form.ok()) << form.status().text();
  ASSERT_TRUE(form->refusals.empty()) << form->refusals[0];
  EXPECT_EQ(form->lags, std::vector<std::int64_t>{6});
  const Bytes recording = random_bytes(20 * 4);
  const auto whole = compiler::run_whole(graph, {{recording}});
  ASSERT_TRUE(whole.ok()) << whole.status().text();
  const Bytes stream = joined(call_by_call(form->graph, recording, 4 * 4));
  EXPECT_EQ(Bytes(stream.begin() + 6 * 4, stream.end()), (*whole)[0][0]);
}

// Without the crop the branch must be late itself.
TEST(StreamingForm, LateBranchesGetADelayLine) {
  GraphMaker maker;
  const auto x = maker.input({1, 12, 4}, -4);
  const auto a = maker.conv("first", x, 4, 3, {.pad_left = 1, .pad_right = 1});
  const auto y = maker.add("join", a, x);
  const Graph graph = maker.graph({y});
  const auto form = compiler::streaming_form(graph, 2);
  ASSERT_TRUE(form.ok()) << form.status().text();
  ASSERT_TRUE(form->refusals.empty()) << form->refusals[0];
  EXPECT_EQ(form->lags, std::vector<std::int64_t>{1});
  const Bytes recording = random_bytes(12 * 4);
  const auto whole = compiler::run_whole(graph, {{recording}});
  const Bytes stream = joined(call_by_call(form->graph, recording, 2 * 4));
  EXPECT_TRUE(std::equal(stream.begin() + 4, stream.end(), (*whole)[0][0].begin()));
  const auto written = compiler::write_espdl(graph, {.target = EspdlTarget::c, .chunk = 2});
  EXPECT_TRUE(written.ok()) << written.status().text();
}

// The quantizer's tool keeps k - 1 frames whatever the stride is, which shifts the windows: kernel 4, stride
// 2 needs what keeps the phase.
TEST(StreamingForm, StridesKeepTheirPhase) {
  for (const int kernel : {2, 3, 4, 5}) {
    for (const int left : {0, 1, 2}) {
      if (left > kernel - 1) continue;
      GraphMaker maker;
      const auto x = maker.input({1, 24, 4}, -4);
      const Graph graph = maker.graph({maker.conv("c", x, 4, kernel, {.stride_width = 2, .pad_left = left})});
      const auto form = compiler::streaming_form(graph, 4);
      ASSERT_TRUE(form.ok()) << form.status().text();
      ASSERT_TRUE(form->refusals.empty()) << form->refusals[0];
      const Bytes recording = random_bytes(24 * 4);
      const auto whole = compiler::run_whole(graph, {{recording}});
      ASSERT_TRUE(whole.ok()) << whole.status().text();
      const Bytes stream = joined(call_by_call(form->graph, recording, 4 * 4));
      const auto skip = static_cast<std::ptrdiff_t>(form->lags[0] * 4);
      const std::size_t count =
          std::min(stream.size() - static_cast<std::size_t>(skip), (*whole)[0][0].size());
      ASSERT_GE(count, 8u * 4);
      EXPECT_TRUE(std::equal(stream.begin() + skip,
                             stream.begin() + skip + static_cast<std::ptrdiff_t>(count),
                             (*whole)[0][0].begin()))
          << kernel << " " << left;
    }
  }
}

TEST(StreamingForm, ChunksThatStridesDoNotDivideNameBothNumbers) {
  GraphMaker maker;
  const auto x = maker.input({1, 24, 4}, -4);
  const auto form = compiler::streaming_form(maker.graph({maker.conv("c", x, 4, 3, {.stride_width = 2})}), 7);
  ASSERT_FALSE(form.ok());
  EXPECT_NE(form.status().text().find("7"), std::string_view::npos) << form.status().text();
  EXPECT_NE(form.status().text().find("2"), std::string_view::npos) << form.status().text();
  EXPECT_FALSE(compiler::streaming_form(maker.graph({0}), 0).ok());
}

// Two windows of different lengths on one value: each has its own cache.
TEST(StreamingForm, TwoReadersHaveTheirOwnCaches) {
  GraphMaker maker;
  const auto x = maker.input({1, 16, 4}, -4);
  const auto a = maker.conv("short", x, 4, 2, {.pad_left = 1});
  const auto b = maker.conv("long", x, 4, 5, {.pad_left = 4});
  const Graph graph = maker.graph({maker.add("join", a, b)});
  const auto form = compiler::streaming_form(graph, 4);
  ASSERT_TRUE(form.ok() && form->refusals.empty());
  const Bytes recording = random_bytes(16 * 4);
  const auto whole = compiler::run_whole(graph, {{recording}});
  EXPECT_EQ(joined(call_by_call(form->graph, recording, 4 * 4)), (*whole)[0][0]);
}

}  // namespace
}  // namespace runnel
