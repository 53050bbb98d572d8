// runnel.h on this machine, with the digits model embedded.
#include "embed/runnel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "digits.h"
#include "embed/program.h"
#include "tests/embed/in_c.h"
#include "tests/support/data.h"
#include "tests/support/wav.h"

namespace {

using namespace runnel;

constexpr std::size_t kRoom = std::size_t{256} << 10;  // hosts pack weights for their vector units

struct Aligned {
  alignas(64) unsigned char bytes[kRoom];
};

// Words one after another, spoken by nobody: chirps that make the front end work.
std::vector<std::int16_t> noise(std::size_t count, int loudness = 4000) {
  std::vector<std::int16_t> out(count);
  std::uint32_t state = 12345;
  for (std::int16_t& one : out) {
    state = state * 1664525U + 1013904223U;
    one = static_cast<std::int16_t>(static_cast<int>(state >> 16) % (2 * loudness) - loudness);
  }
  return out;
}

// What passes after the front end and the model.
struct Frames {
  std::vector<unsigned char> bytes[2];
  std::vector<std::int64_t> first[2];
};
void keep(void* user, runnel_stage stage, const void* frames, std::size_t count, std::size_t frame_bytes,
          std::int64_t first) {
  auto& out = *static_cast<Frames*>(user);
  const auto* from = static_cast<const unsigned char*>(frames);
  out.bytes[stage].insert(out.bytes[stage].end(), from, from + count * frame_bytes);
  out.first[stage].push_back(first);
}

class Runnel : public testing::Test {
 protected:
  runnel_node* prepare(const runnel_program& program = runnel_digits) {
    const runnel_options options = {memory_->bytes, kRoom, nullptr, 0, keep, &frames_};
    runnel_node* node = nullptr;
    EXPECT_EQ(runnel_prepare(&program, &options, &node), RUNNEL_OK) << runnel_last_failure();
    return node;
  }
  runnel_code code_of(const runnel_program& program, std::size_t bytes = kRoom, std::size_t shift = 0) {
    const runnel_options options = {memory_->bytes + shift, bytes - shift, nullptr, 0, nullptr, nullptr};
    runnel_node* node = reinterpret_cast<runnel_node*>(1);
    const runnel_code code = runnel_prepare(&program, &options, &node);
    EXPECT_EQ(node == nullptr, code != RUNNEL_OK);
    return code;
  }
  std::unique_ptr<Aligned> memory_ = std::make_unique<Aligned>();
  Frames frames_;
};

TEST_F(Runnel, FindsTheWordsInC) {
  RUNNEL_NEEDS_DATA();
  const test::Wav wav = test::read_wav(test::data_folder() / "digits/stitched_90s.wav");
  int labels[200] = {};
  const int count =
      run_in_c(&runnel_digits, memory_->bytes, kRoom, wav.samples.data(), wav.samples.size(), labels, 200);
  // The recording has about 60 words; scripts/firmware_nodes.sh compares every one.
  EXPECT_GT(count, 30);
  EXPECT_LT(count, 90);
  for (int i = 0; i < std::min(count, 200); ++i) EXPECT_TRUE(labels[i] >= 0 && labels[i] < 10) << labels[i];
}

TEST_F(Runnel, SaysWhatItIs) {
  const runnel_facts facts = runnel_facts_of(&runnel_digits);
  EXPECT_STREQ(facts.name, "digits");
  EXPECT_EQ(facts.sample_rate, 16000U);
  EXPECT_EQ(facts.hop, 160U);
  EXPECT_EQ(facts.labels, 12U);
  EXPECT_STREQ(runnel_label(&runnel_digits, 10), "silence");
  EXPECT_EQ(runnel_label(&runnel_digits, 12), nullptr);
  for (int code = RUNNEL_OK; code <= RUNNEL_STOPPED; ++code)
    EXPECT_STRNE(runnel_code_text(static_cast<runnel_code>(code)), "unknown code") << code;
  EXPECT_STREQ(runnel_code_text(static_cast<runnel_code>(99)), "unknown code");
}

TEST_F(Runnel, ResultsDoNotDependOnPieces) {
  const std::vector<std::int16_t> samples = noise(16000);
  runnel_node* node = prepare();
  ASSERT_EQ(runnel_push_int16(node, samples.data(), samples.size()), RUNNEL_OK);
  ASSERT_EQ(runnel_end(node), RUNNEL_OK);
  const Frames whole = frames_;
  EXPECT_EQ(whole.bytes[RUNNEL_OUTPUT].size(), 98U * 12);
  ASSERT_EQ(runnel_reset(node), RUNNEL_OK);
  frames_ = {};
  for (std::size_t at = 0; at < samples.size(); at += 77)
    ASSERT_EQ(runnel_push_int16(node, samples.data() + at, std::min<std::size_t>(77, samples.size() - at)),
              RUNNEL_OK);
  ASSERT_EQ(runnel_end(node), RUNNEL_OK);
  EXPECT_EQ(frames_.bytes[RUNNEL_FEATURES], whole.bytes[RUNNEL_FEATURES]);
  EXPECT_EQ(frames_.bytes[RUNNEL_OUTPUT], whole.bytes[RUNNEL_OUTPUT]);
  EXPECT_EQ(runnel_push_int16(node, samples.data(), 10), RUNNEL_INVALID_ARGUMENT) << "after the end";
}

// Samples and frames pass the ends of 31, 32 and 45 bits: what the model gets and gives is the same, later.
TEST_F(Runnel, CountersNearTheirEndChangeNothingButNumbers) {
  const std::vector<std::int16_t> samples = noise(16000);
  runnel_node* node = prepare();
  const auto run_from = [&](std::int64_t first) {
    EXPECT_EQ(runnel_reset(node), RUNNEL_OK);
    frames_ = {};
    EXPECT_EQ(runnel_lost(node, static_cast<std::uint64_t>(first)), RUNNEL_OK) << runnel_last_failure();
    EXPECT_EQ(runnel_push_int16(node, samples.data(), samples.size()), RUNNEL_OK) << runnel_last_failure();
    EXPECT_EQ(runnel_end(node), RUNNEL_OK) << runnel_last_failure();
    for (auto& firsts : frames_.first)
      for (std::int64_t& one : firsts) one -= first / 160;
    return frames_;
  };
  const Frames expected = run_from(160);
  ASSERT_EQ(expected.bytes[RUNNEL_OUTPUT].size(), 98U * 12);
  for (const std::int64_t end : {std::int64_t{1} << 31, std::int64_t{1} << 32, std::int64_t{160} << 31,
                                 std::int64_t{160} << 32, std::int64_t{1} << 45}) {
    const Frames found = run_from((end - 8000) / 160 * 160);
    for (const runnel_stage stage : {RUNNEL_FEATURES, RUNNEL_OUTPUT}) {
      EXPECT_EQ(found.bytes[stage], expected.bytes[stage]) << end;
      EXPECT_EQ(found.first[stage], expected.first[stage]) << end;
    }
  }
}

TEST_F(Runnel, StreamsHaveALongestLength) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 46;
  const std::vector<std::int16_t> samples = noise(160);
  runnel_node* node = prepare();
  for (const std::uint64_t frames :
       {kMost + 1, std::uint64_t{1} << 53, std::uint64_t{1} << 63, ~std::uint64_t{0}})
    EXPECT_EQ(runnel_lost(node, frames), RUNNEL_INVALID_ARGUMENT) << frames;
  ASSERT_EQ(runnel_lost(node, kMost - 160), RUNNEL_OK) << runnel_last_failure();
  EXPECT_EQ(runnel_lost(node, 161), RUNNEL_INVALID_ARGUMENT);
  ASSERT_EQ(runnel_push_int16(node, samples.data(), 160), RUNNEL_OK) << runnel_last_failure();
  EXPECT_EQ(runnel_push_int16(node, samples.data(), 160), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_lost(node, 1), RUNNEL_INVALID_ARGUMENT);
  ASSERT_EQ(runnel_reset(node), RUNNEL_OK);
  EXPECT_EQ(runnel_push_int16(node, samples.data(), 160), RUNNEL_OK);
}

