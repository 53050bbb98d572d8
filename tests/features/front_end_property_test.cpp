// Properties of every preset: partitions, instruction sets, silence, square waves, offsets, denormals, bad
// samples, and large counters late in a stream.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "features/fbank/fbank_parameters.h"
#include "features/frames/framer.h"
#include "tests/features/streaming.h"

namespace runnel::features {
namespace {

std::vector<float> noise(std::size_t count, float amplitude) {
  std::mt19937 random(11);
  std::vector<float> x(count);
  for (float& value : x)
    value = amplitude * static_cast<float>(static_cast<std::int32_t>(random())) / 2147483648.0F;
  return x;
}

bool all_finite(const std::vector<float>& x) {
  return std::all_of(x.begin(), x.end(), [](float v) { return std::isfinite(v); });
}

TEST(EveryPreset, GivesTheSameBitsForEveryPartitionAndInstructionSet) {
  const std::vector<float> x = noise(5000, 0.5F);
  for (const Preset& one : presets()) {
    const std::vector<float> expected = test::run_whole(one.options, Isa::reference, x);
    EXPECT_FALSE(expected.empty()) << one.name;
    for (const Isa isa : test::isas())
      EXPECT_EQ(test::run_whole(one.options, isa, x), expected) << one.name << " " << name_of(isa);
    HeapMemory memory;
    Result<Fbank> fbank = Fbank::make(one.options, best_isa(), memory);
    ASSERT_TRUE(fbank.ok()) << one.name << ": " << fbank.status().text();
    for (const std::size_t piece : {1, 160, 333}) {
      EXPECT_EQ(test::run_in_pieces(*fbank, x, [&](std::size_t) { return piece; }), expected)
          << one.name << " " << piece;
      fbank->reset();
    }
  }
}

TEST(EveryPreset, StaysFiniteOnSilenceSquaresOffsetsAndDenormals) {
  std::vector<float> square(4000), denormals(4000, 1e-40F);
  for (std::size_t i = 0; i < square.size(); ++i) square[i] = i / 8 % 2 == 0 ? 1.0F : -1.0F;
  for (const Preset& one : presets()) {
    for (const std::vector<float>& x :
         {std::vector<float>(4000), square, std::vector<float>(4000, 1.0F), denormals}) {
      EXPECT_TRUE(all_finite(test::run_whole(one.options, best_isa(), x))) << one.name << " " << x[0];
    }
    // Silence of any length, including less than a frame.
    for (const std::size_t count : {0, 1, 2, 399})
      EXPECT_TRUE(all_finite(test::run_whole(one.options, best_isa(), std::vector<float>(count))))
          << one.name;
  }
}

TEST(EveryPreset, CountsBadSamplesAsZerosOrRefusesThem) {
  std::vector<float> bad = noise(4000, 0.5F), zeros = bad;
  for (const std::size_t at : {100, 2000, 2001}) zeros[at] = 0;
  bad[100] = std::numeric_limits<float>::quiet_NaN();
  bad[2000] = std::numeric_limits<float>::infinity();
  bad[2001] = -std::numeric_limits<float>::infinity();
  for (const Preset& one : presets()) {
    EXPECT_EQ(test::run_whole(one.options, best_isa(), bad), test::run_whole(one.options, best_isa(), zeros))
        << one.name;
    FbankOptions strict = one.options;
    strict.non_finite = NonFinite::error;
    HeapMemory memory;
    Result<Fbank> fbank = Fbank::make(strict, best_isa(), memory);
    ASSERT_TRUE(fbank.ok());
    std::vector<float> frames(fbank->max_frames(bad.size()) * fbank->dims());
    EXPECT_EQ(fbank->push(bad, frames).samples, 100u) << one.name;
    EXPECT_EQ(fbank->status().text(), "sample 100 is not a finite number (non_finite=error)") << one.name;
  }
}

// A linear front end is homogeneous: twice the samples, four times the power, to the bit.
TEST(FrontEnd, PowerIsQuadraticInTheSamples) {
  const std::vector<float> x = noise(4000, 0.25F);
  std::vector<float> twice = x;
  for (float& value : twice) value *= 2;
  for (const char* name : {"torchaudio", "slaney40", "librosa"}) {
    const FbankOptions options = *preset(name);
    const std::vector<float> once = test::run_whole(options, best_isa(), x),
                             got = test::run_whole(options, best_isa(), twice);
    for (std::size_t i = 0; i < once.size(); ++i) ASSERT_EQ(got[i], once[i] * 4) << name << " " << i;
  }
}

// The limit below the maximum: of the whole, of the past, or fixed. With the recording's own maximum as the
// fixed one, fixed is global; running agrees from the frame of the maximum on.
TEST(LogMax, FixedAndRunningAgreeWithGlobalWhereTheyCan) {
  FbankOptions options = *preset("whisper");
  options.output_offset = 0;
  options.output_scale = 1;
  options.log_max_range = 1;
  std::vector<float> x = noise(16000, 0.01F);
  for (std::size_t i = 8000; i < 8400; ++i) x[i] *= 50;
  const std::vector<float> global = test::run_whole(options, best_isa(), x);
  const float largest = *std::max_element(global.begin(), global.end());
  const std::size_t at =
      static_cast<std::size_t>(std::max_element(global.begin(), global.end()) - global.begin()) / 80;
  options.log_max = LogMax::fixed;
  options.log_max_value = largest;
  EXPECT_EQ(test::run_whole(options, best_isa(), x), global);
  options.log_max = LogMax::running;
  const std::vector<float> running = test::run_whole(options, best_isa(), x);
  EXPECT_NE(running, global);
  EXPECT_TRUE(std::equal(running.begin() + static_cast<std::ptrdiff_t>(at * 80), running.end(),
                         global.begin() + static_cast<std::ptrdiff_t>(at * 80)));
}

TEST(LogMax, GlobalRefusesARecordingLongerThanItHolds) {
  FbankOptions options = *preset("whisper");
  options.max_frames = 10;
  HeapMemory memory;
  Result<Fbank> fbank = Fbank::make(options, best_isa(), memory);
  ASSERT_TRUE(fbank.ok());
  const std::vector<float> x(4000);
  std::vector<float> frames(100 * 80);
  const Fbank::Step step = fbank->push(x, frames);
  EXPECT_EQ(step.frames, 0u);
  EXPECT_LT(step.samples, x.size());
  EXPECT_EQ(
      fbank->status().text(),
      "the recording has more than 10 frames (log_max=global); raise max_frames, or use log_max=running");
  fbank->reset();
  EXPECT_TRUE(fbank->status().ok());
}

TEST(FrameGrid, CountsFarBeyondThirtyTwoBits) {
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  const FrameGrid inside{.length = 400, .shift = 160},
      centred{.length = 400, .shift = 160, .placement = FramePlacement::centred};
  EXPECT_EQ(inside.frames_of(kFar * 160 + 400), kFar + 1);
  EXPECT_EQ(inside.start_of(kFar), kFar * 160);
  EXPECT_EQ(centred.frames_of(kFar * 160), kFar + 1);
  EXPECT_EQ(centred.start_of(kFar), kFar * 160 - 200);
}

}  // namespace
}  // namespace runnel::features
