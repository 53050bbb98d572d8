// Real networks, compiled here: what the simulator computes is what the CPU computes, byte for byte.
#include <gtest/gtest.h>

#include "compiler/load.h"
#include "compiler/model_graph.h"
#include "tests/compiler/npu/on_npu.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

namespace ethos_u = compiler::ethos_u;

// As the program reads it: with time where a stream wants to have it.
compiler::Graph graph_of(const std::filesystem::path& path) {
  const auto loaded = compiler::load_model(path);
  EXPECT_TRUE(loaded.ok()) << loaded.status().text();
  return loaded.ok() ? compiler::graph_of(loaded->model->model()) : compiler::Graph();
}

class CompiledHere : public testing::TestWithParam<const char*> {};

TEST_P(CompiledHere, GivesTheBytesOfTheCpu) {
  RUNNEL_NEEDS_DATA();
  const compiler::Graph graph = graph_of(data_folder() / "ethosu/models" / (std::string(GetParam()) + ".tflite"));
  // Every accelerator, and the memory modes in turn.
  std::size_t mode = std::string(GetParam()).size();
  for (const char* accelerator : kAccelerators) {
    const char* const name = kMemoryModes[mode++ % 3];
    const Status status = compare_whole(graph, npu_options(accelerator, name), 3, 1);
    EXPECT_TRUE(status.ok()) << accelerator << ' ' << name << ": " << status.text();
  }
}

TEST(CompiledStream, OfTheWakewordEqualsTheCpu) {
  RUNNEL_NEEDS_DATA();
  const compiler::Graph graph = graph_of(data_folder() / "ethosu/models/str_ww_ref_model.tflite");
  auto options = npu_options("ethos-u55-128");
  options.block = 1;
  const Status status = compare_streamed(graph, options, 60, 1);
  EXPECT_TRUE(status.ok()) << status.text();
}

INSTANTIATE_TEST_SUITE_P(Networks, CompiledHere,
                         testing::Values("ad01_int8", "hello_world_int8", "kws_ref_model", "micro_speech_quantized", "person_detect", "seanet_add0_int16", "str_ww_ref_model",
                                         "keyword_scrambled_8bit"));

}  // namespace
}  // namespace runnel::test
