#include "tests/compiler/round_trip.h"

#include <gtest/gtest.h>

#include <vector>

#include "compiler/run_whole.h"
#include "compiler/write/espdl/writer.h"
#include "compiler/write/writer.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

namespace fs = std::filesystem;
using compiler::EspdlTarget;

// All of a graph, names included: its model file, which numbers tensors by their place alone.
std::vector<std::byte> canonical(compiler::Graph graph) {
  graph.vectors.clear();
  compiler::WriteOptions options;
  options.blocks.clear();
  const auto written = compiler::write_model(graph, options);
  EXPECT_TRUE(written.ok()) << written.status().text();
  return written.ok() ? written->bytes : std::vector<std::byte>();
}

std::vector<std::vector<std::byte>> values(const std::vector<compiler::TensorId>& ids,
                                           const std::vector<compiler::VectorTensor>& recorded) {
  std::vector<std::vector<std::byte>> out;
  for (const compiler::TensorId id : ids) {
    for (const auto& value : recorded) {
      if (value.tensor == id) out.push_back(value.data);
    }
  }
  return out;
}

}  // namespace

void round_trip(const fs::path& file, EspdlTarget target) {
  SCOPED_TRACE(file.string());
  const auto first = compiler::import_espdl(test::read_file(file), {.target = target});
  ASSERT_TRUE(first.ok()) << first.status().text();
  const auto written = compiler::write_espdl(first->graph);
  ASSERT_TRUE(written.ok()) << written.status().text();
  ASSERT_TRUE(written->refusals.empty()) << written->refusals[0];
  // The file itself says which target it is for.
  const auto second = compiler::import_espdl(written->bytes);
  ASSERT_TRUE(second.ok()) << second.status().text();
  EXPECT_EQ(second->target, target);
  EXPECT_EQ(canonical(first->graph), canonical(second->graph));
  // The same inputs, where there were some, and outputs of the graph that was read first.
  ASSERT_EQ(second->graph.vectors.size(), 1u);
  const auto inputs = values(second->graph.inputs, second->graph.vectors[0].inputs);
  if (!first->graph.vectors.empty()) {
    EXPECT_EQ(inputs, values(first->graph.inputs, first->graph.vectors[0].inputs));
  }
  const auto outputs = compiler::run_whole(first->graph, {inputs});
  ASSERT_TRUE(outputs.ok()) << outputs.status().text();
  EXPECT_EQ((*outputs)[0], values(second->graph.outputs, second->graph.vectors[0].outputs));
  const auto again = compiler::write_espdl(second->graph);
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_TRUE(again->bytes == written->bytes) << "written twice, the files differ";
}

}  // namespace runnel::test
