#include "features/host/fftw_fft.h"

#include <fftw3.h>

#include <algorithm>
#include <mutex>

namespace runnel::features {
namespace {

// FFTW's planner has global state.
std::mutex planner;

struct FftwFree {
  void operator()(void* memory) const noexcept { fftwf_free(memory); }
};
template <class T>
using FftwArray = std::unique_ptr<T[], FftwFree>;

template <class T>
FftwArray<T> fftw_array(std::size_t count) {
  return FftwArray<T>(static_cast<T*>(fftwf_malloc(sizeof(T) * count)));
}

}  // namespace

class FftwFft final : public RealFft {
 public:
  FftwFft(std::size_t n, FftwArray<float> in, FftwArray<float> out)
      : size_(n), in_(std::move(in)), out_(std::move(out)) {
    const std::lock_guard lock(planner);
    plan_ = fftwf_plan_dft_r2c_1d(static_cast<int>(n), in_.get(),
                                  reinterpret_cast<fftwf_complex*>(out_.get()), FFTW_ESTIMATE);
    back_ = fftwf_plan_dft_c2r_1d(static_cast<int>(n), reinterpret_cast<fftwf_complex*>(out_.get()),
                                  in_.get(), FFTW_ESTIMATE);
  }
  ~FftwFft() {
    const std::lock_guard lock(planner);
    if (plan_ != nullptr) fftwf_destroy_plan(plan_);
    if (back_ != nullptr) fftwf_destroy_plan(back_);
  }
  FftwFft(const FftwFft&) = delete;
  FftwFft& operator=(const FftwFft&) = delete;

  void forward(const float* in, float* re, float* im) noexcept override {
    std::copy_n(in, size_, in_.get());  // the plan counts on FFTW's alignment
    fftwf_execute(plan_);
    for (std::size_t k = 0; k <= size_ / 2; ++k) {
      re[k] = out_[2 * k];
      im[k] = out_[2 * k + 1];
    }
  }
  void inverse(const float* re, const float* im, float* out) noexcept override {
    for (std::size_t k = 0; k <= size_ / 2; ++k) {
      out_[2 * k] = re[k];
      out_[2 * k + 1] = k == 0 || 2 * k == size_ ? 0.0F : im[k];
    }
    fftwf_execute(back_);
    const float factor = 1.0F / static_cast<float>(size_);
    for (std::size_t i = 0; i < size_; ++i) out[i] = in_[i] * factor;
  }
  [[nodiscard]] std::size_t size() const noexcept override { return size_; }
  [[nodiscard]] bool planned() const noexcept { return plan_ != nullptr && back_ != nullptr; }

 private:
  std::size_t size_;
  FftwArray<float> in_, out_;
  fftwf_plan plan_ = nullptr, back_ = nullptr;
};

void FftwFftDeleter::operator()(FftwFft* fft) const noexcept { delete fft; }

bool have_fftw() noexcept { return true; }

Result<FftwFftPointer> make_fftw_fft(std::size_t n) {
  if (n < 1 || n > kMaxFftSize)
    return Status(Code::invalid_argument) << "FFT size " << n << ": expected 1 to " << kMaxFftSize;
  FftwArray<float> in = fftw_array<float>(n), out = fftw_array<float>(n + 2);
  if (in == nullptr || out == nullptr) return Status(Code::out_of_memory) << "FFTW of size " << n;
  FftwFftPointer fft(new FftwFft(n, std::move(in), std::move(out)));
  if (!fft->planned()) return Status(Code::unsupported) << "FFTW has no plan for size " << n;
  return fft;
}

RealFft* as_real_fft(const FftwFftPointer& fft) noexcept { return fft.get(); }

}  // namespace runnel::features
