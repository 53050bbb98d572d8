#include "compiler/write/espdl/lowering.h"

#include <algorithm>
#include <utility>

namespace runnel::compiler::espdl_source {
namespace {

// "S8", "S16", "F32": by the result, or by the input where the result is not quantized.
std::string quant_type(DType output, DType input) {
  const DType type = is_quantized(output) ? output : input;
  return type == DType::int8 ? "S8" : type == DType::int16 ? "S16" : "F32";
}

}  // namespace

std::vector<std::int64_t> spatial(int axes, int height, int width) {
  return axes == 2 ? std::vector<std::int64_t>{height, width} : std::vector<std::int64_t>{width};
}

Lowering::Lowering(const Graph& graph, EspdlTarget target)
    : graph_(graph), target_(target), reads_(graph.tensors.size(), 0) {
  for (const compiler::Node& node : graph.nodes) {
    for (const TensorId id : node.inputs) {
      if (id != kAbsent) ++reads_[static_cast<std::size_t>(id)];
    }
  }
  for (const TensorId id : graph.outputs) ++reads_[static_cast<std::size_t>(id)];
  // Inputs and outputs keep their names, whatever else is called so.
  for (const TensorId id : graph.inputs) name_of(id);
  for (const TensorId id : graph.outputs) name_of(id);
}

void Lowering::refuse(const compiler::Node& node, const std::string& why) {
  refusals_.push_back("node \"" + node.name + "\" (" + runnel::name_of(node.code) + "): " + why);
}

const compiler::Node* Lowering::tail(const compiler::Node& node, OpCode code) const {
  const compiler::Node* const next = &node + 1;
  if (next >= graph_.nodes.data() + graph_.nodes.size() || next->name != node.name || next->code != code)
    return nullptr;
  const bool reads =
      !next->inputs.empty() && next->inputs[0] == node.outputs[0] && read_once(node.outputs[0]);
  return reads ? next : nullptr;
}

std::string Lowering::unique(std::string wish) {
  if (wish.empty()) wish = "value";
  std::string name = wish;
  for (int i = 1; !used_.insert(name).second; ++i) name = wish + "/" + std::to_string(i);
  return name;
}

std::string Lowering::unique_node(const std::string& wish) {
  const std::string base = wish.empty() ? "node" : wish;
  std::string name = base;
  for (int i = 1; !used_by_nodes_.insert(name).second; ++i) name = base + "/" + std::to_string(i);
  return name;
}

const std::string& Lowering::name_of(TensorId id) {
  const auto known = names_.find(id);
  if (known != names_.end()) return known->second;
  return names_.emplace(id, unique(at(id).name)).first->second;
}

void Lowering::alias(TensorId id, TensorId other) {
  names_.insert_or_assign(id, name_of(other));
  aliases_.insert(id);
}

Constant Lowering::constant_of(const Tensor& tensor, std::string_view layout) const {
  Constant out;
  out.name = tensor.name;
  out.dims = wide(tensor.shape);
  out.count = 1;
  for (const std::int64_t dim : out.dims) out.count *= dim;
  out.dtype = tensor.dtype;
  out.exponents = tensor.exponents;
  out.layout = layout;
  out.data = *tensor.data;
  return out;
}

std::string Lowering::constant(Constant constant) {
  // One constant for all that read the same.
  const auto same = [&](const Constant& other) {
    return other.dims == constant.dims && other.dtype == constant.dtype &&
           other.exponents == constant.exponents && other.layout == constant.layout &&
           other.data == constant.data;
  };
  const std::string wish = constant.name.empty() ? "constant" : constant.name;
  std::string name = wish;
  for (int i = 1; !used_.insert(name).second; ++i) {
    const auto known = model.constants.find(name);
    if (known != model.constants.end() && same(known->second)) return name;
    name = wish + "/" + std::to_string(i);
  }
  constant.name = name;
  model.constants.emplace(name, std::move(constant));
  return name;
}

std::string Lowering::integers(const compiler::Node& node, std::string_view what,
                               const std::vector<std::int64_t>& values) {
  Constant out;
  out.name = node.name + "/" + std::string(what);
  out.dims = {static_cast<std::int64_t>(values.size())};
  out.count = out.dims[0];
  out.dtype = DType::int64;
  out.layout = "UNK";
  out.data = bytes_of(values);
  return constant(std::move(out));
}

std::string Lowering::operand(const compiler::Node& node, std::size_t position) {
  if (!has(node, position)) return {};
  const TensorId id = node.inputs[position];
  const Tensor& tensor = at(id);
  if (!tensor.data) return name_of(id);
  if (is_quantized(tensor.dtype) && tensor.exponents.size() != 1) {
    refuse(node, "its constant \"" + tensor.name + "\" has " + std::to_string(tensor.exponents.size()) +
                     " exponents, expected 1");
    return tensor.name;
  }
  Constant plain = constant_of(tensor);
  if (!is_quantized(tensor.dtype)) plain.exponents.clear();
  return constant(std::move(plain));
}

std::string Lowering::value(const std::string& wish, const Tensor& like,
                            const std::vector<std::int64_t>& shape) {
  const std::string name = unique(wish);
  model.values.insert_or_assign(
      name, Value{like.dtype, shape, is_quantized(like.dtype) ? like.exponents : std::vector<std::int8_t>{}});
  return name;
}

Node& Lowering::add_between(const compiler::Node& from, std::string_view op, std::vector<std::string> inputs,
                            std::string output, DType dtype, std::string_view suffix) {
  Node node;
  node.name = unique_node(from.name + std::string(suffix));
  node.op = op;
  node.inputs = std::move(inputs);
  node.outputs = {std::move(output)};
  while (!node.inputs.empty() && node.inputs.back().empty()) node.inputs.pop_back();
  node.attributes["quant_type"] = quant_type(dtype, has(from, 0) ? input(from, 0).dtype : DType::none);
  model.nodes.push_back(std::move(node));
  return model.nodes.back();
}

Node& Lowering::add(const compiler::Node& from, std::string_view op, std::vector<std::string> inputs,
                    const compiler::Node* to) {
  const compiler::Node& last = to != nullptr ? *to : from;
  Node& node = add_between(from, op, std::move(inputs), "", output(last).dtype);
  node.outputs.clear();
  for (const TensorId id : last.outputs) {
    const Tensor& tensor = at(id);
    node.outputs.push_back(name_of(id));
    model.values.insert_or_assign(
        name_of(id), Value{tensor.dtype, wide(tensor.shape),
                           is_quantized(tensor.dtype) ? tensor.exponents : std::vector<std::int8_t>{}});
  }
  return node;
}

std::vector<std::int64_t> wide(const std::vector<std::int32_t>& from) { return {from.begin(), from.end()}; }

Constant quantized_value(std::string name, const Tensor& like, std::int64_t value) {
  Constant out;
  out.name = std::move(name);
  out.dims = {1};
  out.count = 1;
  out.dtype = like.dtype;
  out.exponents = like.exponents;
  out.layout = "UNK";
  for (std::size_t byte = 0; byte < size_of(like.dtype); ++byte)
    out.data.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * byte)));
  return out;
}

}  // namespace runnel::compiler::espdl_source
