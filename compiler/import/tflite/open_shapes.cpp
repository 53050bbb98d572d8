#include "compiler/import/tflite/open_shapes.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "compiler/ir/open_axis.h"

namespace runnel::compiler::tflite_source {
namespace {

using Dims = std::vector<std::int64_t>;
constexpr std::int64_t kOpen = -1;

template <class Dim>
std::string text_of(const std::vector<Dim>& dims) {
  std::string text = "[";
  for (const Dim dim : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

// The file's dimensions, kOpen where there is none.
Dims open_dims(const Tensor& input) {
  Dims dims(input.shape.begin(), input.shape.end());
  for (std::size_t i = 0; i < input.open.size(); ++i) {
    if (input.open[i]) dims[i] = kOpen;
  }
  return dims;
}

bool apply(const Dims& asked, Dims& dims) {
  if (asked.size() != dims.size()) return false;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (asked[i] == kOpen) continue;
    if (asked[i] < 1 || asked[i] > std::numeric_limits<std::int32_t>::max() ||
        (dims[i] != kOpen && dims[i] != asked[i]))
      return false;
    dims[i] = asked[i];
  }
  return true;
}

// One open axis, and as many elements as a whole number of it gives.
void apply_count(std::int64_t elements, Dims& dims) {
  const std::int64_t length = open_length(dims, elements);
  if (length > 0 && length <= std::numeric_limits<std::int32_t>::max())
    *std::ranges::find(dims, kOpen) = length;
}

}  // namespace

Result<bool> settle_shapes(Subgraph& graph, const InputShapes& shapes, std::int64_t length,
                           std::vector<std::string>& notes) {
  const auto is_input = [&](std::string_view name) {
    return std::ranges::any_of(graph.inputs, [&](std::int32_t id) {
      return graph.tensors[static_cast<std::size_t>(id)].name == name;
    });
  };
  for (const auto& entry : shapes.shapes) {
    if (!is_input(entry.first))
      return Status(Code::not_found) << "a shape for input \"" << entry.first
                                     << "\", which the model does not have";
  }
  bool used = false;
  for (const std::int32_t id : graph.inputs) {
    Tensor& input = graph.tensors[static_cast<std::size_t>(id)];
    const std::vector<std::int32_t> given = input.shape;
    Dims dims = open_dims(input);
    if (const auto asked = shapes.shapes.find(input.name);
        asked != shapes.shapes.end() && !apply(asked->second, dims)) {
      return Status(Code::mismatch) << "shape " << text_of(asked->second) << " for input \"" << input.name
                                    << "\", which has " << text_of(open_dims(input)) << " (-1: open)";
    }
    if (const auto seen = shapes.data_shapes.find(input.name); seen != shapes.data_shapes.end()) {
      Dims fitted = dims;
      if (apply(seen->second, fitted)) dims = std::move(fitted);
    }
    if (dims.size() > 1 && dims[0] == kOpen) dims[0] = given[0];
    // Counted as float32, whatever the input's type.
    if (const auto count = shapes.data_elements.find(input.name);
        count != shapes.data_elements.end() && input.dtype != DType::none) {
      apply_count(count->second * 4 / static_cast<std::int64_t>(size_of(input.dtype)), dims);
    }
    bool chosen = false;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] != kOpen) continue;
      chosen = chosen || given[i] <= 1;
      dims[i] = given[i] <= 1 ? length : given[i];
    }
    input.shape.assign(dims.begin(), dims.end());
    if (chosen)
      notes.push_back("input " + input.name + " has no fixed size: imported as " + text_of(input.shape) +
                      " (--shape says otherwise)");
    used = used || chosen;
  }
  return used;
}

}  // namespace runnel::compiler::tflite_source
