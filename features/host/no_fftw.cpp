#include "features/host/fftw_fft.h"

namespace runnel::features {

class FftwFft final : public RealFft {
 public:
  void forward(const float*, float*, float*) noexcept override {}
  [[nodiscard]] std::size_t size() const noexcept override { return 0; }
};

void FftwFftDeleter::operator()(FftwFft* fft) const noexcept { delete fft; }

bool have_fftw() noexcept { return false; }

Result<FftwFftPointer> make_fftw_fft(std::size_t) {
  return Status(Code::unsupported,
                "fft=fftw: this build has no FFTW (RUNNEL_FFTW=OFF, or it was not found); expected fft=own");
}

RealFft* as_real_fft(const FftwFftPointer& fft) noexcept { return fft.get(); }

}  // namespace runnel::features
