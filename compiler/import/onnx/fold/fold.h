// Computing nodes whose inputs are all known.
#pragma once

#include <optional>
#include <vector>

#include "compiler/import/onnx/source.h"

namespace runnel::compiler::onnx_source {

// What a slice takes of each axis.
struct SliceBox {
  std::vector<std::int64_t> begin, step, count;
};
// From starts, ends, axes (empty: the first ones) and steps (empty: 1). Errors: invalid_data.
Result<SliceBox> slice_box(const Node& node, const Dims& dims, const std::vector<std::int64_t>& starts,
                           const std::vector<std::int64_t>& ends, const std::vector<std::int64_t>& axes,
                           const std::vector<std::int64_t>& steps);
// The shape that Reshape asks for: 0 keeps (unless `zero_is_zero`), -1 follows from the rest. Errors:
// invalid_data.
Result<Dims> reshaped_dims(const Node& node, const Dims& from, const std::vector<std::int64_t>& wanted,
                           bool zero_is_zero);
// Shapes without and with axes of 1. Errors: invalid_data. `axes` empty: all axes of 1.
Result<Dims> squeezed_dims(const Node& node, const Dims& dims, const std::vector<std::int64_t>& axes);
Result<Dims> unsqueezed_dims(const Node& node, const Dims& dims, const std::vector<std::int64_t>& axes);
// Sizes of the outputs of Split along an axis of `size`. Errors: invalid_data.
Result<std::vector<std::int64_t>> split_sizes(const Node& node, std::int64_t size,
                                              const std::vector<std::int64_t>& asked);

// Where GatherElements takes each element of its result from: places in the dense input. Errors:
// invalid_data.
Result<std::vector<std::int64_t>> gathered_places(const Node& node, const Dims& dims,
                                                  const Constant& indices);

// The constants after the inputs, null where absent; nothing when the operator is not one that is computed
// here. Errors: invalid_data naming the node.
Result<std::optional<std::vector<Constant>>> fold(const Node& node,
                                                  const std::vector<const Constant*>& inputs);

// ---- by kind (fold_*.cpp): the same contract
Result<std::optional<Constant>> fold_arithmetic(const Node& node, const std::vector<const Constant*>& inputs);
Result<std::optional<std::vector<Constant>>> fold_movement(const Node& node,
                                                           const std::vector<const Constant*>& inputs);
// QuantizeLinear and DequantizeLinear; the results of the latter have a grid.
Result<std::optional<Constant>> fold_quantized(const Node& node, const std::vector<const Constant*>& inputs);

// Integers of an optional operand: the constant at `position`, or the attribute of older opsets.
std::vector<std::int64_t> list_of(const Node& node, const std::vector<const Constant*>& inputs,
                                  std::size_t position, std::string_view attribute);

}  // namespace runnel::compiler::onnx_source
