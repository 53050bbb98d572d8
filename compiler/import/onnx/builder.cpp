#include "compiler/import/onnx/builder.h"

#include <algorithm>

#include "compiler/import/onnx/integers/integer_form.h"
#include "compiler/ir/shapes.h"
#include "inference/model/model.h"

namespace runnel::compiler::onnx_source {

Value constant_value(Constant constant) {
  Value value;
  value.dtype = constant.dtype;
  value.dims = constant.dims;
  value.constant = std::make_shared<const Constant>(std::move(constant));
  return value;
}

Result<std::vector<std::int32_t>> shape_of(const Node& node, const Dims& dims, const Perm& perm) {
  if (dims.size() > kMaxRank)
    return node.fail(Code::unsupported)
           << "a value of shape " << text_of(dims) << ", expected at most " << kMaxRank << " axes";
  std::vector<std::int32_t> shape;
  for (const int axis : perm) {
    const std::int64_t dim = dims[static_cast<std::size_t>(axis)];
    if (dim < 1 || dim > kMaxElements)
      return node.fail(Code::unsupported)
             << "a value of shape " << text_of(dims) << ", expected dimensions of 1 or more";
    shape.push_back(static_cast<std::int32_t>(dim));
  }
  RUNNEL_TRY(node.named(checked_count(dims).status()));
  return shape;
}

const Value* Builder::find(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->find(name); found != scope->end()) return &found->second;
  }
  return nullptr;
}

Result<Value> Builder::padded_value(const Node& node, std::size_t position) const {
  if (!node.has_input(position)) return node.fail() << "input " << position << " is absent";
  const Value* found = find(node.inputs[position]);
  if (found == nullptr)
    return node.fail() << "reads \"" << node.inputs[position] << "\", which nothing before it defines";
  return *found;
}

Result<Value> Builder::value(const Node& node, std::size_t position) {
  RUNNEL_ASSIGN(const Value found, padded_value(node, position));
  return without_padding(node, found);
}

Result<ConstantPtr> Builder::constant(const Node& node, std::size_t position) const {
  if (!node.has_input(position)) return ConstantPtr();
  RUNNEL_ASSIGN(const Value found, padded_value(node, position));
  if (found.constant == nullptr)
    return node.fail(Code::unsupported) << "input " << position << " (\"" << node.inputs[position]
                                        << "\") is computed at run time, expected a constant";
  return found.constant;
}

Result<std::vector<std::int64_t>> Builder::integers(const Node& node, std::size_t position,
                                                    std::string_view attribute) const {
  RUNNEL_ASSIGN(const ConstantPtr given, constant(node, position));
  return given != nullptr ? integers_of(*given) : node.integers(attribute);
}

TensorId Builder::add(Tensor tensor) {
  graph.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(graph.tensors.size() - 1);
}

TensorId Builder::add_constant(const Constant& constant, std::string_view name) {
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = constant.dtype;
  tensor.shape.assign(constant.dims.begin(), constant.dims.end());
  tensor.data = constant.data;
  const TensorId id = add(std::move(tensor));
  if (constant.grid != nullptr) grids.emplace(id, constant.grid);
  return id;
}

Result<TensorId> Builder::stored(const Node& node, const Value& value, const Perm& perm) {
  if (value.missing) return node.fail(Code::unsupported) << "an operand of a missing operator";
  RUNNEL_ASSIGN(const auto shape, shape_of(node, value.dims, perm));
  if (value.constant != nullptr) {
    auto& known = constants_[{value.constant.get(), value.dims}];
    known.first = value.constant;
    if (const auto found = known.second.find(perm); found != known.second.end()) return found->second;
    const TensorId id =
        add_constant(transposed({value.dtype, value.dims, value.constant->data, value.constant->grid}, perm),
                     node.name + ".constant");
    known.second.emplace(perm, id);
    return id;
  }
  if (value.perm == perm) return value.id;
  const Perm from = inverse(value.perm);
  std::vector<int> order;
  for (const int axis : perm) order.push_back(from[static_cast<std::size_t>(axis)]);
  const auto key = std::pair(value.id, order);
  if (const auto found = orders_.find(key); found != orders_.end()) return found->second;
  // Where only axes of 1 change their places, the data stays as it is.
  int last = -1;
  bool moves = false;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (shape[i] == 1) continue;
    moves = moves || order[i] < last;
    last = order[i];
  }
  TensorId id = kAbsent;
  if (moves) {
    RUNNEL_ASSIGN(id,
                  emit(node, OpCode::transpose, {value.id}, TransposeOptions{{order.begin(), order.end()}}));
  } else if (shape == at(value.id).shape) {
    id = value.id;
  } else {
    RUNNEL_ASSIGN(id, emit(node, OpCode::reshape, {value.id}, {}, shape));
  }
  orders_.emplace(key, id);
  return id;
}

