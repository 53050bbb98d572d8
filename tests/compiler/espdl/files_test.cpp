// Real files: every one is imported, or refused with the names of what is missing; recorded values and streams agree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "compiler/espdl/importer.h"
#include "compiler/espdl/source.h"
#include "compiler/espdl/target.h"
#include "tests/compiler/run_graph.h"
#include "tests/support/data.h"

namespace runnel::compiler {
namespace {

namespace fs = std::filesystem;
using test::Bytes;
using test::RunnableGraph;
using testing::HasSubstr;

std::vector<fs::path> files_of(const char* folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(test::data_folder() / folder)) {
    if (entry.path().extension() == ".espdl") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Files that are refused, and why. All others are imported.
const std::map<std::string, std::string>& refused() {
  static const std::map<std::string, std::string> files = {
      // A cache whose frames are flattened: a clip per call, not a stream.
      {"streaming_model.espdl", "reads the StreamingCache \"/out_conv/Conv_output_0_SCache\""},
      // The exporter cut six frames off a block of eight.
      {"probe_res_c_s8_stream.espdl", "operands of [1, 8, 16] and [1, 2, 16] do not fit"},
      {"probe_res_esp32p4_s8_stream.espdl", "operands of [1, 8, 16] and [1, 2, 16] do not fit"},
  };
  return files;
}

TEST(EspdlFiles, AreImportedOrRefusedByName) {
  RUNNEL_NEEDS_DATA();
  int imported = 0, found = 0;
  for (const char* folder : {"espdl/models", "espdl/tcn", "digits"}) {
    for (const fs::path& file : files_of(folder)) {
      ++found;
      const auto result = import_espdl(test::read_file(file));
      const auto expected = refused().find(file.filename().string());
      if (expected == refused().end()) {
        EXPECT_TRUE(result.ok()) << file << ": " << result.status().text();
        imported += result.ok() ? 1 : 0;
      } else if (result.ok()) {
        ADD_FAILURE() << file << " is imported, expected: " << expected->second;
      } else {
        EXPECT_THAT(std::string(result.status().text()), HasSubstr(expected->second)) << file;
      }
    }
  }
  EXPECT_GE(found, 68);
  EXPECT_GE(imported, 65);
}

// Without its metadata, a file's target is found, or said to be a guess; it is never taken for another.
TEST(EspdlFiles, TargetsAreNotMistaken) {
  RUNNEL_NEEDS_DATA();
  int told = 0;
  for (const char* folder : {"conformance", "digits"}) {
    for (const fs::path& file : files_of(folder)) {
      const auto payload = EspdlPayload::open(test::read_file(file));
      ASSERT_TRUE(payload.ok());
      auto model = espdl_source::read_model(*payload);
      ASSERT_TRUE(model.ok()) << file << ": " << model.status().text();
      std::string truth;
      for (const auto& [key, value] : model->metadata) {
        if (key == "target") truth = value;
      }
      model->metadata.clear();
      const auto choice = espdl_source::target_from_contents(*model);
      if (choice.target == EspdlTarget::automatic) continue;
      EXPECT_EQ(espdl_source::name_of(choice.target), truth) << file << ": " << choice.reason;
      ++told;
    }
  }
  EXPECT_GE(told, 246);
}

struct Loaded {
  Graph graph;
  std::unique_ptr<RunnableGraph> runnable;
  std::vector<Bytes> inputs;   // of the first vector, when there is one
};

Loaded load(const fs::path& file) {
  Loaded loaded;
  auto imported = import_espdl(test::read_file(file));
  EXPECT_TRUE(imported.ok()) << file << ": " << imported.status().text();
  if (!imported.ok()) return loaded;
  loaded.graph = std::move(imported->graph);
  auto runnable = RunnableGraph::make(loaded.graph);
  if (!runnable.ok()) {
    EXPECT_EQ(runnable.status().code(), Code::unsupported) << file << ": " << runnable.status().text();
    return loaded;
  }
  loaded.runnable = std::move(runnable).value();
  for (const TensorId id : loaded.graph.inputs) {
    for (const auto& recorded : loaded.graph.vectors) {
      for (const auto& value : recorded.inputs) {
        if (value.tensor == id) loaded.inputs.push_back(value.data);
      }
    }
  }
  return loaded;
}

// Largest difference in integers.
int largest_difference(const Bytes& a, const Bytes& b, DType type) {
  EXPECT_EQ(a.size(), b.size());
  int largest = 0;
  for (std::size_t at = 0; at < std::min(a.size(), b.size()); at += size_of(type)) {
    std::int16_t x = 0, y = 0;
    if (type == DType::int8) {
      x = static_cast<std::int8_t>(a[at]);
      y = static_cast<std::int8_t>(b[at]);
    } else {
      std::memcpy(&x, a.data() + at, 2);
      std::memcpy(&y, b.data() + at, 2);
    }
    largest = std::max(largest, std::abs(x - y));
  }
  return largest;
}

TEST(EspdlFiles, EmbeddedValuesAreReproduced) {
  RUNNEL_NEEDS_DATA();
  int ran = 0;
  for (const char* folder : {"espdl/models", "espdl/tcn", "digits"}) {
    for (const fs::path& file : files_of(folder)) {
      const std::string name = file.filename().string();
      if (refused().contains(name)) continue;
      const Loaded loaded = load(file);
      if (loaded.runnable == nullptr || loaded.inputs.empty()) continue;
      const auto outputs = loaded.runnable->whole(loaded.inputs);
      ASSERT_TRUE(outputs.ok()) << file << ": " << outputs.status().text();
      // 16-bit files of this folder were recorded with float arithmetic, but for those marked hp.
      const bool loose = name.find("_s16.") != std::string::npos;
      for (std::size_t i = 0; i < loaded.graph.outputs.size(); ++i) {
        const DType type = loaded.graph.tensors[static_cast<std::size_t>(loaded.graph.outputs[i])].dtype;
        EXPECT_LE(largest_difference(loaded.graph.vectors[0].outputs[i].data, (*outputs)[i], type), loose ? 1 : 0) << file;
      }
      ++ran;
    }
  }
  EXPECT_GE(ran, 27);
}

// NAME_streamN.espdl is NAME.espdl with the vendor's caches: fed in any blocks, it gives the whole clip of NAME.
TEST(EspdlFiles, StreamingFilesGiveTheOfflineResult) {
  RUNNEL_NEEDS_DATA();
  for (const char* target : {"c", "esp32s3", "esp32p4"}) {
    const fs::path folder = test::data_folder() / "digits";
    const std::string base = std::string("digits_") + target + "_s8";
    const Loaded offline = load(folder / (base + ".espdl"));
    ASSERT_NE(offline.runnable, nullptr);
    const auto whole = offline.runnable->whole(offline.inputs);
    ASSERT_TRUE(whole.ok()) << whole.status().text();
    for (const char* chunk : {"_stream1", "_stream4"}) {
      const Loaded streaming = load(folder / (base + chunk + ".espdl"));
      ASSERT_NE(streaming.runnable, nullptr);
      for (const std::int64_t block : {1, 3, 4, 98, 128}) {
        const auto streamed = streaming.runnable->streamed(offline.inputs, block);
        ASSERT_TRUE(streamed.ok()) << streamed.status().text();
        EXPECT_EQ((*streamed)[0], (*whole)[0]) << base << chunk << " in blocks of " << block;
      }
    }
  }
}

}  // namespace
}  // namespace runnel::compiler
