// A model compiled into constants against the same model interpreted: features, output and decisions.
#include "compiled.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "digits.h"
#include "embed/program.h"

namespace {

using namespace runnel;

constexpr std::size_t kRoom = std::size_t{256} << 10;

struct Aligned {
  alignas(64) unsigned char bytes[kRoom];
};

// Tones that come and go, with noise: every frame is another one.
std::vector<std::int16_t> sound(std::size_t count) {
  std::vector<std::int16_t> out(count);
  std::uint32_t state = 7;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    const int tone = static_cast<int>(i * (1 + i / 4000) * 37 % 8192) - 4096;
    out[i] = static_cast<std::int16_t>(tone * static_cast<int>(i / 1600 % 5) + static_cast<int>(state >> 24));
  }
  return out;
}

struct Heard {
  std::vector<unsigned char> bytes[2];
  std::vector<std::int64_t> first[2];
  std::size_t memory = 0;
};
void keep(void* user, runnel_stage stage, const void* frames, std::size_t count, std::size_t frame_bytes,
          std::int64_t first) {
  auto& out = *static_cast<Heard*>(user);
  const auto* from = static_cast<const unsigned char*>(frames);
  out.bytes[stage].insert(out.bytes[stage].end(), from, from + count * frame_bytes);
  out.first[stage].push_back(first);
}

// A stream with a gap in it, and another one after a reset.
Heard run(const runnel_program& program) {
  const auto memory = std::make_unique<Aligned>();
  Heard heard;
  const runnel_options options = {memory->bytes, kRoom, nullptr, 0, keep, &heard};
  runnel_node* node = nullptr;
  EXPECT_EQ(runnel_prepare(&program, &options, &node), RUNNEL_OK) << runnel_last_failure();
  if (node == nullptr) return heard;
  heard.memory = runnel_counters_of(node).memory_used;
  const std::vector<std::int16_t> samples = sound(20'011);
  EXPECT_EQ(runnel_push_int16(node, samples.data(), 12'345), RUNNEL_OK);
  EXPECT_EQ(runnel_lost(node, 777), RUNNEL_OK);
  EXPECT_EQ(runnel_push_int16(node, samples.data() + 12'345, samples.size() - 12'345), RUNNEL_OK);
  EXPECT_EQ(runnel_end(node), RUNNEL_OK);
  EXPECT_EQ(runnel_reset(node), RUNNEL_OK);
  EXPECT_EQ(runnel_push_int16(node, samples.data(), 5'000), RUNNEL_OK);
  EXPECT_EQ(runnel_end(node), RUNNEL_OK);
  return heard;
}

TEST(CompiledModel, GivesTheBitsOfTheInterpretedOne) {
  const Heard interpreted = run(runnel_digits), compiled = run(runnel_compiled);
  ASSERT_FALSE(interpreted.bytes[RUNNEL_OUTPUT].empty());
  for (const runnel_stage stage : {RUNNEL_FEATURES, RUNNEL_OUTPUT}) {
    EXPECT_EQ(compiled.bytes[stage], interpreted.bytes[stage]);
    EXPECT_EQ(compiled.first[stage], interpreted.first[stage]);
  }
  EXPECT_LT(compiled.memory, interpreted.memory);
}

TEST(CompiledModel, HasItsFailures) {
  runnel_program damaged = runnel_compiled;
  EXPECT_EQ(damaged.make_loader, nullptr) << "no model file is read";
  const auto memory = std::make_unique<Aligned>();
  const runnel_options options = {memory->bytes, 4000, nullptr, 0, nullptr, nullptr};
  runnel_node* node = nullptr;
  EXPECT_EQ(runnel_prepare(&damaged, &options, &node), RUNNEL_OUT_OF_MEMORY);
  EXPECT_EQ(runnel_self_test(&damaged, &options), RUNNEL_NOT_FOUND);
}

}  // namespace
