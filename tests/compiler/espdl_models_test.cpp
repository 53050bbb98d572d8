// Whole models as they are published, and the small ones that show how streaming files behave: each is
// imported, prepared and run, and gives its embedded values where it has them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "compiler/espdl/target.h"
#include "compiler/import/espdl/importer.h"
#include "tests/compiler/compare.h"
#include "tests/compiler/conformance_record.h"
#include "tests/compiler/espdl_files.h"
#include "tests/compiler/run_graph.h"
#include "tests/support/data.h"

namespace runnel {
namespace {

namespace fs = std::filesystem;
using test::Bytes;
using test::RunnableGraph;

struct Loaded {
  compiler::EspdlImport import;
  std::unique_ptr<RunnableGraph> graph;
  std::vector<Bytes> inputs;  // of the embedded values, or seeded random ones
  bool recorded = false;
};

Result<Loaded> load(const fs::path& file, compiler::EspdlTarget target = compiler::EspdlTarget::automatic) {
  Loaded loaded;
  RUNNEL_ASSIGN(loaded.import, compiler::import_espdl(test::read_file(file), {.target = target}));
  const compiler::Graph& graph = loaded.import.graph;
  RUNNEL_ASSIGN(loaded.graph, RunnableGraph::make(graph));
  loaded.recorded = !graph.vectors.empty();
  std::mt19937 random(7);
  for (const compiler::TensorId id : graph.inputs) {
    if (loaded.recorded) {
      for (const auto& value : graph.vectors[0].inputs) {
        if (value.tensor == id) loaded.inputs.push_back(value.data);
      }
      continue;
    }
    const compiler::Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
    std::size_t bytes = size_of(tensor.dtype);
    for (const std::int32_t dim : tensor.shape) bytes *= static_cast<std::size_t>(dim);
    Bytes data(bytes);
    for (std::byte& byte : data) byte = static_cast<std::byte>(random() & 63);
    loaded.inputs.push_back(std::move(data));
  }
  return loaded;
}

// One file: what came of it. Long streams are compared elsewhere; here one block size shows that the streamed
// form runs.
test::ConformanceRecord run_file(const fs::path& file, const char* folder) {
  test::ConformanceRecord record;
  record.folder = folder;
  record.file = fs::relative(file, test::data_folder() / folder).string();
  record.op = "model";
  record.kind = "model";
  record.result = "failed";
  // Published models lie in folders of their targets; old ones do not tell it themselves.
  auto loaded =
      load(file, compiler::espdl_source::target_named(record.file.substr(0, record.file.find('/'))));
  if (!loaded.ok()) {
    ADD_FAILURE() << file << ": " << loaded.status().text();
    record.note = loaded.status().text();
    return record;
  }
  const compiler::Graph& graph = loaded->import.graph;
  record.target = compiler::espdl_source::name_of(loaded->import.target);
  const DType type = graph.tensors[static_cast<std::size_t>(graph.inputs[0])].dtype;
  record.bits = static_cast<int>(8 * size_of(type));
  const bool stepped = graph.pipeline.usage == UsageKind::step;
  if (stepped) record.kind = "steps";
  const auto outputs = loaded->graph->whole(loaded->inputs);
  if (!outputs.ok()) {
    ADD_FAILURE() << file << ": " << outputs.status().text();
    record.note = outputs.status().text();
    return record;
  }
  record.result = "ran";
  for (const int threads : {2, 3}) {
    const auto shared = loaded->graph->whole(loaded->inputs, 0, threads);
    EXPECT_TRUE(shared.ok() && *shared == *outputs)
        << file << ": " << threads << " threads give something else than one";
  }
  if (loaded->recorded) {
    // 16-bit files of espdl/tcn were recorded with float arithmetic, but for those marked hp.
    record.absolute = record.file.find("_s16.") != std::string::npos ? 1 : 0;
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      for (const auto& value : graph.vectors[0].outputs) {
        if (value.tensor != graph.outputs[i]) continue;
        record.largest =
            std::max(record.largest,
                     test::largest_difference(value.data, (*outputs)[i],
                                              graph.tensors[static_cast<std::size_t>(value.tensor)].dtype));
      }
    }
    record.result = record.largest == 0 ? "exact" : record.largest <= record.absolute ? "within" : "failed";
    EXPECT_LE(record.largest, record.absolute) << file;
  }
  if (loaded->graph->streams() && loaded->inputs.size() == 1 && loaded->inputs[0].size() < (1u << 16)) {
    const auto streamed = loaded->graph->streamed(loaded->inputs, loaded->graph->block_multiple());
    const bool same = streamed.ok() && *streamed == *outputs;
    EXPECT_TRUE(same) << file << ": streamed and whole differ. " << streamed.status().text();
    if (!same) record.result = "failed";
  }
  return record;
}

void run_folder(const char* folder, std::size_t least) {
  const auto files = test::espdl_files(folder);
  EXPECT_GE(files.size(), least);
  for (const fs::path& file : files) test::record_conformance(run_file(file, folder));
}

TEST(EspdlModels, PublishedModelsRun) {
  RUNNEL_NEEDS_DATA();
  run_folder("espdl/models", 30);
}

TEST(EspdlModels, SmallStreamingModelsRun) {
  RUNNEL_NEEDS_DATA();
  run_folder("espdl/tcn", 30);
}

TEST(EspdlModels, DigitsModelsRun) {
  RUNNEL_NEEDS_DATA();
  run_folder("digits", 5);
}

// The published streaming model keeps a cache before a fully connected layer over its last three frames:
// it runs call by call. Fed with the input of the offline model in calls of three frames, the last call gives
// the offline model's output.
TEST(EspdlModels, StepsOfAStreamingModelEndWithTheOfflineResult) {
  RUNNEL_NEEDS_DATA();
  int compared = 0;
  for (const char* target : {"esp32p4", "esp32s3"}) {
    const fs::path folder = test::data_folder() / "espdl/models" / target / "streaming";
    if (!fs::exists(folder / "streaming_model.espdl")) continue;
    auto offline = load(folder / "model.espdl");
    ASSERT_TRUE(offline.ok()) << offline.status().text();
    ASSERT_TRUE(offline->recorded);
    // It has no values of its own that would tell its rounding.
    auto streaming = load(folder / "streaming_model.espdl", offline->import.target);
    ASSERT_TRUE(streaming.ok()) << streaming.status().text();
    EXPECT_FALSE(streaming->graph->streams());
    EXPECT_EQ(streaming->import.graph.pipeline.usage, UsageKind::step);
    const Bytes& all = offline->inputs[0];
    const std::size_t step = streaming->inputs[0].size();
    ASSERT_EQ(all.size() % step, 0u);
    std::vector<std::vector<Bytes>> steps;
    for (std::size_t at = 0; at < all.size(); at += step) {
      steps.push_back({Bytes(all.begin() + static_cast<std::ptrdiff_t>(at),
                             all.begin() + static_cast<std::ptrdiff_t>(at + step))});
    }
    ASSERT_EQ(steps.size(), 8u);
    const auto outputs = streaming->graph->stepped(steps);
    ASSERT_TRUE(outputs.ok()) << outputs.status().text();
    const Bytes& expected = offline->import.graph.vectors[0].outputs[0].data;
    EXPECT_EQ(outputs->back()[0], expected) << target;
    EXPECT_NE(outputs->front()[0], expected) << "the caches must matter";
    ++compared;
  }
  EXPECT_GE(compared, 1);
}

// The exporter left the residual's crop of six frames in every call of the streaming file. Left out, the
// stream is the offline result after six frames of warm-up.
TEST(EspdlModels, CropOfAResidualIsTheWarmUp) {
  RUNNEL_NEEDS_DATA();
  for (const char* target : {"c", "esp32p4"}) {
    const std::string base = std::string("probe_res_") + target + "_s8";
    const fs::path folder = test::data_folder() / "espdl/tcn";
    const auto offline = load(folder / (base + ".espdl")),
               streaming = load(folder / (base + "_stream.espdl"));
    ASSERT_TRUE(offline.ok()) << offline.status().text();
    ASSERT_TRUE(streaming.ok()) << streaming.status().text();
    const Bytes& expected = offline->import.graph.vectors[0].outputs[0].data;
    for (const std::int64_t block : {1, 3, 8, 64}) {
      const auto streamed = streaming->graph->streamed(offline->inputs, block);
      ASSERT_TRUE(streamed.ok()) << streamed.status().text();
      const Bytes& found = (*streamed)[0];
      constexpr std::ptrdiff_t kWarmUp = 6 * 16;
      ASSERT_EQ(found.size(), expected.size() + kWarmUp);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.begin() + kWarmUp))
          << base << " in blocks of " << block;
    }
  }
}

}  // namespace
}  // namespace runnel
