#include "compiler/ir/graph.h"

namespace runnel::compiler {

Tensor without_data(const Tensor& tensor) {
  Tensor out;
  out.name = tensor.name;
  out.shape = tensor.shape;
  out.dtype = tensor.dtype;
  out.exponents = tensor.exponents;
  out.scales = tensor.scales;
  out.zero_points = tensor.zero_points;
  out.channel_axis = tensor.channel_axis;
  out.non_negative = tensor.non_negative;
  return out;
}

std::size_t element_count(const std::vector<std::int32_t>& shape) noexcept {
  std::size_t count = 1;
  for (const std::int32_t size : shape) count *= static_cast<std::size_t>(size);
  return count;
}

Options::Options() noexcept = default;
Options::Options(const Options& other) = default;
Options::Options(Options&& other) noexcept = default;
Options& Options::operator=(const Options& other) = default;
Options& Options::operator=(Options&& other) noexcept = default;
Options::~Options() = default;

}  // namespace runnel::compiler
