// FFTW has one planner for the whole program: front ends are made and destroyed in one thread while others
// compute. Under ThreadSanitizer this is what looks at them.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "base/host/joined_thread.h"
#include "features/host/fftw_fft.h"

namespace runnel::features {
namespace {

std::vector<float> spectrum(std::size_t n, std::size_t shift) {
  std::vector<float> in(n), re(n / 2 + 1), im(n / 2 + 1);
  for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<float>((i * 7 + shift) % 11);
  auto fft = make_fftw_fft(n);
  EXPECT_TRUE(fft.ok()) << fft.status().text();
  if (!fft.ok()) return {};
  as_real_fft(*fft)->forward(in.data(), re.data(), im.data());
  re.insert(re.end(), im.begin(), im.end());
  return re;
}

TEST(FftwThreads, MakeAndDestroyWhileOthersCompute) {
  if (!have_fftw()) GTEST_SKIP() << "SKIPPED: this build has no FFTW (RUNNEL_FFTW)";
  constexpr std::size_t kThreads = 4, kRounds = 20;
  const std::vector<std::size_t> sizes = {400, 512, 275, 1024};
  std::vector<std::vector<float>> expected, found(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) expected.push_back(spectrum(sizes[i], i));
  {
    std::vector<JoinedThread> threads;
    for (std::size_t i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        for (std::size_t round = 0; round < kRounds; ++round) found[i] = spectrum(sizes[i], i);
      });
  }
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace runnel::features
