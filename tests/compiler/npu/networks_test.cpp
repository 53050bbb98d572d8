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
struct Recorded {
  const char *name, *accelerator, *system, *mode;
  double cycles;
};
std::ostream& operator<<(std::ostream& out, const Recorded& recorded) {
  return out << recorded.name << " on " << recorded.accelerator;
}
class CompiledHere : public testing::TestWithParam<Recorded> {};

TEST_P(CompiledHere, TakesNoMoreCyclesThanRecorded) {
  RUNNEL_NEEDS_DATA();
  const Recorded& recorded = GetParam();
  auto options = npu_options(recorded.accelerator, recorded.mode);
  options.program.system = *npu::find_system(recorded.system);
  const auto compiled = ethos_u::compile(
      graph_of(data_folder() / "ethosu/models" / (std::string(recorded.name) + ".tflite")), options);
  ASSERT_TRUE(compiled.ok()) << compiled.status().text();
  for (const auto& node : compiled->nodes) EXPECT_GE(node.segment, 0) << node.name << ": " << node.reason;
  const auto cycles = cycles_of(*compiled, options.program);
  ASSERT_TRUE(cycles.ok()) << cycles.status().text();
  std::printf("%s on %s: %.0f cycles, recorded %.0f\n", recorded.name, recorded.accelerator, *cycles,
              recorded.cycles);
  EXPECT_LE(*cycles, recorded.cycles);
  EXPECT_GT(*cycles, recorded.cycles / 4);
}

constexpr Recorded u85(const char* name, const char* accelerator, double cycles) {
  return {name, accelerator, "Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_384KB", cycles};
}
INSTANTIATE_TEST_SUITE_P(
    Networks, CompiledHere,
    testing::Values(
        Recorded{"kws_ref_model", "ethos-u55-128", "Ethos_U65_High_End", "Shared_Sram", 83602},
        Recorded{"str_ww_ref_model", "ethos-u55-128", "Ethos_U65_High_End", "Shared_Sram", 39329},
        u85("kws_ref_model", "ethos-u85-256", 54311), u85("kws_ref_model", "ethos-u85-1024", 32588),
        u85("str_ww_ref_model", "ethos-u85-256", 27123), u85("str_ww_ref_model", "ethos-u85-1024", 23495),
        u85("person_detect", "ethos-u85-256", 181824), u85("person_detect", "ethos-u85-1024", 102778),
        u85("micro_speech_quantized", "ethos-u85-256", 31074),
        u85("micro_speech_quantized", "ethos-u85-1024", 18522), u85("ad01_int8", "ethos-u85-256", 62705),
        u85("ad01_int8", "ethos-u85-1024", 44765)));

INSTANTIATE_TEST_SUITE_P(Networks, CompiledNetworks,
                         testing::Combine(testing::Values("ad01_int8", "hello_world_int8", "kws_ref_model",
                                                          "micro_speech_quantized", "person_detect",
                                                          "seanet_add0_int16", "str_ww_ref_model",
                                                          "keyword_scrambled_8bit", "dtln_noise_suppression"),
                                          testing::Values(kU55AndU65, kU85)));

}  // namespace
}  // namespace runnel::test
