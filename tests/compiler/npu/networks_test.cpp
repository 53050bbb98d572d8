// Real networks, compiled here: what the simulator computes is what the CPU computes, byte for byte.
#include <gtest/gtest.h>

#include "compiler/load.h"
#include "compiler/model_graph.h"
#include "tests/compiler/npu/on_npu.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

namespace ethos_u = compiler::ethos_u;

class CompiledHere : public testing::TestWithParam<const char*> {};

TEST_P(CompiledHere, GivesTheBytesOfTheCpu) {
  RUNNEL_NEEDS_DATA();
  const auto imported = compiler::import_file(data_folder() / "ethosu/models" / (std::string(GetParam()) + ".tflite"), {});
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  for (const char* accelerator : kAccelerators) {
    for (const npu::MemoryMode mode : {npu::MemoryMode::sram_only, npu::MemoryMode::shared_sram, npu::MemoryMode::dedicated_sram}) {
      const Status status = compare_whole(imported->graph, npu_options(accelerator, mode), 3, 1);
      EXPECT_TRUE(status.ok()) << accelerator << ' ' << npu::name_of(mode) << ": " << status.text();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, CompiledHere,
                         testing::Values("ad01_int8", "hello_world_int8", "kws_ref_model", "micro_speech_quantized", "person_detect", "seanet_add0_int16", "str_ww_ref_model",
                                         "keyword_scrambled_8bit"));

}  // namespace
}  // namespace runnel::test
