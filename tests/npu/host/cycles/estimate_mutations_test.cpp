// Damaged command streams that can be decoded have an estimate: finite, and soon.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "npu/host/cycles/estimate.h"
#include "npu/host/cycles/u85/what_if.h"
#include "tests/npu/host/cycles/compiled.h"
#include "tests/robustness/mutate.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

constexpr const char* kNetworks[] = {
    "ethosu85/u85-256/kws_ref_model",     "ethosu85/u85-1024/ad01_int8",
    "ethosu85/u85-2048/str_ww_ref_model", "ethosu85/u85-128/hello_world_int8",
    "ethosu85/cases/u85-256/softmax",     "ethosu85/cases/u85-512-fwd/conv3x3_sparse",
    "ethosu85/cases/u85-256/bmm",         "ethosu85/cases/u85-256/transpose_0231",
    "ethosu/vela/u55-128/kws_ref_model",
};

void expect_finite(const npu::Estimate& estimate) {
  EXPECT_TRUE(std::isfinite(estimate.total));
  for (const npu::OperationEstimate& one : estimate.operations) {
    EXPECT_TRUE(std::isfinite(one.total));
    EXPECT_GE(one.total, 0);
    EXPECT_GE(one.macs, 0);
  }
}

TEST(EstimateMutations, AreRefusedOrHaveAnEstimate) {
  RUNNEL_NEEDS_DATA();
  int refused = 0, estimated = 0;
  for (const char* name : kNetworks) {
    SCOPED_TRACE(name);
    const Compiled compiled = open_compiled(data_folder() / (std::string(name) + "_vela.tflite"));
    ASSERT_FALSE(compiled.segments.empty());
    npu::Segment segment = compiled.segments[0];
    std::vector<std::byte> words;
    for (std::size_t i = 0; i < segment.payload.commands.size(); ++i) {
      const std::uint32_t word = segment.payload.commands[i];
      for (int byte = 0; byte < 4; ++byte) words.push_back(static_cast<std::byte>(word >> 8 * byte & 0xff));
    }
    Mutator mutator(words, 21);
    const npu::Product product = segment.accelerator->product;
    for (int i = 0; i < 400; ++i) {
      const std::vector<std::byte> damaged = mutator.next();
      segment.payload.commands = npu::Words(damaged);
      const auto operations = npu::operations_of(segment);
      if (!operations.ok()) {
        ++refused;
        continue;
      }
      ++estimated;
      const auto start = std::chrono::steady_clock::now();
      const auto estimate =
          npu::estimate_stream(*operations, *segment.accelerator, npu::default_system(product),
                               npu::default_memory_mode(product), segment.constants);
      ASSERT_TRUE(estimate.ok());
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
      expect_finite(*estimate);
      if (product != npu::Product::u85 || i % 100 != 0) continue;
      const auto all = npu::u85::what_if(*operations, *segment.accelerator, npu::default_system(product),
                                         npu::default_memory_mode(product), segment.constants);
      if (!all.ok()) {
        EXPECT_FALSE(all.status().text().empty());
        continue;
      }
      for (const npu::u85::Alternative& one : *all) expect_finite(one.estimate);
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(estimated, 400);
}

}  // namespace
}  // namespace runnel::test
