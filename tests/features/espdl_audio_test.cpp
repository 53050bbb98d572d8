// ESP-DL's own reference features of its test recording: filter banks, MFCC and spectrograms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "features/fbank/fbank_parameters.h"
#include "tests/features/streaming.h"
#include "tests/support/data.h"
#include "tests/support/wav.h"

namespace runnel::features {
namespace {

// A record of these files, as they lie in it.
struct Record {
  float shift = 0, length = 0, low = 0, high = 0, preemphasis = 0;
  std::uint32_t bins = 0, ceps = 0, power = 0, log = 0, remove_dc = 0;
  char window[16] = {};
  std::uint32_t frames = 0, dims = 0;
};

// Compares every record of a file with a preset and its settings.
void compare(const std::string& file, const char* preset_name, const char* kind, double tolerance) {
  const auto folder = test::data_folder() / "features/espdl_audio";
  const std::vector<float> samples = test::read_wav(folder / "test.wav").floats();
  const std::vector<std::byte> bytes = test::read_file(folder / file);
  std::size_t at = 8;
  int records = 0;
  for (; at + sizeof(Record) <= bytes.size(); ++records) {
    SCOPED_TRACE(file + " record " + std::to_string(records));
    Record record;
    std::memcpy(&record, bytes.data() + at, sizeof record);
    at += sizeof record;
    std::vector<float> expected(std::size_t{record.frames} * record.dims);
    ASSERT_LE(at + expected.size() * sizeof(float), bytes.size());
    std::memcpy(expected.data(), bytes.data() + at, expected.size() * sizeof(float));
    at += expected.size() * sizeof(float);

    FbankOptions options = *preset(preset_name);
    if (kind != nullptr) {
      ASSERT_TRUE(set(options, "kind", kind).ok());
    }
    ASSERT_TRUE(set(options, "window_type", std::string(record.window)).ok());
    options.frame_shift = record.shift;
    options.frame_length = record.length;
    options.low_freq = record.low;
    options.high_freq = record.high;
    options.preemphasis_coefficient = record.preemphasis;
    options.num_mel_bins = static_cast<std::int32_t>(record.bins);
    options.num_ceps = static_cast<std::int32_t>(record.ceps);
    options.use_power = record.power != 0;
    options.use_log_fbank = record.log != 0;
    options.remove_dc_offset = record.remove_dc != 0;
    options.empty_filters = EmptyFilters::floor;
    const auto shape = shape_of(options);
    ASSERT_TRUE(shape.ok()) << shape.status().text();
    ASSERT_EQ(shape->dims, record.dims);
    const std::vector<float> got = test::run_whole(options, best_isa(), samples);
    ASSERT_EQ(got.size(), expected.size());
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double wanted = static_cast<double>(expected[i]);
      worst =
          std::max(worst, std::abs(static_cast<double>(got[i]) - wanted) / std::max(1.0, std::abs(wanted)));
    }
    EXPECT_LT(worst, tolerance);
  }
  EXPECT_EQ(at, bytes.size());
  EXPECT_EQ(records, 6);
}

TEST(EspdlAudio, FilterBanksAreThoseOfEspdl) {
  RUNNEL_NEEDS_DATA();
  compare("test_fbank.bin", "espdl", nullptr, 5e-4);
}

TEST(EspdlAudio, MfccAreThoseOfEspdl) {
  RUNNEL_NEEDS_DATA();
  compare("test_mfcc.bin", "espdl", "mfcc", 5e-4);
}

// The first bin is the energy of the frame: without it, it is wrong by more than ten.
TEST(EspdlAudio, SpectrogramsAreThoseOfEspdlInEveryBin) {
  RUNNEL_NEEDS_DATA();
  compare("test_spectrogram.bin", "espdl-spectrogram", nullptr, 5e-4);
}

}  // namespace
}  // namespace runnel::features
