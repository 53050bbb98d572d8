#include "compiler/import/onnx/inputs.h"

#include <algorithm>
#include <set>

#include "compiler/ir/open_axis.h"

namespace runnel::compiler::onnx_source {
namespace {

constexpr std::int64_t kOpen = -1;
constexpr std::int64_t kSampleRate = 16000;

// Sizes by the name of the axis.
using Symbols = std::map<std::string, std::int64_t>;

const ::onnx::TensorShapeProto& shape_of(const ::onnx::ValueInfoProto& input) {
  return input.type().tensor_type().shape();
}
const std::string& symbol(const ::onnx::ValueInfoProto& input, std::size_t axis) {
  return shape_of(input).dim(static_cast<int>(axis)).dim_param();
}

Result<Input> read_input(const ::onnx::ValueInfoProto& proto) {
  Input input;
  input.name = proto.name();
  if (!proto.has_type() || !proto.type().has_tensor_type())
    return Status(Code::unsupported) << "input \"" << input.name << "\" is no tensor";
  input.dtype = dtype_of(proto.type().tensor_type().elem_type());
  if (input.dtype == DType::none)
    return Status(Code::unsupported) << "input \"" << input.name << "\": type "
                                     << proto.type().tensor_type().elem_type() << " of ONNX";
  for (const auto& dim : shape_of(proto).dim()) {
    if (dim.has_dim_value() && dim.dim_value() > kMaxElements)
      return Status(Code::invalid_data)
             << "input \"" << input.name << "\": a dimension of " << dim.dim_value();
    input.dims.push_back(dim.has_dim_value() && dim.dim_value() > 0 ? dim.dim_value() : kOpen);
  }
  return input;
}

// The requested size, or that of an axis of the same name elsewhere.
Status apply_shape(const ::onnx::ValueInfoProto& proto, const Dims& asked, Input& input, Symbols& symbols) {
  bool fits = asked.size() == input.dims.size();
  for (std::size_t i = 0; fits && i < asked.size(); ++i) {
    if (asked[i] == kOpen) continue;
    fits = asked[i] > 0 && (input.dims[i] == kOpen || input.dims[i] == asked[i]);
    input.dims[i] = asked[i];
    if (fits && !symbol(proto, i).empty()) symbols.emplace(symbol(proto, i), asked[i]);
  }
  if (fits) return {};
  return Status(Code::mismatch) << "shape " << text_of(asked) << " for input \"" << input.name
                                << "\", which has " << text_of(input.dims) << " (-1: open)";
}

// `open`: the axes without size in the file. `first`: of all inputs, which is the data; states come after.
bool is_batch(const ::onnx::ValueInfoProto& proto, const std::vector<bool>& open, std::size_t axis,
              bool first) {
  std::string name = symbol(proto, axis);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  if (name.find("batch") != std::string::npos || name == "n" || name == "b") return true;
  if (axis == 0 && open.size() > 1) return true;
  // The states of recurrent networks: [layers, batch, hidden].
  return !first && axis == 1 && open.size() == 3 && !open[0] && !open[2];
}

// The length of one axis can be chosen, that of time. Two of them would be guesses.
Status too_open(const Input& input, const ::onnx::ValueInfoProto& proto,
                const std::vector<std::size_t>& axes) {
  Status status(Code::unsupported);
  status << "input \"" << input.name << "\" leaves axes ";
  for (std::size_t i = 0; i < axes.size(); ++i) {
    status << (i == 0 ? "" : i + 1 == axes.size() ? " and " : ", ") << axes[i];
    if (!symbol(proto, axes[i]).empty()) status << " (" << symbol(proto, axes[i]) << ')';
  }
  return status << " open, expected only batch and time; --shape gives their sizes";
}

}  // namespace

Result<std::vector<Input>> read_inputs(const ::onnx::GraphProto& graph, const OnnxOptions& options,
                                       std::int64_t otherwise, std::vector<std::string>& notes) {
  std::set<std::string> initialized;
  for (const auto& tensor : graph.initializer()) initialized.insert(tensor.name());
  std::vector<Input> inputs;
  std::vector<const ::onnx::ValueInfoProto*> protos;
  std::vector<std::vector<bool>> open;
  Symbols symbols;
  for (const auto& proto : graph.input()) {
    if (initialized.contains(proto.name())) continue;
    RUNNEL_ASSIGN(Input input, read_input(proto));
    std::vector<bool> left;
    for (const std::int64_t dim : input.dims) left.push_back(dim == kOpen);
    open.push_back(left);
    if (const auto asked = options.shapes.find(input.name); asked != options.shapes.end())
      RUNNEL_TRY(apply_shape(proto, asked->second, input, symbols));
    if (const auto seen = options.data_shapes.find(input.name); seen != options.data_shapes.end()) {
      Input fitted = input;
      Symbols with = symbols;
      if (apply_shape(proto, seen->second, fitted, with).ok()) {
        input = std::move(fitted);
        symbols = std::move(with);
      }
    }
    inputs.push_back(std::move(input));
    protos.push_back(&proto);
  }
  const auto known = [&](const std::string& name) {
    return std::any_of(inputs.begin(), inputs.end(), [&](const Input& input) { return input.name == name; });
  };
  for (const auto& [name, shape] : options.shapes) {
    if (!known(name))
      return Status(Code::not_found) << "a shape for input \"" << name << "\", which the model does not have";
  }
  // The name of a batch is one on every axis.
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    for (std::size_t i = 0; i < inputs[k].dims.size(); ++i) {
      const std::string& name = symbol(*protos[k], i);
      if (inputs[k].dims[i] == kOpen && !name.empty() && is_batch(*protos[k], open[k], i, k == 0))
        symbols.emplace(name, 1);
    }
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    Input& input = inputs[k];
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < input.dims.size(); ++i) {
      if (input.dims[i] != kOpen) continue;
      if (const auto same = symbols.find(symbol(*protos[k], i));
          same != symbols.end() && !same->first.empty())
        input.dims[i] = same->second;
      else if (is_batch(*protos[k], open[k], i, k == 0))
        input.dims[i] = 1;
      else
        left.push_back(i);
    }
    std::int64_t size = otherwise;
    if (const auto count = options.data_elements.find(input.name); count != options.data_elements.end()) {
      if (const std::int64_t length = open_length(input.dims, count->second); length > 0) size = length;
    }
    for (const std::size_t i : left) {
      input.dims[i] = size;
      if (!symbol(*protos[k], i).empty()) symbols.emplace(symbol(*protos[k], i), size);
    }
    if (left.size() > 1) return too_open(input, *protos[k], left);
    if (!left.empty() && size == otherwise)
      notes.push_back("input " + input.name + " has no fixed size: imported as " + text_of(input.dims) +
                      " (--shape says otherwise)");
    for (std::size_t i = 0; i < input.dims.size(); ++i) {
      if (open[k][i] && !is_batch(*protos[k], open[k], i, k == 0)) input.open_axis = static_cast<int>(i);
    }
    RUNNEL_ASSIGN(const std::int64_t count, checked_count(input.dims));
    const bool integer = input.dtype == DType::int64 || input.dtype == DType::int32;
    if (const auto value = options.values.find(input.name); value != options.values.end() && integer) {
      if (static_cast<std::int64_t>(value->second.size()) != count) {
        return Status(Code::mismatch) << value->second.size() << " values for input \"" << input.name
                                      << "\" of " << text_of(input.dims);
      }
      input.fixed = true;
      input.values = value->second;
    } else if (const auto seen = options.data_values.find(input.name);
               seen != options.data_values.end() && integer &&
               static_cast<std::int64_t>(seen->second.size()) == count) {
      input.fixed = true;
      input.values = seen->second;
    } else if (integer && count == 1 &&
               (input.name == "sr" || input.name == "sample_rate" || input.name == "sampling_rate")) {
      input.fixed = true;
      input.values = {kSampleRate};
      notes.push_back("input " + input.name + " is fixed at " + std::to_string(kSampleRate) +
                      " (--value says otherwise)");
    }
  }
  for (const auto& value : options.values) {
    const std::string& name = value.first;
    const auto found =
        std::find_if(inputs.begin(), inputs.end(), [&](const Input& input) { return input.name == name; });
    if (found == inputs.end())
      return Status(Code::not_found) << "a value for input \"" << name << "\", which the model does not have";
    if (!found->fixed)
      return Status(Code::unsupported)
             << "a value for input \"" << name << "\" of " << name_of(found->dtype) << ", expected integers";
  }
  return inputs;
}

}  // namespace runnel::compiler::onnx_source