// The number of halves that an interrupt counts has 32 bits, and comes round after weeks.
TEST_F(Runnel, HalvesMayComeRound) {
  constexpr std::uint32_t kFrames = 160;
  const std::vector<std::int16_t> samples = noise(20 * kFrames);
  runnel_node* node = prepare();
  const auto run_from = [&](std::uint32_t first) {
    EXPECT_EQ(runnel_reset(node), RUNNEL_OK);
    frames_ = {};
    std::int16_t ring[2 * kFrames] = {};
    runnel_double_buffer buffer = {ring, kFrames, first, first};
    for (std::uint32_t half = 0; half < 20; ++half) {
      std::memcpy(ring + (first + half) % 2 * kFrames, samples.data() + half * kFrames,
                  kFrames * sizeof(std::int16_t));
      runnel_half_filled(&buffer);
      EXPECT_EQ(runnel_take(node, &buffer), RUNNEL_OK) << half;
    }
    EXPECT_EQ(runnel_end(node), RUNNEL_OK);
    EXPECT_EQ(runnel_counters_of(node).lost, 0U);
    return frames_;
  };
  const Frames expected = run_from(0);
  ASSERT_FALSE(expected.bytes[RUNNEL_OUTPUT].empty());
  for (const std::uint32_t first : {0xFFFFFFF6U, 0x7FFFFFF6U}) {
    const Frames found = run_from(first);
    EXPECT_EQ(found.bytes[RUNNEL_OUTPUT], expected.bytes[RUNNEL_OUTPUT]);
    EXPECT_EQ(found.first[RUNNEL_OUTPUT], expected.first[RUNNEL_OUTPUT]);
  }
}

