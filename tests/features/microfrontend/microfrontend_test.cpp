// The fixed-point front end against the C library that it follows, byte for byte, and the contract of
// every front end.
#include "features/microfrontend/microfrontend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "features/microfrontend/microfrontend_math.h"
#include "features/microfrontend/microfrontend_presets.h"
#include "tests/features/cases.h"
#include "tests/features/streaming.h"
#include "tests/support/data.h"
#include "tests/support/npy.h"
#include "tests/support/wav.h"

namespace runnel::features {
namespace {

using nlohmann::json;

template <class Sample>
std::vector<std::uint16_t> in_pieces(Microfrontend& front_end, std::span<const Sample> samples, auto piece) {
  std::vector<std::uint16_t> all;
  while (!samples.empty()) {
    const std::size_t size = std::min<std::size_t>(piece(), samples.size());
    std::vector<std::uint16_t> frames(front_end.max_frames(size) * front_end.dims());
    const Microfrontend::Step step = front_end.push(samples.first(size), frames);
    EXPECT_EQ(step.samples, size) << "max_frames is too small";
    all.insert(all.end(), frames.begin(),
               frames.begin() + static_cast<std::ptrdiff_t>(step.frames * front_end.dims()));
    samples = samples.subspan(size);
  }
  return all;
}

std::vector<std::uint16_t> whole(const MicrofrontendOptions& options,
                                 const std::vector<std::int16_t>& samples, Isa isa = best_isa()) {
  HeapMemory memory;
  Result<Microfrontend> made = Microfrontend::make(options, isa, memory);
  EXPECT_TRUE(made.ok()) << made.status().text();
  return in_pieces<std::int16_t>(*made, samples, [&] { return samples.size(); });
}

std::vector<std::int16_t> noise(std::size_t count, int loudness) {
  std::mt19937 random(7);
  std::vector<std::int16_t> samples(count);
  for (auto& sample : samples)
    sample = static_cast<std::int16_t>(
        static_cast<int>(random() % (2 * static_cast<unsigned>(loudness) + 1)) - loudness);
  return samples;
}

TEST(Microfrontend, GivesTheBytesOfTheLibraryInEveryCase) {
  RUNNEL_NEEDS_DATA();
  const auto folder = test::data_folder() / "features";
  const json cases = json::parse(std::ifstream(folder / "microfrontend.json"));
  ASSERT_EQ(cases.size(), 43u);
  for (const json& one : cases) {
    SCOPED_TRACE(one["file"].get<std::string>());
    const MicrofrontendOptions options = test::microfrontend_case_of(one).options();
    EXPECT_EQ(options.frame_length, one["window_ms"].get<float>());
    EXPECT_EQ(options.frame_shift, one["step_ms"].get<float>());
    EXPECT_EQ(options.enable_pcan, one["pcan"].get<bool>());
    const test::Wav wav = test::read_wav(folder / one["wav"].get<std::string>());
    const test::Npy expected = test::read_npy(folder / one["file"].get<std::string>());
    ASSERT_EQ(expected.dtype, "<u2");
    for (const Isa isa : test::isas())
      EXPECT_EQ(whole(options, wav.samples, isa), expected.as<std::uint16_t>()) << name_of(isa);
  }
}

TEST(Microfrontend, GivesTheSameFramesForAnyPieces) {
  const MicrofrontendOptions options = *microfrontend_preset("micro-wake-word");
  const std::vector<std::int16_t> samples = noise(16000, 12000);
  const std::vector<std::uint16_t> expected = whole(options, samples);
  ASSERT_EQ(expected.size(), 98u * 40);
  std::mt19937 random(3);
  HeapMemory memory;
  Result<Microfrontend> made = Microfrontend::make(options, best_isa(), memory);
  ASSERT_TRUE(made.ok());
  for (const std::size_t size : {1, 7, 160, 161, 480, 5000, 0}) {
    made->reset();
    EXPECT_EQ(in_pieces<std::int16_t>(*made, samples, [&] { return size > 0 ? size : random() % 700 + 1; }),
              expected)
        << size;
    EXPECT_EQ(made->next_frame(), 98);
  }
  std::vector<float> floats;
  for (const std::int16_t sample : samples) floats.push_back(static_cast<float>(sample) / 32768);
  made->reset();
  EXPECT_EQ(in_pieces<float>(*made, floats, [] { return 333u; }), expected);
}

TEST(Microfrontend, ForgetsEverythingWithReset) {
  const MicrofrontendOptions options = *microfrontend_preset("micro-speech");
  HeapMemory memory;
  Result<Microfrontend> made = Microfrontend::make(options, best_isa(), memory);
  ASSERT_TRUE(made.ok());
  const std::vector<std::int16_t> loud = noise(5000, 30000), samples = noise(8000, 900);
  const std::vector<std::uint16_t> expected = whole(options, samples);
  const auto all = [&] { return samples.size(); };
  in_pieces<std::int16_t>(*made, loud, [] { return 100u; });
  EXPECT_NE(in_pieces<std::int16_t>(*made, samples, all), expected) << "the noise estimate lasts";
  made->reset();
  EXPECT_EQ(in_pieces<std::int16_t>(*made, samples, all), expected);
}

TEST(Microfrontend, WritesNoMoreThanFitsAndContinuesAfterIt) {
  const MicrofrontendOptions options = *microfrontend_preset("microfrontend");
  const std::vector<std::int16_t> samples = noise(4000, 2000);
  HeapMemory memory;
  Result<Microfrontend> made = Microfrontend::make(options, best_isa(), memory);
  ASSERT_TRUE(made.ok());
  std::vector<std::uint16_t> all, two(2 * made->dims());
  for (std::size_t at = 0; at < samples.size();) {
    const Microfrontend::Step step = made->push(std::span(samples).subspan(at), two);
    ASSERT_LE(step.frames, 2u);
    if (step.frames == 0 && step.samples == 0) break;
    at += step.samples;
    all.insert(all.end(), two.begin(), two.begin() + static_cast<std::ptrdiff_t>(step.frames * made->dims()));
  }
  EXPECT_EQ(all, whole(options, samples));
}

TEST(Microfrontend, TakesExactlyTheMemoryItNames) {
  for (const MicrofrontendPreset& preset : microfrontend_presets()) {
    const Result<std::size_t> bytes = Microfrontend::memory_bytes(preset.options);
    ASSERT_TRUE(bytes.ok());
    HeapMemory enough(*bytes), little(*bytes - 1);
    EXPECT_TRUE(Microfrontend::make(preset.options, best_isa(), enough).ok()) << preset.name;
    EXPECT_EQ(enough.used(), *bytes);
    EXPECT_EQ(Microfrontend::make(preset.options, best_isa(), little).status().code(), Code::out_of_memory);
  }
  static_assert(Microfrontend::memory_bytes(480, 512, 40) < 16 * 1024, "known to a compiler");
  EXPECT_EQ(Microfrontend::memory_bytes(480, 512, 40),
            *Microfrontend::memory_bytes(*microfrontend_preset("micro-wake-word")));
}

// Compile-time tables equal run-time tables, and take no memory.
TEST(Microfrontend, GivesTheSameFramesWithTablesMadeByTheCompiler) {
  constexpr std::size_t kState = Microfrontend::state_bytes_of(MicroWakeWordRecipe::kOptions);
  static_assert(kState < 6 * 1024 && kState < Microfrontend::memory_bytes_of(MicroWakeWordRecipe::kOptions));
  HeapMemory memory(kState);
  Result<Microfrontend> made = Microfrontend::make_of<MicroWakeWordRecipe>(best_isa(), memory);
  ASSERT_TRUE(made.ok()) << made.status().text();
  EXPECT_EQ(memory.used(), kState);
  const std::vector<std::int16_t> samples = noise(16000, 12000);
  EXPECT_EQ(in_pieces<std::int16_t>(*made, samples, [] { return 333u; }),
            whole(*microfrontend_preset("micro-wake-word"), samples));
}

TEST(Microfrontend, SkipsSamplesBetweenFramesThatDoNotTouch) {
  MicrofrontendOptions options = *microfrontend_preset("microfrontend");
  options.frame_length = 5;
  options.frame_shift = 12.5F;
  HeapMemory memory;
  Result<Microfrontend> made = Microfrontend::make(options, best_isa(), memory);
  ASSERT_TRUE(made.ok()) << made.status().text();
  const std::vector<std::int16_t> samples = noise(80 + 3 * 200, 5000);
  std::vector<std::int16_t> touched(samples.size(), 0);
  for (std::size_t frame = 0; frame < 4; ++frame)
    std::copy_n(samples.begin() + static_cast<std::ptrdiff_t>(frame * 200), 80,
                touched.begin() + static_cast<std::ptrdiff_t>(frame * 200));
  const auto first = in_pieces<std::int16_t>(*made, samples, [] { return 37u; });
  EXPECT_EQ(first.size(), 4 * made->dims());
  made->reset();
  EXPECT_EQ(in_pieces<std::int16_t>(*made, touched, [] { return 1000u; }), first);
}

TEST(Microfrontend, ReadsFloatsAsSixteenBits) {
  EXPECT_EQ(fixed::to_int16(1.0F), 32767);
  EXPECT_EQ(fixed::to_int16(-1.5F), -32768);
  EXPECT_EQ(fixed::to_int16(0.49F / 32768), 0);
  EXPECT_EQ(fixed::to_int16(-0.51F / 32768), -1);
  EXPECT_EQ(fixed::to_int16(std::numeric_limits<float>::quiet_NaN()), 0);
  EXPECT_EQ(fixed::to_int16(std::numeric_limits<float>::infinity()), 32767);
}

TEST(Microfrontend, RoundsSquareRootsToTheNearestInteger) {
  EXPECT_EQ(fixed::square_root(0), 0u);
  EXPECT_EQ(fixed::square_root(0xFFFF'FFFF), 0xFFFFu) << "16 bits hold it, as in the library";
  EXPECT_EQ(fixed::square_root(0xFFFF'FFFF'FFFF'FFFF), 0xFFFF'FFFFu);
  std::mt19937_64 random(11);
  for (int i = 0; i < 200000; ++i) {
    const std::uint64_t root = random() >> (33 + random() % 30), square = root * root;
    if (root < 2 || root >= 0x7FFF'FFFF || root == 0xFFFF) continue;
    // Up to root above a square is nearer to it.
    for (const std::uint64_t x : {square, square + 1, square + root, square - root + 1, square - 1})
      ASSERT_EQ(fixed::square_root(x), root) << x;
    ASSERT_EQ(fixed::square_root(square + root + 1), root + 1) << root;
  }
}

TEST(Microfrontend, TurnsItsValuesIntoThoseOfModels) {
  EXPECT_EQ(Microfrontend::to_int8(0), -128);
  EXPECT_EQ(Microfrontend::to_int8(2), -127);
  EXPECT_EQ(Microfrontend::to_int8(666), 127);
  EXPECT_EQ(Microfrontend::to_int8(65535), 127);
  EXPECT_EQ(Microfrontend::to_float(256), 10.0F);
}

TEST(Microfrontend, RefusesOptionsThatCannotBe) {
  HeapMemory memory;
  const auto refusal = [&](std::string_view name, std::string_view value) {
    MicrofrontendOptions options = *microfrontend_preset("micro-wake-word");
    Status status = set(options, name, value);
    if (status.ok()) status = Microfrontend::make(options, best_isa(), memory).status();
    return std::string(status.text());
  };
  EXPECT_EQ(refusal("num_mel_bins", "0"), "num_mel_bins=0: expected 1 to 1024");
  EXPECT_EQ(refusal("enable_pcan", "perhaps"), "enable_pcan=perhaps: expected true or false");
  EXPECT_EQ(refusal("pcan_strenght", "1"), "unknown parameter 'pcan_strenght'; did you mean pcan_strength?");
  EXPECT_NE(refusal("high_freq", "100").find("high_freq: expected more than low_freq"), std::string::npos);
  EXPECT_NE(refusal("high_freq", "8000").find("beyond the spectrum"), std::string::npos);
  EXPECT_NE(refusal("gain_bits", "3").find("gain_bits=3: expected 15 to 31"), std::string::npos);
  EXPECT_NE(refusal("smoothing_bits", "1").find("smoothing_bits=1"), std::string::npos);
  EXPECT_NE(refusal("frame_length", "0.05").find("frame_length: 0 samples"), std::string::npos);
  EXPECT_EQ(microfrontend_preset("micro-speach").status().text(),
            "unknown preset 'micro-speach'; did you mean micro-speech?");
}

}  // namespace
}  // namespace runnel::features
