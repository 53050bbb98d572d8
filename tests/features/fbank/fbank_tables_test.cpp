// Tables computed at compile time, at run time, and written out.
#include "features/fbank/fbank_tables.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/host/heap_memory.h"
#include "features/fbank/fbank.h"
#include "features/fbank/fbank_presets.h"
#include "tests/features/streaming.h"

namespace runnel::features {
namespace {

struct Kaldi40 {
  static constexpr FbankOptions kOptions =
      changed(constant_preset("kaldi"), [](FbankOptions& o) { o.num_mel_bins = 40; });
};
struct KaldiMfcc {
  static constexpr FbankOptions kOptions =
      changed(constant_preset("kaldi-mfcc"), [](FbankOptions& o) { o.energy_floor = 1; });
};
struct Whisper {  // FFT of 400 points, slaney scale and norm
  static constexpr FbankOptions kOptions =
      changed(constant_preset("whisper"), [](FbankOptions& o) { o.log_max = LogMax::running; });
};
struct EdgeImpulse {  // triangles on bins, power divided by the FFT size
  static constexpr FbankOptions kOptions = constant_preset("edge-impulse-mfcc");
};
struct OddStft {
  static constexpr FbankOptions kOptions = changed(constant_preset("kaldi"), [](FbankOptions& o) {
    o.kind = FeatureKind::stft;
    o.window_type = WindowType::blackman;
    o.win_length = 231;
    o.n_fft = 253;  // 11 * 23
  });
};

std::vector<float> noise(std::size_t count) {
  std::mt19937 random(1);
  std::vector<float> x(count);
  for (float& value : x) value = static_cast<float>(static_cast<std::int32_t>(random())) / 2147483648.0F;
  return x;
}

// With a memory of exactly `bytes`.
std::vector<float> frames_of(const FbankTables& tables, Isa isa, std::size_t bytes,
                             const std::vector<float>& samples) {
  HeapMemory memory(bytes);
  Result<Fbank> fbank = Fbank::make(tables, isa, memory);
  EXPECT_TRUE(fbank.ok()) << fbank.status().text();
  if (!fbank.ok()) return {};
  EXPECT_EQ(memory.used(), bytes);
  return test::run_in_pieces(*fbank, samples, [](std::size_t) { return std::size_t{777}; });
}

template <class Recipe>
class FbankTablesOf : public testing::Test {};
using Recipes = testing::Types<Kaldi40, KaldiMfcc, Whisper, EdgeImpulse, OddStft>;
TYPED_TEST_SUITE(FbankTablesOf, Recipes);

TYPED_TEST(FbankTablesOf, TheCompilerMakesTheBytesOfTheMachine) {
  constexpr FbankOptions kOptions = TypeParam::kOptions;
  constexpr FbankTables kConstant = RomFbankTables<TypeParam>::view();
  constexpr FbankTableSizes kSizes = fbank_table_sizes(kOptions);
  HeapMemory memory;
  const Result<Fbank> made = Fbank::make(kOptions, Isa::reference, memory);
  ASSERT_TRUE(made.ok()) << made.status().text();
  const FbankTables& here = made->tables();
  ASSERT_EQ(here.lanes, 1);
  EXPECT_EQ(std::memcmp(here.floats, kConstant.floats, kSizes.floats * sizeof(float)), 0);
  if (kSizes.integers > 0) {
    EXPECT_EQ(std::memcmp(here.integers, kConstant.integers, kSizes.integers * sizeof(std::int32_t)), 0);
  }
  EXPECT_EQ(here.log_energy_floor, kConstant.log_energy_floor);
  EXPECT_EQ(here.shape.dims, kConstant.shape.dims);
  // The exact size is known at compile time.
  constexpr std::size_t kBytes = Fbank::memory_bytes_of(kOptions);
  EXPECT_EQ(memory.used(), kBytes);
  EXPECT_LT(Fbank::state_bytes_of(kOptions), kBytes);
}

TYPED_TEST(FbankTablesOf, ConstantTablesGiveTheSameFramesOnEveryInstructionSet) {
  constexpr std::size_t kBytes = Fbank::state_bytes_of(TypeParam::kOptions);
  const std::vector<float> samples = noise(9001);
  const std::vector<float> expected = test::run_whole(TypeParam::kOptions, best_isa(), samples);
  ASSERT_FALSE(expected.empty());
  for (const Isa isa : test::isas()) {
    const std::vector<float> got = frames_of(RomFbankTables<TypeParam>::view(), isa, kBytes, samples);
    ASSERT_EQ(got.size(), expected.size());
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0) << name_of(isa);
  }
}

// 2 * 37 points use Bluestein's chirp, whose filter needs a transform at run time.
TEST(FbankTables, ThoseOfAnySizeCanBeWrittenDown) {
  FbankOptions options = Kaldi40::kOptions;
  options.win_length = 74;
  options.round_to_power_of_two = false;
  options.num_mel_bins = 7;
  EXPECT_FALSE(real_fft_tables_are_constant(74));
  HeapMemory memory;
  const Result<Fbank> made = Fbank::make(options, Isa::reference, memory);
  ASSERT_TRUE(made.ok()) << made.status().text();
  const FbankTableSizes sizes = fbank_table_sizes(options);
  const std::vector<float> floats(made->tables().floats, made->tables().floats + sizes.floats);
  const std::vector<std::int32_t> integers(made->tables().integers, made->tables().integers + sizes.integers);
  const std::vector<float> samples = noise(2000);
  EXPECT_EQ(frames_of(fbank_tables(options, floats.data(), integers.data()), best_isa(),
                      Fbank::state_bytes_of(options), samples),
            test::run_whole(options, best_isa(), samples));
}

TEST(FbankTables, ForAnotherNumberOfLanesAreRefused) {
  FbankTables tables = RomFbankTables<Kaldi40>::view();
  tables.lanes = 3;
  HeapMemory memory;
  const Result<Fbank> fbank = Fbank::make(tables, Isa::reference, memory);
  ASSERT_FALSE(fbank.ok());
  EXPECT_EQ(fbank.status().text(), "tables of a front end for 3 filters side by side: expected 1");
}

TEST(FbankTables, MemoryIsTooSmallByOneByte) {
  HeapMemory memory(Fbank::state_bytes_of(Kaldi40::kOptions) - 1);
  const Result<Fbank> fbank = Fbank::make_of<Kaldi40>(best_isa(), memory);
  ASSERT_FALSE(fbank.ok());
  EXPECT_EQ(fbank.status().code(), Code::out_of_memory);
}

}  // namespace
}  // namespace runnel::features