TEST_F(Runnel, FailuresHaveTheirCodes) {
  EXPECT_EQ(runnel_prepare(nullptr, nullptr, nullptr), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(runnel_digits, 200), RUNNEL_OUT_OF_MEMORY);
  EXPECT_EQ(code_of(runnel_digits, 8000), RUNNEL_OUT_OF_MEMORY);
  EXPECT_EQ(code_of(runnel_digits, kRoom, 16), RUNNEL_MISALIGNED);
  EXPECT_NE(std::string(runnel_last_failure()).find("16 bytes"), std::string::npos) << runnel_last_failure();
  runnel_program other = runnel_digits;
  other.target = embed::Target::cortex_m55;
  EXPECT_EQ(code_of(other), RUNNEL_WRONG_TARGET);
  other = runnel_digits;
  other.version = 77;
  EXPECT_EQ(code_of(other), RUNNEL_WRONG_VERSION);
  other = runnel_digits;
  other.operators = other.operators.first(1);
  EXPECT_EQ(code_of(other), RUNNEL_UNSUPPORTED);
  runnel_node* node = prepare();
  const float sample = 0;
  EXPECT_EQ(runnel_push_float(node, &sample, 1), RUNNEL_MISMATCH);
  EXPECT_EQ(runnel_push_int16(node, nullptr, 1), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_poll(node, nullptr), 0);
}

TEST_F(Runnel, FlippedBitsAreRefused) {
  std::vector<unsigned char> copy(runnel_digits.model.count + 64);
  unsigned char* first = copy.data() + (64 - reinterpret_cast<std::uintptr_t>(copy.data()) % 64);
  runnel_program damaged = runnel_digits;
  damaged.model.first = first;
  int refused = 0, padding = 0;
  for (std::size_t at = 0; at < damaged.model.count; at += 211) {
    std::memcpy(first, runnel_digits.model.first, damaged.model.count);
    first[at] ^= 4;
    // Bytes between sections belong to nobody; everything else is refused, as data or, in the container, as a
    // version.
    const runnel_code code = code_of(damaged);
    if (code == RUNNEL_OK)
      ++padding;
    else
      ++refused;
    EXPECT_TRUE(code == RUNNEL_OK || code == RUNNEL_INVALID_DATA || code == RUNNEL_UNSUPPORTED)
        << at << ": " << runnel_code_text(code);
  }
  EXPECT_GT(refused, 100);
  EXPECT_LE(padding, 6);
}

