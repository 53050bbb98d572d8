// What the operators' definitions share: reading options, checking operands, allocating bound operators.
#pragma once

#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/status.h"
#include "inference/operator.h"
#include "kernels/arithmetic/requantize.h"
#include "kernels/movement.h"

namespace runnel::ops {

inline std::int32_t input_index(const fb::Operator& op, int position) noexcept {
  return static_cast<std::uint32_t>(position) < op.inputs()->size()
             ? op.inputs()->Get(static_cast<std::uint32_t>(position))
             : -1;
}
inline std::int32_t output_index(const fb::Operator& op, int position = 0) noexcept {
  return op.outputs()->Get(static_cast<std::uint32_t>(position));
}
inline TensorView input(const Model& model, const fb::Operator& op, int position) noexcept {
  return model.tensor(input_index(op, position));
}
inline TensorView output(const Model& model, const fb::Operator& op, int position = 0) noexcept {
  return model.tensor(output_index(op, position));
}
inline kernels::Rounding rounding_of(const fb::Operator& op) noexcept {
  return static_cast<kernels::Rounding>(op.rounding());
}

// Number of operands and outputs; inputs before `required` must be present.
inline Status check_operands(const fb::Operator& op, int required, int most, int outputs = 1) noexcept {
  const int count = static_cast<int>(op.inputs()->size());
  if (count < required || count > most) {
    return Status(Code::invalid_data)
           << count << " inputs, expected " << required << (most > required ? " to " : "");
  }
  for (int i = 0; i < required; ++i) {
    if (input_index(op, i) < 0) return Status(Code::invalid_data) << "input " << i << " is absent";
  }
  if (static_cast<int>(op.outputs()->size()) != outputs)
    return Status(Code::invalid_data) << op.outputs()->size() << " outputs, expected " << outputs;
  return {};
}

inline bool is_integer(DType type) noexcept { return type == DType::int8 || type == DType::int16; }

// A quantized activation: int8 or int16 with one power-of-two scale.
inline Status check_quantized(const TensorView& tensor, std::string_view what) noexcept {
  if (!is_integer(tensor.dtype))
    return Status(Code::unsupported) << what << " is " << name_of(tensor.dtype) << ", expected int8 or int16";
  if (tensor.exponents.size() != 1 || !tensor.scales.empty() || tensor.zero_point() != 0) {
    return Status(Code::unsupported) << what << " has no single power-of-two scale with zero point 0";
  }
  return {};
}

// float32, or (floats = false) a quantized activation.
inline Status check_number(const TensorView& tensor, bool floats, std::string_view what) noexcept {
  if (!floats) return check_quantized(tensor, what);
  if (tensor.dtype == DType::float32) return {};
  return Status(Code::unsupported) << what << " is " << name_of(tensor.dtype) << ", expected float32";
}

// int8, int16 with one power-of-two scale, or float32.
inline Status check_number(const TensorView& tensor, std::string_view what) noexcept {
  return check_number(tensor, tensor.dtype == DType::float32, what);
}

// The options table of type T; a failure when the operator has another one or none.
template <class T>
Result<const T*> options(const fb::Operator& op) noexcept {
  const T* table = op.options_as<T>();
  if (table == nullptr) return Status(Code::invalid_data) << "its options are missing or of another type";
  return table;
}

inline Status expect_shape(const Shape& found, const Shape& expected, std::string_view what) noexcept {
  if (found == expected) return {};
  Status status(Code::invalid_data);
  status << what << " has shape [";
  for (int i = 0; i < found.rank; ++i) status << (i > 0 ? "," : "") << found[i];
  status << "], expected [";
  for (int i = 0; i < expected.rank; ++i) status << (i > 0 ? "," : "") << expected[i];
  return status << "]";
}

inline kernels::Dims dims_of(const Shape& shape) noexcept {
  kernels::Dims dims{};
  for (int i = 0; i < kMaxRank; ++i) dims[static_cast<std::size_t>(i)] = i < shape.rank ? shape[i] : 1;
  return dims;
}

// Range of an integer type; with ReLU the lower end is the zero point.
inline void activation_range(DType type, std::int32_t zero_point, Activation activation, std::int32_t& low,
                             std::int32_t& high) noexcept {
  low = type == DType::int8 ? -128 : -32768;
  high = type == DType::int8 ? 127 : 32767;
  if (activation == Activation::relu) low = zero_point;
}

// A bound operator of type T in the preparation's memory.
template <class T>
Result<T*> allocate(PrepareContext& context,
                    void (*run)(const BoundOperator&, const RunContext&) noexcept) noexcept {
  static_assert(std::is_base_of_v<BoundOperator, T> && std::is_trivially_destructible_v<T>);
  void* memory = context.memory().allocate(sizeof(T), alignof(T));
  if (memory == nullptr)
    return Status(Code::out_of_memory) << "preparing it needs more memory than was given";
  T* bound = new (memory) T();
  bound->run = run;
  return bound;
}

// An operand that is read `back` bytes before its block.
struct Operand {
  std::int32_t tensor = -1;
  std::int64_t back = 0;

  [[nodiscard]] const std::byte* at(const RunContext& context) const noexcept {
    return context.data[tensor] - back;
  }
};
inline Operand operand(PrepareContext& context, int position) noexcept {
  if (input_index(context.op(), position) >= 0) context.read_constant(input_index(context.op(), position));
  return {input_index(context.op(), position), context.window(position).back_bytes};
}

// Streaming rule of an operator that works frame by frame and keeps the axes: every streamed input has the
// output's rank (or is aligned to it from the right), and the same axis.
inline Status stream_pointwise(const Model& model, const fb::Operator& op, TimeAxes axes,
                               streaming::NodeRule&) noexcept {
  const auto inputs = static_cast<int>(op.inputs()->size());
  const int rank = output(model, op).shape.rank;
  int axis = -1;
  for (int i = 0; i < inputs; ++i) {
    if (axes[static_cast<std::size_t>(i)] < 0) continue;
    const int aligned = axes[static_cast<std::size_t>(i)] + rank - input(model, op, i).shape.rank;
    if (axis >= 0 && aligned != axis)
      return Status(Code::unsupported) << "its inputs have time on different axes";
    axis = aligned;
  }
  for (int i = 0; i < inputs; ++i) {
    if (axes[static_cast<std::size_t>(i)] >= 0 || input_index(op, i) < 0) continue;
    const Shape fixed = input(model, op, i).shape;
    const int aligned = axis - (rank - fixed.rank);
    if (aligned >= 0 && aligned < fixed.rank && fixed[aligned] != 1) {
      return Status(Code::unsupported)
             << "combines the stream with a constant of " << fixed[aligned] << " frames";
    }
  }
  for (std::size_t i = static_cast<std::size_t>(inputs); i < axes.size(); ++i)
    axes[i] = static_cast<std::int8_t>(axis);
  return {};
}

}  // namespace runnel::ops
