// The reference part of docs/pipeline.md is what the nodes' data sheets say. RUNNEL_UPDATE_DOCS=1 writes it
// anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "pipeline/host/registry.h"
#include "tests/pipeline/support.h"

namespace runnel::pipeline::test {
namespace {

TEST(Documentation, ListsTheNodesAsTheyAre) {
  const NodeTable nodes = host_nodes();
  for (const std::string_view name : {"alsa", "mqtt", "portaudio"}) {
    if (std::none_of(nodes.begin(), nodes.end(), [&](const NodeType* type) { return type->name == name; }))
      GTEST_SKIP() << "SKIPPED: the documentation describes a build with " << name;
  }
  const std::string path = RUNNEL_SOURCE_FOLDER "/docs/pipeline.md";
  const std::string heading =
      "\n## Nodes\n\nWhat follows is made from the parameter tables; a test keeps it true.\n\n";
  std::string page = read_text(path);
  const std::size_t at = page.find(heading);
  ASSERT_NE(at, std::string::npos) << path << " has no section \"Nodes\" that begins with:" << heading;
  const std::string found = page.substr(at + heading.size()), made = nodes_as_markdown(nodes);
  if (std::getenv("RUNNEL_UPDATE_DOCS") != nullptr)
    std::ofstream(path) << page.replace(at + heading.size(), std::string::npos, made);
  else
    EXPECT_TRUE(found == made) << path << " is out of date: run this test with RUNNEL_UPDATE_DOCS=1";
}

TEST(Documentation, DescribesANode) {
  const Result<const NodeType*> type = find_node(host_nodes(), "detect", true);
  ASSERT_TRUE(type.ok());
  const std::string text = describe_node(**type);
  EXPECT_NE(text.find("threshold                 smoothed posterior at which an event is made [a number from "
                      "0 to 1; 0.85]"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace runnel::pipeline::test
