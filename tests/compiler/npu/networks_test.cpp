// Real networks, compiled here: what the simulator computes is what the CPU computes, byte for byte.
#include <gtest/gtest.h>

#include "compiler/import/load.h"
#include "compiler/ir/model_graph.h"
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

class CompiledNetworks : public testing::TestWithParam<std::tuple<const char*, Generation>> {};

TEST_P(CompiledNetworks, GiveTheBytesOfTheCpu) {
  RUNNEL_NEEDS_DATA();
  const auto& [file, generation] = GetParam();
  const compiler::Graph graph = graph_of(data_folder() / "ethosu/models" / (std::string(file) + ".tflite"));
  // Every accelerator, and the memory modes in turn.
  std::size_t mode = std::string(file).size();
  for (const char* accelerator : generation.accelerators) {
    const char* const name = kMemoryModes[mode++ % 3];
    const Status status = compare_whole(graph, npu_options(accelerator, name), 3, 1);
    EXPECT_TRUE(status.ok()) << accelerator << ' ' << name << ": " << status.text();
  }
}

TEST(CompiledStream, OfTheWakewordEqualsTheCpu) {
  RUNNEL_NEEDS_DATA();
  const compiler::Graph graph = graph_of(data_folder() / "ethosu/models/str_ww_ref_model.tflite");
  for (const char* accelerator : {"ethos-u55-128", "ethos-u85-256"}) {
    auto options = npu_options(accelerator);
    options.block = 1;
    const Status status = compare_streamed(graph, options, 60, 1);
    EXPECT_TRUE(status.ok()) << accelerator << ": " << status.text();
  }
}

// No more cycles than Arm's compiler reported for its own streams, by the same model, in the configuration of
// those reports, softmax included.
TEST(CompiledHere, TakesNoMoreCyclesThanRecorded) {
  RUNNEL_NEEDS_DATA();
  const std::pair<const char*, double> recorded[] = {{"kws_ref_model", 83602}, {"str_ww_ref_model", 39329}};
  for (const auto& [name, most] : recorded) {
    SCOPED_TRACE(name);
    auto options = npu_options("ethos-u55-128");
    options.program.system = *npu::find_system("Ethos_U65_High_End");
    const auto compiled = ethos_u::compile(
        graph_of(data_folder() / "ethosu/models" / (std::string(name) + ".tflite")), options);
    ASSERT_TRUE(compiled.ok()) << compiled.status().text();
    for (const auto& node : compiled->nodes) EXPECT_GE(node.segment, 0) << node.name << ": " << node.reason;
    const auto cycles = cycles_of(*compiled, options.program);
    ASSERT_TRUE(cycles.ok()) << cycles.status().text();
    EXPECT_LE(*cycles, most);
    EXPECT_GT(*cycles, most / 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, CompiledNetworks,
                         testing::Combine(testing::Values("ad01_int8", "hello_world_int8", "kws_ref_model",
                                                          "micro_speech_quantized", "person_detect",
                                                          "seanet_add0_int16", "str_ww_ref_model",
                                                          "keyword_scrambled_8bit", "dtln_noise_suppression"),
                                          testing::Values(kU55AndU65, kU85)));

}  // namespace
}  // namespace runnel::test
