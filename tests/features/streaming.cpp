#include "tests/features/streaming.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/host/heap_memory.h"

namespace runnel::test {
using features::Fbank;

std::vector<Isa> isas() {
  std::vector<Isa> all;
  for (int i = 0; i <= static_cast<int>(best_isa()); ++i) {
    if (runs_here(static_cast<Isa>(i))) all.push_back(static_cast<Isa>(i));
  }
  return all;
}

std::vector<float> run_in_pieces(Fbank& fbank, std::span<const float> samples,
                                 const std::function<std::size_t(std::size_t)>& piece) {
  std::vector<float> all;
  std::size_t number = 0;
  while (!samples.empty()) {
    const std::size_t size = std::min(piece(number++), samples.size());
    std::vector<float> frames(fbank.max_frames(size) * fbank.dims());
    const Fbank::Step step = fbank.push(samples.first(size), frames);
    EXPECT_EQ(step.samples, size) << "max_frames is too small";
    all.insert(all.end(), frames.begin(),
               frames.begin() + static_cast<std::ptrdiff_t>(step.frames * fbank.dims()));
    samples = samples.subspan(size);
  }
  std::vector<float> frames(fbank.max_flush_frames() * fbank.dims());
  const std::size_t last = fbank.flush(frames);
  all.insert(all.end(), frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(last * fbank.dims()));
  std::vector<float> more(fbank.dims());
  EXPECT_EQ(fbank.flush(more), 0u) << "max_flush_frames is too small";
  return all;
}

std::vector<float> run_whole(const features::FbankOptions& options, Isa isa, std::span<const float> samples,
                             features::RealFft* fft) {
  const Result<std::size_t> bytes = Fbank::memory_bytes(options, isa);
  EXPECT_TRUE(bytes.ok()) << bytes.status().text();
  if (!bytes.ok()) return {};
  HeapMemory memory(bytes.value());
  Result<Fbank> fbank = Fbank::make(options, isa, memory, fft);
  EXPECT_TRUE(fbank.ok()) << fbank.status().text();
  if (!fbank.ok()) return {};
  EXPECT_EQ(memory.used(), bytes.value());
  return run_in_pieces(fbank.value(), samples, [&](std::size_t) { return samples.size(); });
}

}  // namespace runnel::test
