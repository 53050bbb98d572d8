// STFT and its inverse: the definition in double precision, perfect reconstruction, partitions.
#include "features/stft.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "tests/features/reference.h"
#include "tests/features/streaming.h"

namespace runnel::features {
namespace {

std::vector<float> noise(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> x(count);
  for (float& value : x) value = static_cast<float>(static_cast<std::int32_t>(random())) / 2147483648.0F;
  return x;
}

std::vector<float> spectra(const StftOptions& options, const std::vector<float>& x, Isa isa = best_isa()) {
  const Result<FbankOptions> frames = frame_options(options, 16000);
  EXPECT_TRUE(frames.ok()) << frames.status().text();
  return test::run_whole(*frames, isa, x);
}

std::vector<float> back(const StftOptions& options, const std::vector<float>& frames, std::int64_t samples,
                        Isa isa = best_isa()) {
  HeapMemory memory(InverseStft::memory_bytes(options).value());
  Result<InverseStft> inverse = InverseStft::make(options, isa, memory);
  EXPECT_TRUE(inverse.ok()) << inverse.status().text();
  EXPECT_EQ(memory.used(), InverseStft::memory_bytes(options).value());
  std::vector<float> out, piece(inverse->max_samples());
  for (std::size_t at = 0; at < frames.size(); at += inverse->dims()) {
    const std::size_t count = inverse->push(frames.data() + at, piece);
    out.insert(out.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
  }
  while (const std::size_t count = inverse->flush(piece, samples))
    out.insert(out.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
  EXPECT_EQ(inverse->next_sample(), static_cast<std::int64_t>(out.size()));
  return out;
}

std::vector<StftOptions> all_options() {
  return {{},
          {.n_fft = 512,
           .hop_length = 128,
           .window_type = WindowType::rectangular,
           .center = false},  // as in DTLN
          {.n_fft = 400, .hop_length = 160},
          {.n_fft = 512, .win_length = 400, .hop_length = 100, .window_type = WindowType::hamming},
          {.n_fft = 480, .hop_length = 240, .window_type = WindowType::sine, .pad_mode = Padding::zero},
          {.n_fft = 33, .win_length = 32, .hop_length = 7, .pad_mode = Padding::mirror},
          {.n_fft = 512, .hop_length = 256, .window_type = WindowType::sqrt_hann},  // as in GTCRN
          {.n_fft = 37, .hop_length = 11, .window_type = WindowType::povey},
          {.n_fft = 64, .hop_length = 64, .window_type = WindowType::rectangular, .center = false}};
}

// Like torch.stft: pad by half the transform, window in its middle, DFT.
TEST(Stft, IsItsDefinition) {
  for (const StftOptions& o :
       {StftOptions{.n_fft = 64, .win_length = 50, .hop_length = 20},
        StftOptions{.n_fft = 63, .hop_length = 16},
        StftOptions{.n_fft = 64, .hop_length = 32, .window_type = WindowType::sqrt_hann}}) {
    const std::vector<float> x = noise(300, 1), got = spectra(o, x);
    const std::int64_t n = 300, size = o.n_fft, window = o.win_length > 0 ? o.win_length : size;
    const std::int64_t frames = 1 + (n - size % 2) / o.hop_length, bins = size / 2 + 1;
    ASSERT_EQ(got.size(), static_cast<std::size_t>(frames * 2 * bins));
    for (std::int64_t f = 0; f < frames; ++f) {
      std::vector<double> points(static_cast<std::size_t>(size));
      for (std::int64_t i = 0; i < window; ++i) {
        const std::int64_t place = (size - window) / 2 + i;
        std::int64_t at = f * o.hop_length - size / 2 + place;
        if (at < 0) at = -at;
        if (at >= n) at = 2 * n - 2 - at;
        const double hann = 0.5 - 0.5 * std::cos(2 * 3.14159265358979323846 * static_cast<double>(i) /
                                                 static_cast<double>(window));
        const double w = o.window_type == WindowType::sqrt_hann ? std::sqrt(hann) : hann;
        points[static_cast<std::size_t>(place)] = w * static_cast<double>(x[static_cast<std::size_t>(at)]);
      }
      const auto exact = test::dft(points);
      for (std::int64_t k = 0; k < bins; ++k) {
        ASSERT_NEAR(got[static_cast<std::size_t>(f * 2 * bins + k)],
                    exact[static_cast<std::size_t>(k)].real(), 1e-5)
            << f << " " << k;
        ASSERT_NEAR(got[static_cast<std::size_t>(f * 2 * bins + bins + k)],
                    exact[static_cast<std::size_t>(k)].imag(), 1e-5)
            << f << " " << k;
      }
    }
  }
}

TEST(InverseStft, ReconstructsTheRecording) {
  for (const StftOptions& o : all_options()) {
    for (const std::size_t n : {600, 1000, 1031}) {
      const std::vector<float> x = noise(n, 2), frames = spectra(o, x),
                               y = back(o, frames, static_cast<std::int64_t>(n));
      const bool whole_only = !o.center;
      ASSERT_TRUE(whole_only ? y.size() <= n && y.size() + static_cast<std::size_t>(o.hop_length) > n
                             : y.size() == n)
          << o.n_fft << " " << y.size();
      for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], x[i], 2e-6) << o.n_fft << " " << i;
    }
  }
}

TEST(InverseStft, EndsAtTheLastCentreWhenTheLengthIsNotKnown) {
  const StftOptions o{.n_fft = 400, .hop_length = 160};
  const std::vector<float> frames = spectra(o, noise(1000, 3));  // 1 + 1000 / 160 = 7 frames
  EXPECT_EQ(back(o, frames, -1).size(), 960u);
}

TEST(InverseStft, HasTheSameBitsOnEveryInstructionSetAndAfterReset) {
  const StftOptions o{.n_fft = 400, .hop_length = 160};
  const std::vector<float> x = noise(2000, 4);
  const std::vector<float> frames = spectra(o, x, Isa::reference),
                           expected = back(o, frames, 2000, Isa::reference);
  for (const Isa isa : test::isas()) {
    EXPECT_EQ(spectra(o, x, isa), frames) << name_of(isa);
    EXPECT_EQ(back(o, frames, 2000, isa), expected) << name_of(isa);
  }
  HeapMemory memory;
  Result<InverseStft> inverse = InverseStft::make(o, best_isa(), memory);
  std::vector<float> first(inverse->max_samples()), again(inverse->max_samples());
  inverse->push(frames.data(), first);
  const std::size_t count = inverse->push(frames.data() + inverse->dims(), first);
  inverse->reset();
  inverse->push(frames.data(), again);
  EXPECT_EQ(inverse->push(frames.data() + inverse->dims(), again), count);
  EXPECT_EQ(again, first);
}

// A chain of linear parts is linear: half of the mask gives half of the signal, to the bit.
TEST(InverseStft, MaskScalesTheSignal) {
  const StftOptions o;
  const std::vector<float> x = noise(4000, 5);
  std::vector<float> frames = spectra(o, x);
  const std::vector<float> plain = back(o, frames, 4000), mask(257, 0.5F);
  for (std::size_t at = 0; at < frames.size(); at += 514) apply_mask(mask, {frames.data() + at, 514});
  const std::vector<float> half = back(o, frames, 4000);
  for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(half[i], plain[i] * 0.5F) << i;
}

TEST(InverseStft, RefusesHopsThatLeaveHoles) {
  const auto text = [](StftOptions o) { return std::string(frame_options(o, 16000).status().text()); };
  EXPECT_EQ(text({.n_fft = 400, .hop_length = 401}),
            "hop_length 401: windows of 400 samples do not cover every sample; expected a smaller hop");
  EXPECT_EQ(text({.n_fft = 400, .hop_length = 400}),
            "hop_length 400: windows of 400 samples do not cover every sample; expected a smaller hop");
  EXPECT_EQ(text({.n_fft = 1}), "n_fft 1: expected 2 to 1048576");
  EXPECT_EQ(text({.n_fft = 256, .win_length = 300}),
            "n_fft 256: expected at least the frame length, 300 samples, or long_frames=cut");
}

}  // namespace
}  // namespace runnel::features
