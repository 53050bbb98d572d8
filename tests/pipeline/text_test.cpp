#include "pipeline/host/text.h"

#include <gtest/gtest.h>

namespace runnel::pipeline {
namespace {

GraphText parsed(std::string_view text) {
  Result<GraphText> graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << text << ": " << graph.status().text();
  return graph.ok() ? *graph : GraphText();
}

std::string refused(std::string_view text) {
  const Result<GraphText> graph = parse_graph(text);
  EXPECT_FALSE(graph.ok()) << text << " was accepted";
  return std::string(graph.status().text());
}

TEST(GraphText, ReadsAChain) {
  const GraphText graph = parsed("wav path=a.wav ! fbank preset=kaldi num_mel_bins=40 ! null");
  ASSERT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(graph.nodes[0].type, "wav");
  EXPECT_EQ(graph.nodes[0].input, -1);
  EXPECT_EQ(graph.nodes[1].input, 0);
  EXPECT_EQ(graph.nodes[2].input, 1);
  ASSERT_EQ(graph.nodes[1].parameters.size(), 2u);
  EXPECT_EQ(graph.nodes[1].parameters[1].key, "num_mel_bins");
  EXPECT_EQ(graph.nodes[1].parameters[1].value, "40");
  EXPECT_EQ(graph.nodes[1].position, 17u);
}

TEST(GraphText, NeedsNoSpaceAroundLinks) {
  const GraphText graph = parsed("wav path=a!b.wav !null");
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[0].parameters[0].value, "a!b.wav") << "an exclamation mark in a value is part of it";
  EXPECT_EQ(parsed("a!b!c").nodes.size(), 3u);
}

TEST(GraphText, ReadsBranchesBackwardsAndForwards) {
  const GraphText graph = parsed("wav name=t ! null  t. ! npy path=x  t. ! late.  npy name=late path=y");
  ASSERT_EQ(graph.nodes.size(), 4u);
  EXPECT_EQ(graph.nodes[0].name, "t");
  EXPECT_TRUE(graph.nodes[0].parameters.empty()) << "name= is not a parameter of the node";
  for (int i = 1; i < 4; ++i) EXPECT_EQ(graph.nodes[static_cast<std::size_t>(i)].input, 0) << i;
}

TEST(GraphText, ReadsQuotesCommentsAndNewlines) {
  const GraphText graph = parsed(
      "# a comment ! with things = in it\n"
      "wav path=\"my \\\"best\\\" take.wav\" # behind\n"
      "\t! fbank\r\n"
      "! npy path='it is \\ here' ");
  ASSERT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(graph.nodes[0].parameters[0].value, "my \"best\" take.wav");
  EXPECT_EQ(graph.nodes[2].parameters[0].value, "it is \\ here");
  EXPECT_EQ(parsed("wav path=a#b").nodes[0].parameters[0].value, "a#b") << "only at the start of a word";
  EXPECT_EQ(parsed("wav path=''").nodes[0].parameters[0].value, "");
  EXPECT_EQ(parsed("wav path='a=b'\"c d\"").nodes[0].parameters[0].value, "a=bc d");
}

TEST(GraphText, ErrorsNameThePlaceAndWhatWasExpected) {
  EXPECT_EQ(refused(""), "the graph is empty: expected a node, such as `wav path=a.wav`");
  EXPECT_EQ(refused("# nothing"), "the graph is empty: expected a node, such as `wav path=a.wav`");
  EXPECT_EQ(refused("wav !"), "line 1, column 6: expected a node, found the end of the graph");
  EXPECT_EQ(refused("! wav"), "line 1, column 1: expected a node, found '!'");
  EXPECT_EQ(refused("wav ! ! null"), "line 1, column 7: expected a node, found '!'");
  EXPECT_EQ(refused("wav\n! path=a"),
            "line 2, column 3: expected a node before its parameters, found 'path=a'");
  EXPECT_EQ(refused("wav path='a"), "line 1, column 10: this quote is not closed: expected another '");
  EXPECT_EQ(refused("wav path=a path=b"), "line 1, column 12: wav has the parameter 'path' twice");
  EXPECT_EQ(refused("wav =a"), "line 1, column 5: expected KEY=VALUE, found '=a'");
  EXPECT_EQ(refused("a/b"), "line 1, column 1: expected the name of a node, found 'a/b'");
  EXPECT_EQ(refused("wav ! null t. ! null"), "line 1, column 12: there is no node with name=t");
  EXPECT_EQ(refused("wav name=t ! null name=t"), "line 1, column 19: the name 't' is taken by wav");
  EXPECT_EQ(refused("wav name=t name=u"), "line 1, column 12: wav has two names");
  EXPECT_EQ(refused("wav name=a.b"), "line 1, column 5: name=a.b: expected letters, digits, '_' and '-'");
}

TEST(GraphText, WritesWhatItReads) {
  for (const char* text : {"wav path=a.wav ! fbank num_mel_bins=40 ! null",
                           "wav name=t ! null t. ! npy path=\"a \\\"b\\\" c\" t. ! fbank ! null",
                           "wav ! fbank name=f ! null f. ! null wav2 ! null", "wav path=\"\" ! null"}) {
    const GraphText graph = parsed(text);
    EXPECT_EQ(to_text(parsed(to_text(graph))), to_text(graph));
    EXPECT_EQ(parsed(to_text(graph)).nodes.size(), graph.nodes.size());
  }
  EXPECT_EQ(to_text(parsed("wav path=a.wav !fbank!null")), "wav path=a.wav ! fbank ! null");
}

// Whatever the bytes: an answer, not an accident.
TEST(GraphText, SurvivesGarbage) {
  std::uint32_t state = 1;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (int i = 0; i < round % 40; ++i) {
      state = state * 1664525u + 1013904223u;
      text += "ab!=.'\"\\ \n#t\xff\x01"[(state >> 16) % 14];
    }
    const Result<GraphText> graph = parse_graph(text);
    if (graph.ok()) {
      EXPECT_TRUE(parse_graph(to_text(*graph)).ok() || graph->nodes.empty()) << text;
    }
  }
}

}  // namespace
}  // namespace runnel::pipeline