Result<Value> Builder::with_ones(const Node& node, const Value& value, const Dims& dims) {
  Value out = value;
  out.dims = dims;
  if (value.constant != nullptr || value.missing) return out;
  // Axes of more than 1 keep their order in memory; those of 1 go where their neighbours are.
  std::vector<int> wide_from, wide_to;
  for (std::size_t i = 0; i < value.rank(); ++i) {
    if (value.dims[i] != 1) wide_from.push_back(static_cast<int>(i));
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1) wide_to.push_back(static_cast<int>(i));
  }
  if (wide_from.size() != wide_to.size())
    return node.fail() << text_of(value.dims) << " and " << text_of(dims) << " differ in more than axes of 1";
  Perm perm;
  for (const int axis : value.perm) {
    const auto found = std::find(wide_from.begin(), wide_from.end(), axis);
    if (found != wide_from.end())
      perm.push_back(wide_to[static_cast<std::size_t>(found - wide_from.begin())]);
  }
  for (int axis = 0; axis < static_cast<int>(dims.size()); ++axis) {
    if (dims[static_cast<std::size_t>(axis)] != 1) continue;
    const auto neighbour = std::find(perm.begin(), perm.end(), axis - 1);
    perm.insert(neighbour == perm.end() ? perm.begin() : neighbour + 1, axis);
  }
  out.perm = perm;
  RUNNEL_ASSIGN(const auto shape, shape_of(node, dims, perm));
  if (shape != at(value.id).shape) {
    RUNNEL_ASSIGN(out.id, emit(node, OpCode::reshape, {value.id}, {}, shape));
  }
  return out;
}

Result<Value> Builder::widened(const Node& node, const Value& value, std::size_t rank) {
  if (value.rank() >= rank) return value;
  Dims dims(rank - value.rank(), 1);
  dims.insert(dims.end(), value.dims.begin(), value.dims.end());
  return with_ones(node, value, dims);
}

Result<Value> Builder::without_padding(const Node& node, const Value& value) {
  if (value.padding.empty()) return value;
  const Padding& padding = value.padding[0];
  Value bare = value;
  bare.padding.clear();
  if (bare.constant != nullptr) bare.perm = identity_perm(bare.rank());
  RUNNEL_ASSIGN(const TensorId x, stored(node, bare, bare.perm));
  PadOptions options;
  options.mode = padding.mode;
  options.real_value = padding.value;
  if (!is_real(value.dtype)) options.value = static_cast<int>(padding.value);
  for (const int axis : bare.perm) {
    options.before.push_back(static_cast<std::int32_t>(padding.before[static_cast<std::size_t>(axis)]));
    options.after.push_back(static_cast<std::int32_t>(padding.after[static_cast<std::size_t>(axis)]));
  }
  RUNNEL_ASSIGN(const TensorId y, emit(node, OpCode::pad, {x}, options));
  return computed(y, bare.perm);
}

Result<TensorId> Builder::emit(const Node& node, OpCode code, std::vector<TensorId> inputs, Options options,
                               std::vector<std::int32_t> shape, DType dtype, Arithmetic arithmetic) {
  RUNNEL_ASSIGN(const auto ids, emit_all(node, code, std::move(inputs), std::move(options),
                                         {std::move(shape)}, {dtype}, arithmetic));
  return ids[0];
}

Result<std::vector<TensorId>> Builder::emit_all(const Node& node, OpCode code, std::vector<TensorId> inputs,
                                                Options options,
                                                const std::vector<std::vector<std::int32_t>>& shapes,
                                                const std::vector<DType>& dtypes, Arithmetic arithmetic) {
  compiler::Node made;
  made.name = node.name;
  made.code = code;
  made.arithmetic = arithmetic;
  made.options = std::move(options);
  made.inputs = std::move(inputs);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Tensor tensor;
    tensor.name = node.name + ":" + std::string(name_of(code)) + (i == 0 ? "" : std::to_string(i));
    tensor.shape = shapes[i];
    tensor.dtype = dtypes[i] != DType::none ? dtypes[i] : at(made.inputs[0]).dtype;
    if (moves_data(made)) {
      tensor.scales = at(made.inputs[0]).scales;
      tensor.zero_points = at(made.inputs[0]).zero_points;
    }
    made.outputs.push_back(add(std::move(tensor)));
  }
  RUNNEL_TRY(infer_node_shapes(graph, made));
  for (const TensorId id : made.outputs) {
    const auto& inferred = at(id).shape;
    RUNNEL_TRY(node.named(checked_count(Dims(inferred.begin(), inferred.end())).status()));
  }
  graph.nodes.push_back(made);
  return made.outputs;
}

Value Builder::computed(TensorId id, Perm perm) {
  Value value;
  value.id = id;
  value.dtype = at(id).dtype;
  value.dims = unpermuted<std::int64_t>(at(id).shape, perm);
  value.perm = std::move(perm);
  return value;
}

void Builder::result(const Node& node, TensorId id, Perm perm, std::size_t position) {
  result(node, computed(id, std::move(perm)), position);
}

void Builder::result(const Node& node, Value value, std::size_t position) {
  if (position >= node.outputs.size() || node.outputs[position].empty()) return;
  // The name that users know: that of the first value stored in a computed tensor.
  if (value.constant == nullptr && value.id >= 0 && at(value.id).name.starts_with(node.name + ":"))
    at(value.id).name = node.outputs[position];
  define(node.outputs[position], std::move(value));
}

bool Builder::is_read(const Node& node, std::size_t position) const {
  return position < node.outputs.size() && !node.outputs[position].empty() &&
         readers_.contains(node.outputs[position]);
}

}  // namespace runnel::compiler::onnx_source