TEST_F(Runnel, GoesOnWhereItWasSaved) {
  const std::vector<std::int16_t> samples = noise(32000);
  runnel_node* node = prepare();
  ASSERT_EQ(runnel_push_int16(node, samples.data(), 16010), RUNNEL_OK);
  std::vector<unsigned char> saved(runnel_saved_bytes(node));
  EXPECT_EQ(runnel_save(node, saved.data(), saved.size() - 1), RUNNEL_OUT_OF_MEMORY);
  ASSERT_EQ(runnel_save(node, saved.data(), saved.size()), RUNNEL_OK);
  frames_ = {};
  ASSERT_EQ(runnel_push_int16(node, samples.data() + 16010, 8000), RUNNEL_OK);
  const Frames expected = frames_;
  ASSERT_FALSE(expected.bytes[RUNNEL_OUTPUT].empty());
  std::vector<unsigned char> bad = saved;
  bad[bad.size() / 2] ^= 1;
  EXPECT_EQ(runnel_restore(node, bad.data(), bad.size()), RUNNEL_INVALID_DATA);
  bad = saved;
  bad[4] ^= 1;
  EXPECT_EQ(runnel_restore(node, bad.data(), bad.size()), RUNNEL_MISMATCH);
  EXPECT_EQ(runnel_restore(node, saved.data(), saved.size() - 1), RUNNEL_MISMATCH);
  ASSERT_EQ(runnel_reset(node), RUNNEL_OK);
  ASSERT_EQ(runnel_restore(node, saved.data(), saved.size()), RUNNEL_OK);
  frames_ = {};
  ASSERT_EQ(runnel_push_int16(node, samples.data() + 16010, 8000), RUNNEL_OK);
  EXPECT_EQ(frames_.bytes[RUNNEL_OUTPUT], expected.bytes[RUNNEL_OUTPUT]);
  EXPECT_EQ(frames_.first[RUNNEL_OUTPUT], expected.first[RUNNEL_OUTPUT]);
}

// An interrupt fills halves; the main loop is late between halves 20 and 24, of which only the last one is
// still there.
TEST_F(Runnel, LateHalvesAreLostSamples) {
  const std::vector<std::int16_t> samples = noise(16000);
  runnel_node* node = prepare();
  std::int16_t halves[320];
  runnel_double_buffer buffer = {halves, 160, 0, 0};
  for (std::uint32_t half = 0; half < 100; ++half) {
    std::memcpy(halves + half % 2 * 160, samples.data() + half * 160, 320);
    runnel_half_filled(&buffer);
    if (half >= 20 && half < 24) continue;
    ASSERT_EQ(runnel_take(node, &buffer), half == 24 ? RUNNEL_OVERRUN : RUNNEL_OK) << half;
  }
  const runnel_counters counters = runnel_counters_of(node);
  EXPECT_EQ(counters.lost, 4U * 160);
  EXPECT_EQ(counters.overruns, 4U);
  EXPECT_EQ(counters.samples, 96U * 160);
  EXPECT_EQ(counters.gaps, 1U);
  // The same as losing them by name.
  const Frames late = frames_;
  ASSERT_EQ(runnel_reset(node), RUNNEL_OK);
  frames_ = {};
  ASSERT_EQ(runnel_push_int16(node, samples.data(), 20 * 160), RUNNEL_OK);
  ASSERT_EQ(runnel_lost(node, 4 * 160), RUNNEL_OK);
  ASSERT_EQ(runnel_push_int16(node, samples.data() + 24 * 160, 76 * 160), RUNNEL_OK);
  EXPECT_EQ(late.bytes[RUNNEL_OUTPUT], frames_.bytes[RUNNEL_OUTPUT]);
  EXPECT_EQ(late.first[RUNNEL_OUTPUT].back(), frames_.first[RUNNEL_OUTPUT].back());
}

