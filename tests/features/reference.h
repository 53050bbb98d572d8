// Reference front end (all kinds but stft) in double precision, with a DFT by definition for sizes other than
// powers of two. It shares no code with the front end that it judges.
#pragma once

#include <complex>
#include <vector>

#include "features/fbank/fbank_options.h"

namespace runnel::test {

// exp(-2 pi i k n / N) sums; N any.
std::vector<std::complex<double>> dft(const std::vector<double>& x);

// [frames][dims]; samples in the range of options.scale.
std::vector<std::vector<double>> reference_features(const std::vector<float>& samples,
                                                    const features::FbankOptions& options);

}  // namespace runnel::test
