// The difference between a model and its form with power-of-two scales.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "compiler/passes/powers_of_two.h"
#include "compiler/run_whole.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler {
namespace {

// Integers as the numbers that they mean.
std::vector<double> values_of(const Tensor& tensor, const std::vector<std::byte>& bytes) {
  const std::size_t size = size_of(tensor.dtype);
  std::vector<double> values(bytes.size() / size);
  const double scale = !tensor.scales.empty()     ? static_cast<double>(tensor.scales[0])
                       : tensor.exponents.empty() ? 1.0
                                                  : std::ldexp(1.0, tensor.exponents[0]);
  const std::int32_t zero = tensor.zero_points.empty() ? 0 : tensor.zero_points[0];
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (tensor.dtype == DType::float32) {
      float value = 0;
      std::memcpy(&value, bytes.data() + i * size, size);
      values[i] = static_cast<double>(value);
    } else if (size <= 4 && tensor.dtype != DType::boolean && tensor.dtype != DType::uint16) {
      values[i] =
          static_cast<double>(std::int64_t{kernels::load(tensor.dtype, bytes.data(), i)} - zero) * scale;
    }
  }
  return values;
}

std::vector<std::byte> bytes_of(const Tensor& tensor, const std::vector<double>& values) {
  const std::size_t size = size_of(tensor.dtype);
  std::vector<std::byte> bytes(values.size() * size);
  const double scale = !tensor.scales.empty()     ? static_cast<double>(tensor.scales[0])
                       : tensor.exponents.empty() ? 1.0
                                                  : std::ldexp(1.0, tensor.exponents[0]);
  const std::int32_t zero = tensor.zero_points.empty() ? 0 : tensor.zero_points[0];
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (tensor.dtype == DType::float32) {
      const auto value = static_cast<float>(values[i]);
      std::memcpy(bytes.data() + i * size, &value, size);
    } else if (size <= 4 && tensor.dtype != DType::boolean && tensor.dtype != DType::uint16) {
      kernels::store(tensor.dtype, bytes.data(), i, std::llround(values[i] / scale) + zero);
    }
  }
  return bytes;
}

// What an input can hold.
void range_of(const Graph& graph, TensorId id, double& low, double& high) {
  const auto held = [&](const Tensor& tensor) {
    if (tensor.scales.empty() || tensor.zero_points.empty()) return false;
    low = (static_cast<double>(kernels::lowest(tensor.dtype)) - tensor.zero_points[0]) *
          static_cast<double>(tensor.scales[0]);
    high = (static_cast<double>(kernels::highest(tensor.dtype)) - tensor.zero_points[0]) *
           static_cast<double>(tensor.scales[0]);
    return true;
  };
  low = -1;
  high = 1;
  if (held(graph.tensors[static_cast<std::size_t>(id)])) return;
  for (const Node& node : graph.nodes) {
    if (node.code == OpCode::quantize && node.inputs[0] == id &&
        held(graph.tensors[static_cast<std::size_t>(node.outputs[0])]))
      return;
  }
}

std::vector<Buffers> inputs_of(const Graph& graph, int calls, std::uint32_t seed) {
  std::vector<Buffers> all;
  for (const VectorCase& recorded : graph.vectors) {
    Buffers inputs;
    for (const TensorId id : graph.inputs) {
      const auto found = std::find_if(recorded.inputs.begin(), recorded.inputs.end(),
                                      [id](const VectorTensor& entry) { return entry.tensor == id; });
      if (found != recorded.inputs.end()) inputs.push_back(found->data);
    }
    if (inputs.size() == graph.inputs.size()) all.push_back(std::move(inputs));
  }
  std::mt19937 random(seed);
  const auto next = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random()) / 4294967296.0;
  };  // the same everywhere
  for (int call = 0; call < calls && graph.vectors.empty(); ++call) {
    Buffers inputs;
    for (const TensorId id : graph.inputs) {
      const Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
      const std::size_t count = element_count(tensor.shape);
      double low = 0, high = 0;
      range_of(graph, id, low, high);
      std::vector<double> values(count);
      for (double& value : values) value = next(low, high);
      inputs.push_back(bytes_of(tensor, values));
    }
    all.push_back(std::move(inputs));
  }
  return all;
}

}  // namespace

Result<std::vector<Difference>> compare(const Graph& graph, const Graph& folded, int calls,
                                        std::uint32_t seed) {
  const std::vector<Buffers> inputs = inputs_of(graph, calls, seed);
  std::vector<Buffers> same = inputs;
  for (Buffers& call : same) {
    for (std::size_t i = 0; i < call.size(); ++i) {
      const Tensor &from = graph.tensors[static_cast<std::size_t>(graph.inputs[i])],
                   &to = folded.tensors[static_cast<std::size_t>(folded.inputs[i])];
      if (!from.scales.empty() && !to.exponents.empty()) call[i] = bytes_of(to, values_of(from, call[i]));
    }
  }
  RUNNEL_ASSIGN(const std::vector<Buffers> expected, run_whole(graph, inputs));
  RUNNEL_ASSIGN(const std::vector<Buffers> found, run_whole(folded, same));
  std::vector<Difference> out(graph.outputs.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    Difference& difference = out[i];
    for (std::size_t call = 0; call < expected.size(); ++call) {
      const auto a = values_of(graph.tensors[static_cast<std::size_t>(graph.outputs[i])], expected[call][i]);
      const auto b = values_of(folded.tensors[static_cast<std::size_t>(folded.outputs[i])], found[call][i]);
      for (std::size_t k = 0; k < a.size() && k < b.size(); ++k) {
        difference.largest = std::max(difference.largest, std::abs(a[k] - b[k]));
        difference.rms += (a[k] - b[k]) * (a[k] - b[k]);
        difference.signal_rms += a[k] * a[k];
        ++difference.values;
      }
    }
    const double count = static_cast<double>(std::max<std::int64_t>(difference.values, 1));
    difference.rms = std::sqrt(difference.rms / count);
    difference.signal_rms = std::sqrt(difference.signal_rms / count);
  }
  return out;
}

}  // namespace runnel::compiler