TEST_F(Runnel, TheGateClosesInSilence) {
  runnel_node* node = prepare();
  ASSERT_EQ(runnel_set_gate(node, {10000.0F, 1600}), RUNNEL_OK);
  EXPECT_EQ(runnel_set_gate(node, {-1.0F, 0}), RUNNEL_INVALID_ARGUMENT);
  const std::vector<std::int16_t> quiet = noise(160, 20), loud = noise(160);
  // Quiet with an offset: it is the variance that counts.
  std::vector<std::int16_t> offset = quiet;
  for (std::int16_t& one : offset) one = static_cast<std::int16_t>(one + 3000);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(runnel_push_int16(node, offset.data(), 160), RUNNEL_OK);
  EXPECT_EQ(runnel_counters_of(node).gated, 50U * 160);
  EXPECT_TRUE(frames_.bytes[RUNNEL_OUTPUT].empty());
  for (int i = 0; i < 20; ++i) ASSERT_EQ(runnel_push_int16(node, loud.data(), 160), RUNNEL_OK);
  // Open for 1600 more samples, then closed.
  for (int i = 0; i < 50; ++i) ASSERT_EQ(runnel_push_int16(node, quiet.data(), 160), RUNNEL_OK);
  EXPECT_EQ(runnel_counters_of(node).gated, (50U + 40) * 160);
  EXPECT_EQ(runnel_counters_of(node).samples, 120U * 160);
  ASSERT_FALSE(frames_.first[RUNNEL_OUTPUT].empty());
  EXPECT_EQ(frames_.first[RUNNEL_OUTPUT].front(), 50) << "frames keep their place in time";
}

struct Loop {
  runnel_double_buffer* buffer;
  std::int16_t* halves;
  const std::vector<std::int16_t>* samples;
  int waits = 0, events = 0;
};

TEST_F(Runnel, TheLoopSleepsUntilSamplesCome) {
  RUNNEL_NEEDS_DATA();
  const test::Wav wav = test::read_wav(test::data_folder() / "digits/stitched_90s.wav");
  runnel_node* node = prepare();
  std::int16_t halves[320];
  runnel_double_buffer buffer = {halves, 160, 0, 0};
  Loop loop = {&buffer, halves, &wav.samples};
  runnel_hooks hooks = {};
  hooks.user = &loop;
  hooks.event = [](void* user, const runnel_event*) { ++static_cast<Loop*>(user)->events; };
  hooks.wait = [](void* user) {  // the interrupt that ends the sleep
    auto& l = *static_cast<Loop*>(user);
    std::memcpy(l.halves + l.buffer->filled % 2 * 160,
                l.samples->data() + static_cast<std::size_t>(l.waits++) * 160, 320);
    runnel_half_filled(l.buffer);
  };
  hooks.stop = [](void* user) { return static_cast<Loop*>(user)->waits == 2000 ? 1 : 0; };
  EXPECT_EQ(runnel_loop(node, &buffer, &hooks), RUNNEL_OK) << runnel_last_failure();
  EXPECT_GT(loop.events, 3);
  EXPECT_EQ(runnel_counters_of(node).overruns, 0U);
}

TEST_F(Runnel, TestsItself) {
  const runnel_options options = {memory_->bytes, kRoom, nullptr, 0, nullptr, nullptr};
  EXPECT_EQ(runnel_self_test(&runnel_digits, &options), RUNNEL_OK) << runnel_last_failure();
  runnel_program other = runnel_digits;
  const runnel_options little = {memory_->bytes, 3000, nullptr, 0, nullptr, nullptr};
  EXPECT_EQ(runnel_self_test(&other, &little), RUNNEL_OUT_OF_MEMORY);
}

TEST_F(Runnel, TwoTiersGiveTheSame) {
  const std::vector<std::int16_t> samples = noise(8000);
  runnel_node* node = prepare();
  ASSERT_EQ(runnel_push_int16(node, samples.data(), samples.size()), RUNNEL_OK);
  const Frames one = frames_;
  frames_ = {};
  auto fast = std::make_unique<Aligned>();
  const runnel_options options = {memory_->bytes, kRoom, fast->bytes, 8192, keep, &frames_};
  ASSERT_EQ(runnel_prepare(&runnel_digits, &options, &node), RUNNEL_OK) << runnel_last_failure();
  EXPECT_GT(runnel_counters_of(node).fast_used, 0U);
  EXPECT_LE(runnel_counters_of(node).fast_used, 8192U);
  ASSERT_EQ(runnel_push_int16(node, samples.data(), samples.size()), RUNNEL_OK);
  EXPECT_EQ(frames_.bytes[RUNNEL_OUTPUT], one.bytes[RUNNEL_OUTPUT]);
}

}  // namespace
