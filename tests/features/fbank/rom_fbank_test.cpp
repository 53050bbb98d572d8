// Front ends with constant recipes give the bits of those configured at run time.
#include "features/fbank/rom_fbank.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "base/host/heap_memory.h"
#include "features/fbank/fbank.h"
#include "features/fbank/fbank_presets.h"

namespace runnel::features {
namespace {

struct Kaldi40 {  // passes of radix 4 only
  static constexpr FbankOptions kOptions =
      changed(constant_preset("kaldi"), [](FbankOptions& o) { o.num_mel_bins = 40; });
};
struct Mfcc {  // energy, DCT, frames beyond the ends
  static constexpr FbankOptions kOptions = changed(constant_preset("kaldi-mfcc"), [](FbankOptions& o) {
    o.energy_floor = 1;
    o.snip_edges = false;
  });
};
struct Whisper {  // 400 points, centred frames, limit below the maximum
  static constexpr FbankOptions kOptions =
      changed(constant_preset("whisper"), [](FbankOptions& o) { o.log_max = LogMax::running; });
};
template <class Recipe>
struct Tabled {
  static constexpr FbankOptions kOptions = Recipe::kOptions;
  static constexpr FbankTables kTables = RomFbankTables<Recipe>::view();
};

std::vector<float> noise(std::size_t count) {
  std::mt19937 random(1);
  std::vector<float> x(count);
  for (float& value : x) value = static_cast<float>(static_cast<std::int32_t>(random())) / 2147483648.0F;
  return x;
}

template <class F>
std::vector<float> frames_of(F& fbank, std::size_t piece) {
  const std::vector<float> samples = noise(8'000);
  std::vector<float> out, frames(fbank.dims() * (fbank.max_frames(piece) + fbank.max_flush_frames() + 1));
  for (std::size_t at = 0; at < samples.size();) {
    const auto step =
        fbank.push(std::span(samples).subspan(at, std::min(piece, samples.size() - at)), frames);
    at += step.samples;
    out.insert(out.end(), frames.begin(),
               frames.begin() + static_cast<std::ptrdiff_t>(step.frames * fbank.dims()));
  }
  while (const std::size_t count = fbank.flush(frames))
    out.insert(out.end(), frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(count * fbank.dims()));
  return out;
}

template <class Recipe>
class RomFbankOf : public testing::Test {};
using Recipes = testing::Types<Kaldi40, Mfcc, Whisper>;
TYPED_TEST_SUITE(RomFbankOf, Recipes);

TYPED_TEST(RomFbankOf, GivesTheSameBitsFromTheSameMemory) {
  HeapMemory told_memory(Fbank::state_bytes_of(TypeParam::kOptions)),
      memory(Fbank::state_bytes_of(TypeParam::kOptions));
  Result<Fbank> told = Fbank::make(Tabled<TypeParam>::kTables, Isa::reference, told_memory);
  ASSERT_TRUE(told.ok()) << told.status().text();
  RomFbank<Tabled<TypeParam>> constant;
  ASSERT_TRUE(constant.init(memory).ok());
  EXPECT_EQ(memory.used(), told_memory.used());
  for (const std::size_t piece : {160, 777}) {
    const std::vector<float> expected = frames_of(*told, piece), found = frames_of(constant, piece);
    ASSERT_FALSE(expected.empty());
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), expected.size() * sizeof(float)), 0);
    told->reset();
    constant.reset();
  }
}

TYPED_TEST(RomFbankOf, SaysWhenItsMemoryIsTooSmall) {
  HeapMemory memory(Fbank::state_bytes_of(TypeParam::kOptions) - 1);
  RomFbank<Tabled<TypeParam>> constant;
  EXPECT_EQ(constant.init(memory).code(), Code::out_of_memory);
}

TEST(ConstantForm, IsNotForEveryRecipe) {
  EXPECT_TRUE(has_rom_form(Kaldi40::kOptions));
  FbankOptions options = Kaldi40::kOptions;
  options.log_max = LogMax::global;
  EXPECT_FALSE(has_rom_form(options));
  EXPECT_TRUE(is_constant_fft(512));
  EXPECT_TRUE(is_constant_fft(400));
  EXPECT_FALSE(is_constant_fft(401));
  EXPECT_FALSE(is_constant_fft(2 * 37));
}

}  // namespace
}  // namespace runnel::features
