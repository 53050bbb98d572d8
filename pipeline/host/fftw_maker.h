// FFTW for nodes with fft=fftw. A build without FFTW returns `unsupported`.
#pragma once

#include <vector>

#include "features/host/fftw_fft.h"
#include "pipeline/node.h"

namespace runnel::pipeline {

// Not thread-safe.
class FftwMaker final : public FftMaker {
 public:
  Result<features::RealFft*> make(std::size_t n) noexcept override {
    RUNNEL_ASSIGN(features::FftwFftPointer fft, features::make_fftw_fft(n));
    ffts_.push_back(std::move(fft));
    return features::as_real_fft(ffts_.back());
  }

 private:
  std::vector<features::FftwFftPointer> ffts_;
};

}  // namespace runnel::pipeline
