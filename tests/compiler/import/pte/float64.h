// ExecuTorch programs of float32 kernels, evaluated in double precision from their decoded form (.json) and
// the constants of the file itself. Shares nothing with the importer: another reader, another order of axes,
// another arithmetic.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace runnel::test {

struct Float64Tensor {
  std::vector<std::int64_t> sizes;
  std::vector<double> data;  // axes in order
};

// The first method's outputs for its inputs, each of the size that the program says. Throws where the program
// holds what this does not know.
std::vector<Float64Tensor> evaluate_float64(const std::filesystem::path& program,
                                            const std::filesystem::path& json,
                                            const std::vector<std::vector<float>>& inputs);

// Elements of each input.
std::vector<std::size_t> input_sizes(const std::filesystem::path& json);

}  // namespace runnel::test
