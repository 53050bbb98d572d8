#include "compiler/write/tflite/draft.h"

#include <cmath>
#include <cstring>

namespace runnel::compiler::tflite_source {

std::int32_t Draft::add(Tensor tensor) {
  if (tensor.scales.empty()) {
    for (const std::int8_t exponent : tensor.exponents) tensor.scales.push_back(std::ldexp(1.0f, exponent));
  }
  if (tensor.dtype == DType::float32) tensor.scales.clear();
  if (tensor.scales.empty()) tensor.zero_points.clear();
  tensor.zero_points.resize(tensor.scales.size(), tensor.zero_points.empty() ? 0 : tensor.zero_points[0]);
  tensors.push_back({std::move(tensor)});
  return static_cast<std::int32_t>(tensors.size()) - 1;
}

std::int32_t Draft::tensor(const Graph& graph, TensorId id) {
  const auto found = known.find(id);
  if (found != known.end()) return found->second;
  return known[id] = add(graph.tensors[static_cast<std::size_t>(id)]);
}

std::int32_t Draft::integers(const std::string& name, const std::vector<std::int32_t>& numbers) {
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = DType::int32;
  tensor.shape = {static_cast<std::int32_t>(numbers.size())};
  tensor.data.emplace(numbers.size() * sizeof(std::int32_t));
  if (!numbers.empty()) std::memcpy(tensor.data->data(), numbers.data(), tensor.data->size());
  return add(std::move(tensor));
}

}  // namespace runnel::compiler::tflite_source
