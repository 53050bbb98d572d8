// What if: the layers of a stream on the other configurations.
#include "npu/host/cycles/u85/what_if.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "npu/port.h"
#include "tests/npu/host/cycles/compiled.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

namespace fs = std::filesystem;

// A pointwise convolution of 16 x 16 positions from 64 to 128 channels, for 256 multiply-adds.
npu::Operation pointwise() {
  npu::Operation op;
  op.product = npu::Product::u85;
  op.kind = npu::OperationKind::conv;
  for (npu::FeatureMap* map : {&op.ifm, &op.ofm}) {
    map->height = map->width = map->width0 = map->height0 = map->height1 = 16;
    map->depth = map == &op.ifm ? 64 : 128;
    map->is_signed = true;
    map->layout = npu::Layout::nhcwb16;
    map->region = npu::kFastScratch;
    map->stride_c = 256;
    map->stride_y = 256 * map->depth / 16;
  }
  op.block_height = 4;
  op.block_width = 8;
  op.block_depth = 64;
  op.microblock = 3;
  op.weight_region = npu::kFastScratch;
  op.has_scales = true;
  op.weights[0].length = 4096;
  op.scales[0].length = 1280;
  op.activation.low = -128;
  op.activation.high = 127;
  return op;
}

Result<std::vector<npu::u85::Alternative>> alternatives(std::span<const npu::Operation> operations,
                                                        const npu::Accelerator& accelerator,
                                                        std::span<const std::byte> constants = {}) {
  return npu::u85::what_if(operations, accelerator, npu::default_system(npu::Product::u85),
                           npu::default_memory_mode(npu::Product::u85), constants);
}
const npu::Accelerator& accelerator(const char* name) {
  return **npu::find_accelerator(std::string_view(name));
}

TEST(U85WhatIf, MoreMultipliersTakeFewerCycles) {
  const npu::Operation op = pointwise();
  const auto found = alternatives({&op, 1}, accelerator("ethos-u85-256"));
  ASSERT_TRUE(found.ok()) << found.status().text();
  ASSERT_EQ(found->size(), 5U);
  double previous = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < found->size(); ++i) {
    const npu::u85::Alternative& one = (*found)[i];
    EXPECT_EQ(one.accelerator->macs, 128 << i);
    EXPECT_EQ(one.compiled, i == 1);
    ASSERT_EQ(one.estimate.operations.size(), 1U);
    EXPECT_EQ(one.estimate.macs, 16 * 16 * 64 * 128);
    // Never faster than all multipliers at work.
    EXPECT_LE(one.estimate.utilisation, 1);
    // The stream's own block is not a good one.
    if (one.compiled) continue;
    EXPECT_LT(one.estimate.total, previous);
    previous = one.estimate.total;
  }
  const auto own =
      npu::estimate_stream({&op, 1}, accelerator("ethos-u85-256"), npu::default_system(npu::Product::u85),
                           npu::default_memory_mode(npu::Product::u85));
  ASSERT_TRUE(own.ok());
  EXPECT_EQ((*found)[1].estimate.total, own->total);
  EXPECT_GT((*found)[1].estimate.total, (*found)[0].estimate.total);
}

TEST(U85WhatIf, SaysWhichOperationHasNoBlock) {
  npu::Operation op = pointwise();
  op.kernel.height = op.kernel.width = 8;
  op.kernel.stride_y = op.kernel.stride_x = 3;
  op.ifm.element = 8;
  op.ifm.height = op.ifm.width = 65536;
  op.ifm.depth = 65536;
  op.index = 7;
  const auto found = alternatives({&op, 1}, accelerator("ethos-u85-256"));
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.status().text().find("operation 7: no block fits"), std::string::npos)
      << found.status().text();
}

TEST(U85WhatIf, RefusesStreamsWithoutEnd) {
  const std::vector<npu::Operation> operations(5000, pointwise());
  const auto found = alternatives(operations, accelerator("ethos-u85-256"));
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().text(), "5000 operations, expected at most 4096 for other configurations");
}

TEST(U85WhatIf, RefusesOtherProducts) {
  const auto found = alternatives({}, accelerator("ethos-u55-128"));
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), Code::unsupported);
}

// Beside what Arm's compiler recorded for its own streams for the other configurations. It chooses other
// blocks, formats of weights and cuts for each: what is here is what the same stream would take.
TEST(U85WhatIf, StandsBesideRecordedStreams) {
  RUNNEL_NEEDS_DATA();
  std::ifstream file(data_folder() / "ethosu85/manifest.json");
  const nlohmann::json networks = nlohmann::json::parse(file)["networks"];
  const auto recorded = [&](const std::string& config, const std::string& name) -> double {
    for (const auto& network : networks) {
      if (network["config"] == config && network["name"] == name) return network["cycles"]["total"];
    }
    return 0;
  };
  // Cycles here by those recorded, for 128 to 2048.
  struct Ratios {
    const char* name;
    std::array<double, 5> ratios;
  };
  constexpr Ratios kRatios[] = {
      {"kws_ref_model", {0.95, 1, 0.96, 1.00, 1.23}},
      {"str_ww_ref_model", {1.11, 1, 0.92, 0.94, 0.92}},
      {"micro_speech_quantized", {1.08, 1, 0.92, 0.78, 0.49}},
      {"hello_world_int8", {1.00, 1, 0.99, 0.74, 0.39}},
  };
  for (const Ratios& expected : kRatios) {
    SCOPED_TRACE(expected.name);
    const Compiled compiled =
        open_compiled(data_folder() / "ethosu85/u85-256" / (std::string(expected.name) + "_vela.tflite"));
    ASSERT_EQ(compiled.segments.size(), 1U);
    const npu::Segment& segment = compiled.segments[0];
    const auto found = alternatives(decoded(segment), *segment.accelerator, segment.constants);
    ASSERT_TRUE(found.ok()) << found.status().text();
    ASSERT_EQ(found->size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
      const npu::Estimate& one = (*found)[i].estimate;
      EXPECT_EQ(one.operations.size(), (*found)[0].estimate.operations.size());
      EXPECT_NEAR(one.total / recorded("u85-" + std::to_string(128 << i), expected.name), expected.ratios[i],
                  0.0051);
    }
  }
}

}  // namespace
}  // namespace runnel::test
