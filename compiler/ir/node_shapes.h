// Shapes of the outputs of one node, by kind of operator (shapes.h).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler::node_shapes {

using Shape = std::vector<std::int32_t>;
std::string text_of(const Shape& shape);
// -1: more than 64 bits hold.
std::int64_t elements(const Shape& shape);

// One node on its way: operands, and the start of every error.
struct Case {
  Graph& graph;
  const Node& node;

  [[nodiscard]] Status fail() const {
    return Status(Code::invalid_data) << "node \"" << node.name << "\" (" << name_of(node.code) << "): ";
  }
  [[nodiscard]] bool has(std::size_t position) const {
    return position < node.inputs.size() && node.inputs[position] != kAbsent;
  }
  [[nodiscard]] const Shape& input(std::size_t position) const {
    return graph.tensors[static_cast<std::size_t>(node.inputs[position])].shape;
  }
  [[nodiscard]] Shape& output(std::size_t position) const {
    return graph.tensors[static_cast<std::size_t>(node.outputs[position])].shape;
  }
  template <class T>
  [[nodiscard]] T options() const {
    const T* given = std::get_if<T>(&node.options);
    return given == nullptr ? T{} : *given;
  }

  [[nodiscard]] Status operands(std::size_t inputs, std::size_t outputs) const {
    for (std::size_t i = 0; i < inputs; ++i) {
      if (!has(i)) return fail() << "input " << i << " is absent";
    }
    if (node.outputs.size() != outputs)
      return fail() << node.outputs.size() << " outputs, expected " << outputs;
    return {};
  }
  [[nodiscard]] Status set(std::size_t position, const std::vector<std::int64_t>& dims) const {
    Shape shape;
    for (const std::int64_t dim : dims) {
      if (dim <= 0 || dim > std::numeric_limits<std::int32_t>::max()) {
        return fail() << "dimension " << shape.size() << " of output " << position << " would be " << dim
                      << " for an input of " << text_of(input(0));
      }
      shape.push_back(static_cast<std::int32_t>(dim));
    }
    output(position) = std::move(shape);
    return {};
  }
};
// Errors: invalid_data for an axis that the shape has not.
Status axis_inside(const Case& at, int axis, const Shape& shape);
// The shape that both broadcast to. Errors: invalid_data when they do not fit.
Result<std::vector<std::int64_t>> broadcast(const Case& at, const Shape& a, const Shape& b);

// ---- element by element, choices, reductions (node_shapes_values.cpp)
Status same(const Case& at);
Status binary(const Case& at);
Status along_axis(const Case& at);
Status lut(const Case& at);
Status prelu(const Case& at);
Status where(const Case& at);
Status arg_max(const Case& at);
Status top_k(const Case& at);
Status reduce(const Case& at);

// ---- layers with weights or windows, recurrence (node_shapes_layers.cpp)
Status conv(const Case& at);
Status fully_connected(const Case& at);
Status matmul(const Case& at);
Status pool(const Case& at);
Status transposed_conv(const Case& at);
Status recurrent(const Case& at);
Status sequence_lstm(const Case& at);
Status svdf(const Case& at);
Status attention(const Case& at);

// ---- movement, and what only the caller knows (node_shapes_movement.cpp)
Status reshape(const Case& at);
Status transpose(const Case& at);
Status slice(const Case& at);
Status concat(const Case& at);
Status split(const Case& at);
Status pad(const Case& at);
Status block(const Case& at, bool to_space);
Status gather(const Case& at);
Status given(const Case& at);
Status insert_zeros(const Case& at);
Status streaming_cache(const Case& at);
Status custom(const Case& at);

}  // namespace runnel::compiler::node_shapes
