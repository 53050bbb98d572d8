#include "features/fbank/fbank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "features/fbank/fbank_parameters.h"
#include "features/host/fftw_fft.h"
#include "tests/features/reference.h"
#include "tests/features/streaming.h"

namespace runnel::features {
namespace {

std::vector<float> speech_like(std::size_t count) {
  std::mt19937 random(11);
  std::vector<float> x(count);
  double phase = 0;
  for (std::size_t i = 0; i < count; ++i) {
    phase += 0.02 + 0.015 * std::sin(static_cast<double>(i) * 0.0007);
    const double noise = static_cast<double>(static_cast<std::int32_t>(random())) / 2147483648.0;
    x[i] = static_cast<float>(0.3 * std::sin(phase) + 0.2 * std::sin(5 * phase) + 0.01 * noise + 0.05);
  }
  return x;
}

// Settings for every path: both edges, both kinds, no power of two, a shift longer than the
// frame, energy, dither.
std::vector<FbankOptions> varied_options() {
  std::vector<FbankOptions> all(10);
  all[1].snip_edges = false;
  all[2] = preset("kaldi80").value();
  all[3] = preset("zipformer").value();
  all[4] = preset("kaldi-mfcc").value();
  all[4].snip_edges = false;
  all[5].round_to_power_of_two = false;
  all[5].use_energy = true;
  all[6].frame_length = 10;
  all[6].frame_shift = 25;
  all[6].snip_edges = false;
  all[6].num_mel_bins = 12;
  all[7].dither = 0.001F;
  all[7].seed = 5;
  all[8].use_power = false;
  all[8].use_log_fbank = false;
  all[8].preemphasis_coefficient = 0;
  all[8].scale = SampleScale::int16;
  all[9].frame_length = 25.1F;  // 401 samples: an odd length mirrors one sample further
  all[9].frame_shift = 10;
  all[9].snip_edges = false;
  all[9].raw_energy = false;
  all[9].use_energy = true;
  all[9].kind = FeatureKind::mfcc;
  all[9].htk_compat = true;
  return all;
}

// Front ends that share tables and frame memory, fed alternately.
TEST(Fbank, ThoseLikeAnotherGiveWhatEachGivesAlone) {
  std::vector<FbankOptions> all = varied_options();
  all.push_back(preset("whisper").value());
  all.back().log_max = LogMax::global;
  for (const FbankOptions& options : all) {
    HeapMemory memory;
    Result<Fbank> first = Fbank::make(options, best_isa(), memory);
    ASSERT_TRUE(first.ok()) << first.status().text();
    const std::vector<float> x = speech_like(6000);
    std::vector<float> alone[2], together[2];
    std::optional<Fbank> others[2];
    const std::span<const float> sounds[2] = {x, std::span(x).subspan(1500)};
    for (int i = 0; i < 2; ++i) {
      alone[i] = test::run_whole(options, best_isa(), sounds[i]);
      ASSERT_TRUE(Fbank::make_like(others[i], *first, memory).ok());
    }
    const auto keep = [](std::vector<float>& to, const std::vector<float>& frames, std::size_t values) {
      to.insert(to.end(), frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(values));
    };
    for (std::size_t at = 0; at < x.size(); at += 400) {
      for (int i = 0; i < 2; ++i) {
        if (at >= sounds[i].size()) continue;
        const auto piece = sounds[i].subspan(at, std::min<std::size_t>(400, sounds[i].size() - at));
        std::vector<float> frames((others[i]->max_frames(piece.size()) + 1) * others[i]->dims());
        const Fbank::Step step = others[i]->push(piece, frames);
        ASSERT_EQ(step.samples, piece.size());
        keep(together[i], frames, step.frames * others[i]->dims());
      }
    }
    for (int i = 0; i < 2; ++i) {
      std::vector<float> frames((others[i]->max_flush_frames() + 1) * others[i]->dims());
      while (const std::size_t count = others[i]->flush(frames))
        keep(together[i], frames, count * others[i]->dims());
      EXPECT_EQ(together[i].size(), alone[i].size());
      EXPECT_TRUE(together[i] == alone[i]);
    }
  }
}

TEST(Fbank, GivesTheSameBitsForEveryPartitionAndInstructionSet) {
  int number = 0;
  for (const FbankOptions& options : varied_options()) {
    for (const std::size_t length : {0, 1, 79, 80, 81, 150, 399, 400, 401, 4001}) {
      const std::vector<float> x = speech_like(length);
      const std::vector<float> whole = test::run_whole(options, Isa::reference, x);
      const auto frames =
          static_cast<std::size_t>(shape_of(options)->grid.frames_of(static_cast<std::int64_t>(length)));
      ASSERT_EQ(whole.size(), frames * shape_of(options)->dims);
      for (const Isa isa : test::isas()) {
        HeapMemory memory;
        Result<Fbank> fbank = Fbank::make(options, isa, memory);
        ASSERT_TRUE(fbank.ok()) << fbank.status().text();
        std::mt19937 random(1);
        for (const std::size_t piece : {1, 7, 160, 333, 100000, 0}) {
          fbank->reset();  // from a dirty state
          const std::vector<float> got = test::run_in_pieces(
              fbank.value(), x, [&](std::size_t) { return piece > 0 ? piece : random() % 700; });
          ASSERT_EQ(got.size(), whole.size());
          if (whole.empty()) continue;
          EXPECT_EQ(std::memcmp(got.data(), whole.data(), got.size() * sizeof(float)), 0)
              << "options " << number << ", " << length << " samples by " << piece << ", " << name_of(isa);
        }
      }
    }
    ++number;
  }
}

TEST(Fbank, AgreesWithTheReferenceAtEveryLengthOfTheMirroredEdges) {
  FbankOptions options;
  options.snip_edges = false;
  options.use_log_fbank = false;
  for (const float length_ms : {25.0F, 25.1F, 6.0F}) {
    options.frame_length = length_ms;
    options.num_mel_bins = length_ms > 10 ? 23 : 8;
    for (std::size_t length = 1; length < 700; length += 13) {
      const std::vector<float> x = speech_like(length);
      const auto expected = test::reference_features(x, options);
      const std::vector<float> got = test::run_whole(options, best_isa(), x);
      const auto dims = static_cast<std::size_t>(options.num_mel_bins);
      ASSERT_EQ(got.size(), expected.size() * dims);
      for (std::size_t i = 0; i < got.size(); ++i) {
        const auto& frame = expected[i / dims];
        const double largest = *std::max_element(frame.begin(), frame.end());
        EXPECT_NEAR(got[i], frame[i % dims], 2e-6 * largest + 1e-9) << length << " samples, value " << i;
      }
    }
  }
}

TEST(Fbank, StopsWhenTheOutputIsFullAndContinues) {
  FbankOptions options;
  options.snip_edges = false;
  const std::vector<float> x = speech_like(5000), whole = test::run_whole(options, best_isa(), x);
  HeapMemory memory;
  Result<Fbank> fbank = Fbank::make(options, best_isa(), memory);
  ASSERT_TRUE(fbank.ok());
  std::vector<float> got, one(fbank->dims());
  std::span<const float> rest = x;
  for (;;) {
    const Fbank::Step step = fbank->push(rest, one);
    rest = rest.subspan(step.samples);
    if (step.frames > 0)
      got.insert(got.end(), one.begin(), one.end());
    else if (rest.empty())
      break;
    ASSERT_TRUE(step.samples > 0 || step.frames > 0) << "no progress";
  }
  EXPECT_EQ(fbank->push(rest, {}).frames, 0u);
  while (fbank->flush(one) > 0) got.insert(got.end(), one.begin(), one.end());
  EXPECT_EQ(got, whole);
  EXPECT_EQ(fbank->next_frame() * static_cast<std::int64_t>(fbank->dims()),
            static_cast<std::int64_t>(whole.size()));
  EXPECT_EQ(fbank->push(x, one).samples, 0u) << "after the flush";
}

TEST(Fbank, TakesSixteenBitSamplesAsTheFloatsTheyStandFor) {
  std::vector<std::int16_t> samples;
  std::vector<float> floats;
  for (int i = 0; i < 3000; ++i) {
    samples.push_back(static_cast<std::int16_t>((i * 7919) % 65536 - 32768));
    floats.push_back(static_cast<float>(samples.back()) / 32768.0F);
  }
  for (const SampleScale scale : {SampleScale::unit, SampleScale::int16}) {
    FbankOptions options;
    options.scale = scale;
    HeapMemory memory;
    Result<Fbank> fbank = Fbank::make(options, best_isa(), memory);
    ASSERT_TRUE(fbank.ok());
    std::vector<float> got(fbank->max_frames(3000) * fbank->dims());
    const Fbank::Step step = fbank->push(samples, got);
    got.resize(step.frames * fbank->dims());
    EXPECT_EQ(got, test::run_whole(options, best_isa(), floats));
  }
}

TEST(Fbank, ReadsSamplesThatAreNotFiniteAsZeroOrRefusesThem) {
  std::vector<float> x = speech_like(2000), zeroed = x;
  x[700] = std::numeric_limits<float>::infinity();
  x[1501] = std::numeric_limits<float>::quiet_NaN();
  zeroed[700] = zeroed[1501] = 0;
  FbankOptions options;
  for (const Isa isa : test::isas())
    EXPECT_EQ(test::run_whole(options, isa, x), test::run_whole(options, isa, zeroed));

  HeapMemory memory;
  Result<Fbank> counting = Fbank::make(options, best_isa(), memory);
  std::vector<float> frames(20 * counting->dims());
  counting->push(x, frames);
  EXPECT_EQ(counting->non_finite_samples(), 2);
  EXPECT_TRUE(counting->status().ok());

  options.non_finite = NonFinite::error;
  Result<Fbank> strict = Fbank::make(options, best_isa(), memory);
  ASSERT_TRUE(strict.ok());
  const Fbank::Step step = strict->push(x, frames);
  EXPECT_EQ(step.samples, 700u);
  EXPECT_EQ(step.frames, 2u) << "the frames before it";
  EXPECT_EQ(strict->status().code(), Code::invalid_data);
  EXPECT_EQ(strict->status().text(), "sample 700 is not a finite number (non_finite=error)");
  EXPECT_EQ(strict->push(x, frames).samples, 0u);
  strict->reset();
  EXPECT_TRUE(strict->status().ok());
}

TEST(Fbank, HugeFiniteSamplesGiveFiniteLogarithms) {
  const std::vector<float> x(1000, 3e38F);
  std::vector<float> y = speech_like(1000);
  for (float& value : y) value *= 1e30F;
  for (const Isa isa : test::isas()) {
    for (const float value : test::run_whole(FbankOptions{}, isa, x)) EXPECT_TRUE(std::isfinite(value));
    EXPECT_EQ(test::run_whole(FbankOptions{}, isa, y), test::run_whole(FbankOptions{}, Isa::reference, y));
  }
}

TEST(Fbank, DitherIsReproducibleAndFollowsItsSeed) {
  FbankOptions options;
  options.dither = 1e-3F;
  const std::vector<float> silence(4000, 0.0F);
  const std::vector<float> first = test::run_whole(options, best_isa(), silence);
  EXPECT_EQ(first, test::run_whole(options, best_isa(), silence));
  options.seed = 1;
  EXPECT_NE(first, test::run_whole(options, best_isa(), silence));
  // The energy of the noise: ln(W * dither^2) without pre-emphasis and window.
  options.use_energy = true;
  options.remove_dc_offset = false;
  double mean = 0;
  const std::vector<float> got = test::run_whole(options, best_isa(), silence);
  const std::size_t dims = 24, frames = got.size() / dims;
  for (std::size_t f = 0; f < frames; ++f) mean += got[f * dims] / static_cast<double>(frames);
  EXPECT_NEAR(mean, std::log(400 * 1e-6), 0.05);
}

TEST(Fbank, WithFftwIsTheSameWithinRounding) {
  if (!have_fftw()) GTEST_SKIP() << "SKIPPED: this build has no FFTW (RUNNEL_FFTW)";
  FbankOptions options = preset("kaldi80").value();
  const std::vector<float> x = speech_like(16000), own = test::run_whole(options, best_isa(), x);
  options.fft = FftChoice::fftw;
  Result<FftwFftPointer> fft = make_fftw_fft(512);
  ASSERT_TRUE(fft.ok());
  const std::vector<float> got = test::run_whole(options, best_isa(), x, as_real_fft(fft.value()));
  ASSERT_EQ(got.size(), own.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], own[i], 2e-3) << i;

  HeapMemory memory;
  EXPECT_EQ(Fbank::make(options, best_isa(), memory).status().code(), Code::unsupported);
  Result<FftwFftPointer> other = make_fftw_fft(256);
  EXPECT_EQ(Fbank::make(options, best_isa(), memory, as_real_fft(other.value())).status().code(),
            Code::mismatch);
}

TEST(Fbank, SaysWhenMemoryIsShort) {
  FbankOptions options = preset("kaldi-mfcc").value();
  const std::size_t bytes = Fbank::memory_bytes(options, best_isa()).value();
  for (std::size_t limit = 0; limit < bytes; limit += 64) {
    HeapMemory memory(limit);
    EXPECT_EQ(Fbank::make(options, best_isa(), memory).status().code(), Code::out_of_memory);
  }
  HeapMemory memory(bytes);
  EXPECT_TRUE(Fbank::make(options, best_isa(), memory).ok());
}

}  // namespace
}  // namespace runnel::features
