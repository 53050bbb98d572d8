// FFTW (single precision) as a RealFft: fft=fftw. FFTW is GPL, and so is a program that links this;
// hence RUNNEL_FFTW=OFF. Its results differ from runnel's own transform in the last bits and may
// differ between machines.
#pragma once

#include <cstddef>
#include <memory>

#include "base/status.h"
#include "features/fft/fft.h"

namespace runnel::features {

// Whether this build contains FFTW.
bool have_fftw() noexcept;

// Any n from 1 to kMaxFftSize. Planning is deterministic (FFTW_ESTIMATE) and may be done from
// any thread. Errors: unsupported in a build without FFTW; invalid_argument; out_of_memory.
class FftwFft;
struct FftwFftDeleter {
  void operator()(FftwFft* fft) const noexcept;
};
using FftwFftPointer = std::unique_ptr<FftwFft, FftwFftDeleter>;
Result<FftwFftPointer> make_fftw_fft(std::size_t n);
// The transform inside, for Fbank::make().
RealFft* as_real_fft(const FftwFftPointer& fft) noexcept;

}  // namespace runnel::features
