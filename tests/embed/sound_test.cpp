// A program that ends in sound: the bundled noise filter, interpreted and compiled. What others give of their
// model's output is its samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "compiledfilter.h"
#include "embed/program.h"
#include "interpretedfilter.h"

namespace {

struct Heard {
  std::vector<float> samples;
  std::vector<std::int64_t> first;  // of each call
  std::size_t features = 0;         // bytes of a frame
};
void keep(void* user, runnel_stage stage, const void* frames, std::size_t count, std::size_t frame_bytes,
          std::int64_t first) {
  auto& out = *static_cast<Heard*>(user);
  if (stage == RUNNEL_FEATURES) {
    out.features = frame_bytes;
    return;
  }
  EXPECT_EQ(frame_bytes, sizeof(float));
  const std::size_t before = out.samples.size();
  out.samples.resize(before + count);
  std::memcpy(out.samples.data() + before, frames, count * sizeof(float));
  out.first.push_back(first);
}

// A stream with a gap in it, pushed in pieces.
Heard run(const runnel_program& program, std::size_t piece) {
  std::vector<std::int16_t> samples(20'011);
  std::uint32_t state = 7;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    state = state * 1664525U + 1013904223U;
    samples[i] = static_cast<std::int16_t>(6000 * std::sin(0.05 * static_cast<double>(i)) *
                                               static_cast<double>(i / 1600 % 3) +
                                           static_cast<double>(state >> 22U));
  }
  // More than on a device: this machine's kernels pack weights in their own order.
  constexpr std::size_t kRoom = std::size_t{512} << 10;
  const std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(RUNNEL_ALIGNMENT, kRoom), std::free);
  Heard heard;
  const runnel_options options = {memory.get(), kRoom, nullptr, 0, keep, &heard};
  runnel_node* node = nullptr;
  EXPECT_EQ(runnel_prepare(&program, &options, &node), RUNNEL_OK) << runnel_last_failure();
  if (node == nullptr) return heard;
  const auto push = [&](std::size_t from, std::size_t to) {
    for (; from < to; from += piece)
      EXPECT_EQ(runnel_push_int16(node, samples.data() + from, std::min(piece, to - from)), RUNNEL_OK);
  };
  push(0, 12'345);
  EXPECT_EQ(runnel_lost(node, 777), RUNNEL_OK);
  push(12'345, samples.size());
  EXPECT_EQ(runnel_end(node), RUNNEL_OK);
  runnel_event event;
  EXPECT_EQ(runnel_poll(node, &event), 0);
  return heard;
}

TEST(SoundProgram, GivesItsSamples) {
  const Heard interpreted = run(runnel_interpretedfilter, RUNNEL_INTERPRETEDFILTER_HOP);
  EXPECT_EQ(interpreted.features, 3U * 161 * sizeof(float));
  // All whole hops before the gap and after it, on the clock of the input.
  ASSERT_FALSE(interpreted.first.empty());
  EXPECT_EQ(interpreted.first.front(), 0);
  EXPECT_GE(interpreted.samples.size(), 20'011U - 4 * 160);
  EXPECT_LE(interpreted.samples.size(), 20'011U);
  double loudest = 0;
  for (const float sample : interpreted.samples) loudest = std::max(loudest, std::abs(double{sample}));
  EXPECT_GT(loudest, 0.05);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{77}, std::size_t{160}, std::size_t{20'000}}) {
    const Heard compiled = run(runnel_compiledfilter, piece);
    EXPECT_EQ(compiled.samples, interpreted.samples) << "pieces of " << piece;
  }
  EXPECT_EQ(runnel_facts_of(&runnel_compiledfilter).labels, 0U);
  EXPECT_LT(RUNNEL_COMPILEDFILTER_MEMORY_BYTES, RUNNEL_INTERPRETEDFILTER_MEMORY_BYTES);
}

}  // namespace
