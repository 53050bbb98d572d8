// Real files: every one is imported; its target is not mistaken; streaming files agree with offline ones.
// (Their values: espdl_models_test.)
#include <gtest/gtest.h>

#include "compiler/espdl/source.h"
#include "compiler/espdl/target.h"
#include "compiler/import/espdl/importer.h"
#include "tests/compiler/espdl_files.h"
#include "tests/compiler/run_graph.h"
#include "tests/support/data.h"

namespace runnel::compiler {
namespace {

namespace fs = std::filesystem;
using test::Bytes;
using test::RunnableGraph;

TEST(EspdlFiles, AreAllImported) {
  RUNNEL_NEEDS_DATA();
  int found = 0;
  for (const char* folder : {"espdl/models", "espdl/tcn", "digits"}) {
    for (const fs::path& file : test::espdl_files(folder)) {
      ++found;
      const auto result = import_espdl(test::read_file(file));
      EXPECT_TRUE(result.ok()) << file << ": " << result.status().text();
    }
  }
  EXPECT_GE(found, 68);
}

// Without its metadata, a file's target is found, or said to be a guess; it is never taken for another.
TEST(EspdlFiles, TargetsAreNotMistaken) {
  RUNNEL_NEEDS_DATA();
  int told = 0;
  for (const char* folder : {"conformance", "digits"}) {
    for (const fs::path& file : test::espdl_files(folder)) {
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
  std::vector<Bytes> inputs;  // of the first vector, when there is one
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

// NAME_streamN.espdl is NAME.espdl with the vendor's caches: fed in any blocks, it gives the whole clip of
// NAME.
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
