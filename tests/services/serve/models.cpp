#include "tests/services/serve/models.h"

#include <gtest/gtest.h>

#include <fstream>

#include "compiler/write/writer.h"
#include "tests/inference/graph_builder.h"

namespace runnel::serve::test {

std::string model_of(UsageKind kind, const std::filesystem::path& folder) {
  runnel::test::GraphBuilder b(9, DType::float32);
  const bool step = kind == UsageKind::step;
  const int frames = step ? 5 : kind == UsageKind::window ? 12 : 40;
  const auto x = b.input({1, frames, 40});
  runnel::test::GraphBuilder::Window all;
  all.kernel = all.stride = frames;
  auto deep = b.conv(x, 24, all, 1, true);
  compiler::Graph& graph = b.graph();
  if (step) {
    const auto kept = b.input({1, 1, 24});
    deep = b.binary(OpCode::add, deep, kept);
    // Half of it stays.
    deep = b.conv(deep, 24, {});
    graph.pipeline.states = {{deep, kept}};
  }
  const auto y = b.conv(deep, 12, {});
  b.output(y);
  if (step) b.output(deep);
  graph.pipeline.usage = kind;
  graph.pipeline.step = step ? 3 : 0;
  graph.pipeline.context = step ? 2 : 0;
  graph.pipeline.window = kind == UsageKind::window ? frames : 0;
  graph.pipeline.hop = kind == UsageKind::window ? 7 : 0;
  const auto written = compiler::write_model(graph);
  EXPECT_TRUE(written.ok()) << written.status().text();
  const std::string path = (folder / (std::string(name_of(kind)) + ".rnl")).string();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(written->bytes.data()),
             static_cast<std::streamsize>(written->bytes.size()));
  return path;
}

}  // namespace runnel::serve::test
