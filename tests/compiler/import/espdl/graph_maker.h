// Small integer graphs with power-of-two scales, made by hand for the tests of the .espdl writer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace runnel::test {

class GraphMaker {
 public:
  explicit GraphMaker(DType type = DType::int8, kernels::Rounding rounding = kernels::Rounding::half_up)
      : type_(type), rounding_(rounding) {}

  compiler::TensorId input(std::vector<std::int32_t> shape, int exponent);
  // A convolution over the last axis but one ([1, T, C]) or the two before the channels, with seeded
  // weights and biases. per_channel: one exponent per output. kernel: width; height of the same size for rank
  // 4. The output's exponent leaves a shift of 6 bits.
  compiler::TensorId conv(const std::string& name, compiler::TensorId x, int outputs, int kernel,
                          compiler::ConvOptions options, bool per_channel = false);
  compiler::TensorId fully_connected(const std::string& name, compiler::TensorId x, int outputs,
                                     bool per_channel = false);
  // Seeded numbers of the graph's type.
  compiler::TensorId constant(const std::string& name, std::vector<std::int32_t> shape, int exponent);
  compiler::TensorId matmul(const std::string& name, compiler::TensorId left, compiler::TensorId right);
  compiler::TensorId add(const std::string& name, compiler::TensorId a,
                         compiler::TensorId b);  // rescales b to a's exponent
  compiler::TensorId lut(const std::string& name, compiler::TensorId x, bool linear = false);
  // Leaves out `frames` frames at the start of `axis`.
  compiler::TensorId slice(const std::string& name, compiler::TensorId x, int axis, int frames);
  // An operator of any kind with one output of x's type, shape and exponent.
  compiler::TensorId node(const std::string& name, OpCode code, std::vector<compiler::TensorId> inputs,
                          compiler::Options options = {}, Arithmetic arithmetic = Arithmetic::espdl);

  compiler::Tensor& at(compiler::TensorId id) { return graph_.tensors[static_cast<std::size_t>(id)]; }
  std::vector<compiler::Node>& nodes() { return graph_.nodes; }
  compiler::Graph graph(std::vector<compiler::TensorId> outputs);

 private:
  compiler::TensorId tensor(const std::string& name, std::vector<std::int32_t> shape, DType type,
                            std::vector<std::int8_t> exponents);
  compiler::TensorId emit(const std::string& name, OpCode code, std::vector<compiler::TensorId> inputs,
                          compiler::TensorId output, compiler::Options options,
                          Arithmetic arithmetic = Arithmetic::espdl);
  // Constants: weights of the graph's type with N outputs, and biases that fit them.
  compiler::TensorId weights(const std::string& name, std::vector<std::int32_t> shape, bool per_channel);
  compiler::TensorId bias(const std::string& name, compiler::TensorId x, compiler::TensorId weights);
  std::int64_t next(std::int64_t range);

  DType type_;
  kernels::Rounding rounding_;
  compiler::Graph graph_;
  std::uint64_t random_ = 88172645463325252ull;
};

}  // namespace runnel::test
