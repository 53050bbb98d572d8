#include "compiler/import/pte/builder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/limits.h"
#include "compiler/ir/shapes.h"
#include "compiler/passes/non_negative.h"
#include "inference/model/model.h"

namespace runnel::compiler::pte_source {
namespace {

constexpr std::int64_t kMaxElements = limits::kImportedElements;  // of one computed tensor

std::string text_of(const Dims& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(dims[i]);
  return text + "]";
}

Perm perm_of(const Tensor& tensor) { return {tensor.dim_order.begin(), tensor.dim_order.end()}; }

// What the runtime takes: fewer axes than the format, no empty ones.
Status check_shape(const Call& call, const Dims& dims) {
  std::int64_t count = 1;
  for (const std::int32_t dim : dims) {
    if (dim < 1)
      return call.fail(Code::unsupported)
             << "a tensor of " << text_of(dims) << ", expected dimensions of 1 or more";
    count = std::min(count * dim, kMaxElements + 1);
  }
  if (dims.size() > runnel::kMaxRank)
    return call.fail(Code::unsupported)
           << "a tensor of " << dims.size() << " axes, expected at most " << runnel::kMaxRank;
  if (count > kMaxElements)
    return call.fail(Code::unsupported)
           << "a tensor of " << text_of(dims) << ", expected at most " << kMaxElements << " elements";
  return {};
}

}  // namespace

Operand constant_operand(Constant constant) {
  Operand out;
  out.dtype = constant.dtype;
  out.dims = constant.dims;
  out.constant = std::make_shared<const Constant>(std::move(constant));
  return out;
}

Builder::Builder(const Method& method, std::size_t file_bytes)
    : method_(method), held_(method.values.size()), budget_(16 * file_bytes + (std::size_t{1} << 24)) {}

Status Builder::spend(const Call& call, std::size_t bytes) {
  if (bytes > budget_)
    return call.fail(Code::unsupported) << "more constants than a file of this size should have";
  budget_ -= bytes;
  return {};
}

// ---- operands of a call

bool Builder::is_none(const Call& call, std::size_t position) const {
  return std::holds_alternative<std::monostate>(value(call, position));
}

Result<const Tensor*> Builder::tensor(const Call& call, std::size_t position) const {
  const auto* found = std::get_if<Tensor>(&value(call, position));
  if (found == nullptr) return call.fail() << "operand " << position << " is no tensor";
  return found;
}

Result<Operand> Builder::operand(const Call& call, std::size_t position) {
  RUNNEL_TRY(tensor(call, position).status());
  return read(call, call.args[position]);
}

Result<ConstantPtr> Builder::constant(const Call& call, std::size_t position) {
  if (is_none(call, position)) return ConstantPtr();
  RUNNEL_ASSIGN(const Operand found, operand(call, position));
  if (found.constant == nullptr)
    return call.fail(Code::unsupported)
           << "operand " << position << " is computed at run time, expected a constant";
  return found.constant;
}

Result<std::int64_t> Builder::integer(const Call& call, std::size_t position) const {
  const auto* found = std::get_if<std::int64_t>(&value(call, position));
  if (found == nullptr) return call.fail() << "operand " << position << " is no integer";
  return *found;
}

Result<std::int64_t> Builder::integer(const Call& call, std::size_t position, std::int64_t low,
                                      std::int64_t high) const {
  RUNNEL_ASSIGN(const std::int64_t found, integer(call, position));
  if (found < low || found > high)
    return call.fail() << "operand " << position << " is " << found << ", expected " << low << " to " << high;
  return found;
}

Result<double> Builder::number(const Call& call, std::size_t position) const {
  if (const auto* found = std::get_if<double>(&value(call, position))) {
    const bool fits =
        std::isinf(*found) || std::abs(*found) <= static_cast<double>(std::numeric_limits<float>::max());
    if (!fits)
      return call.fail(Code::unsupported) << "operand " << position << " is no number that float32 can hold";
    return *found;
  }
  if (const auto* found = std::get_if<std::int64_t>(&value(call, position)))
    return static_cast<double>(*found);
  return call.fail() << "operand " << position << " is no number";
}

Result<bool> Builder::boolean(const Call& call, std::size_t position) const {
  const auto* found = std::get_if<bool>(&value(call, position));
  if (found == nullptr) return call.fail() << "operand " << position << " is no boolean";
  return *found;
}

Result<std::vector<std::int64_t>> Builder::integers(const Call& call, std::size_t position) const {
  const auto* found = std::get_if<Integers>(&value(call, position));
  if (found == nullptr) return call.fail() << "operand " << position << " is no list of integers";
  return found->items;
}

Result<std::vector<std::int32_t>> Builder::tensors(const Call& call, std::size_t position) const {
  const auto* found = std::get_if<Tensors>(&value(call, position));
  if (found == nullptr) return call.fail() << "operand " << position << " is no list of tensors";
  return found->items;
}

Result<int> Builder::axis(const Call& call, std::size_t position, std::size_t rank) const {
  const auto count = static_cast<std::int64_t>(rank);
  RUNNEL_ASSIGN(const std::int64_t given, integer(call, position, -count, count - 1));
  return static_cast<int>(given < 0 ? given + count : given);
}

// ---- values

Result<ConstantPtr> Builder::load(const Call& call, std::int32_t index) {
  ConstantPtr& known = loaded_[index];
  if (known != nullptr) return known;
  const Tensor& tensor = std::get<Tensor>(method_.values[static_cast<std::size_t>(index)]);
  RUNNEL_TRY(spend(call, tensor.bytes));
  Constant stored{
      tensor.dtype, permuted(tensor.sizes, perm_of(tensor)), {tensor.data->begin(), tensor.data->end()}};
  known = std::make_shared<const Constant>(transposed(stored, inverse(perm_of(tensor))));
  return known;
}

Result<Operand> Builder::read(const Call& call, std::int32_t index) {
  const auto* tensor = std::get_if<Tensor>(&method_.values[static_cast<std::size_t>(index)]);
  if (tensor == nullptr) return call.fail() << "value " << index << " is no tensor";
  if (tensor->dtype == DType::none)
    return call.fail(Code::unsupported) << "value " << index << " has a type that nothing here computes with";
  if (tensor->constant()) {
    RUNNEL_ASSIGN(const ConstantPtr loaded, load(call, index));
    return Operand{loaded, kAbsent, tensor->dtype, tensor->sizes, {}};
  }
  const std::optional<Operand>& held = held_[static_cast<std::size_t>(index)];
  if (!tensor->planned) {
    if (!held) return call.fail() << "value " << index << " is read before anything was written there";
    return *held;
  }
  const Memory& memory = memories_[tensor->memory];
  const auto region = memory.find(tensor->offset);
  if (region == memory.end() || region->second.end != tensor->offset + tensor->bytes) {
    return call.fail() << "value " << index << " is " << tensor->bytes
                       << " bytes of memory that nothing wrote, or that something else has overwritten";
  }
  if (region->second.value == index) return *held;
  return reinterpreted(call, region->second.value, index);
}

// The bytes of one tensor as another one.
Result<Operand> Builder::reinterpreted(const Call& call, std::int32_t from, std::int32_t to) {
  const Tensor &x = std::get<Tensor>(method_.values[static_cast<std::size_t>(from)]),
               &y = std::get<Tensor>(method_.values[static_cast<std::size_t>(to)]);
  if (x.dtype != y.dtype)
    return call.fail(Code::unsupported)
           << "value " << to << " is the memory of value " << from << ", of another type";
  const Operand operand = *held_[static_cast<std::size_t>(from)];
  const Dims shape = permuted(y.sizes, perm_of(y));
  if (operand.constant != nullptr) {
    Constant moved = transposed({operand.dtype, operand.dims, operand.constant->data}, perm_of(x));
    RUNNEL_TRY(spend(call, moved.data.size()));
    moved.dims = shape;
    return constant_operand(transposed(moved, inverse(perm_of(y))));
  }
  RUNNEL_ASSIGN(TensorId id, stored(call, operand, perm_of(x)));
  RUNNEL_TRY(check_shape(call, shape));
  if (at(id).shape != shape) {
    RUNNEL_ASSIGN(id, emit(call, OpCode::reshape, {id}, {}, {shape, DType::none, std::nullopt}));
  }
  return computed(id, perm_of(y));
}

void Builder::occupy(const Tensor& tensor, std::int32_t value) {
  if (!tensor.planned || tensor.bytes == 0) return;
  Memory& memory = memories_[tensor.memory];
  const std::uint64_t first = tensor.offset, end = tensor.offset + tensor.bytes;
  auto overlapping = memory.upper_bound(first);
  if (overlapping != memory.begin() && std::prev(overlapping)->second.end > first) --overlapping;
  while (overlapping != memory.end() && overlapping->first < end) overlapping = memory.erase(overlapping);
  memory[first] = {end, value};
}

Status Builder::write(const Call& call, std::int32_t index, Operand operand) {
  const auto* tensor = std::get_if<Tensor>(&method_.values[static_cast<std::size_t>(index)]);
  if (tensor == nullptr) return call.fail() << "writes value " << index << ", which is no tensor";
  if (tensor->constant()) return call.fail() << "writes value " << index << ", which is a constant";
  if (operand.dims != tensor->sizes || operand.dtype != tensor->dtype) {
    return call.fail() << "computes " << name_of(operand.dtype) << ' ' << text_of(operand.dims)
                       << ", but the program says " << name_of(tensor->dtype) << ' '
                       << text_of(tensor->sizes);
  }
  if (is_variable(index)) return assign(call, index, operand);
  held_[static_cast<std::size_t>(index)] = std::move(operand);
  occupy(*tensor, index);
  return {};
}

Status Builder::result(const Call& call, Operand operand) {
  if (call.args.size() < 2 || call.args.back() != call.args[call.args.size() - 2])
    return call.fail() << "its output is not named twice";
  return write(call, call.args.back(), std::move(operand));
}

Status Builder::add_input(std::int32_t index, const std::string& name) {
  const Call call{name, 0, {}};
  const auto* tensor = std::get_if<Tensor>(&method_.values[static_cast<std::size_t>(index)]);
  if (tensor == nullptr) return Status(Code::unsupported) << "input \"" << name << "\" is no tensor";
  if (tensor->constant() || held_[static_cast<std::size_t>(index)])
    return Status(Code::invalid_data) << "input \"" << name << "\" is there twice or a constant";
  if (tensor->dtype == DType::none)
    return Status(Code::unsupported) << "input \"" << name << "\" has a type that nothing here computes with";
  compiler::Tensor made;
  made.name = name;
  made.dtype = tensor->dtype;
  made.shape = tensor->sizes;
  if (made.shape.empty()) made.shape = {1};
  RUNNEL_TRY(check_shape(call, made.shape));
  if (const Scale* scale = scale_of(index); scale != nullptr && tensor->dtype != DType::float32) {
    made.scales = {scale->scale};
    made.zero_points = {scale->zero_point};
  }
  const TensorId id = add(std::move(made));
  graph.inputs.push_back(id);
  Operand operand{nullptr, id, tensor->dtype, tensor->sizes, identity_perm(tensor->sizes.size())};
  held_[static_cast<std::size_t>(index)] = std::move(operand);
  occupy(*tensor, index);
  return {};
}

Status Builder::add_variables() {
  std::set<std::int32_t> found;
  for (std::size_t i = 0; i < method_.values.size(); ++i) {
    const auto* tensor = std::get_if<Tensor>(&method_.values[i]);
    if (tensor != nullptr && tensor->planned && tensor->data) found.insert(static_cast<std::int32_t>(i));
  }
  // Those without a first value are known by the copy at the end into memory that nothing else writes.
  std::set<std::int32_t> written(method_.inputs.begin(), method_.inputs.end());
  for (const Instruction& instruction : method_.instructions) {
    if (instruction.kind != Instruction::Kind::kernel || instruction.args.empty()) continue;
    const bool copies = method_.operators[instruction.which].starts_with("aten::copy_") &&
                        !written.contains(instruction.args[0]);
    const auto* tensor = std::get_if<Tensor>(&method_.values[static_cast<std::size_t>(instruction.args[0])]);
    if (copies && tensor != nullptr && tensor->planned)
      found.insert(instruction.args[0]);
    else
      written.insert(instruction.args.back());
  }
  for (const std::int32_t index : found) {
    const Tensor& tensor = std::get<Tensor>(method_.values[static_cast<std::size_t>(index)]);
    const int number = static_cast<int>(variables_.size());
    const Call call{tensor.name.empty() ? "mutable buffer " + std::to_string(number) : tensor.name, 0, {}};
    if (tensor.dtype == DType::none || held_[static_cast<std::size_t>(index)])
      return call.fail(Code::unsupported)
             << "of a type that nothing here computes with, or an input at the same time";
    Dims shape = permuted(tensor.sizes, perm_of(tensor));
    if (shape.empty()) shape = {1};
    RUNNEL_TRY(check_shape(call, shape));
    std::vector<TensorId> first;
    std::optional<Scale> scale;
    if (const Scale* known = scale_of(index)) scale = *known;
    if (tensor.data) {
      RUNNEL_TRY(spend(call, tensor.bytes));
      RUNNEL_ASSIGN(
          const TensorId id,
          add_constant(call, {tensor.dtype, shape, {tensor.data->begin(), tensor.data->end()}}, "first"));
      first.push_back(id);
    }
    RUNNEL_ASSIGN(const TensorId id, emit(call, OpCode::read_variable, first, VariableOptions{number},
                                          {shape, tensor.dtype, scale}));
    variables_[index] = {number, shape};
    Operand operand{nullptr, id, tensor.dtype, tensor.sizes, perm_of(tensor)};
    held_[static_cast<std::size_t>(index)] = std::move(operand);
    occupy(tensor, index);
  }
  return {};
}

Status Builder::assign(const Call& call, std::int32_t index, const Operand& operand) {
  const Variable& variable = variables_.at(index);
  const Tensor& tensor = std::get<Tensor>(method_.values[static_cast<std::size_t>(index)]);
  if (operand.dims != tensor.sizes || operand.dtype != tensor.dtype)
    return call.fail() << "assigns " << text_of(operand.dims) << " to a mutable buffer of "
                       << text_of(tensor.sizes);
  RUNNEL_ASSIGN(const TensorId x, stored(call, operand, perm_of(tensor)));
  RUNNEL_ASSIGN(const TensorId y,
                emit(call, OpCode::assign_variable, {x}, VariableOptions{variable.number}, {}));
  Operand held{nullptr, y, tensor.dtype, tensor.sizes, perm_of(tensor)};
  held_[static_cast<std::size_t>(index)] = std::move(held);
  occupy(tensor, index);
  return {};
}

const Scale* Builder::scale_of(std::int32_t value) const {
  const auto found = scales_.find(value);
  return found == scales_.end() ? nullptr : &found->second;
}

// ---- tensors of the graph

TensorId Builder::add(compiler::Tensor tensor) {
  graph.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(graph.tensors.size() - 1);
}

Result<TensorId> Builder::add_constant(const Call& call, const Constant& constant, std::string_view what) {
  compiler::Tensor made;
  made.name = call.name + " " + std::to_string(call.index) + "." + std::string(what);
  made.dtype = constant.dtype;
  made.shape = constant.dims;
  if (made.shape.empty()) made.shape = {1};
  RUNNEL_TRY(check_shape(call, made.shape));
  RUNNEL_TRY(spend(call, constant.data.size()));
  made.data = constant.data;
  return add(std::move(made));
}

Result<TensorId> Builder::stored(const Call& call, const Operand& operand, const Perm& perm) {
  if (operand.constant != nullptr) {
    auto& known = constants_[{operand.constant.get(), perm}];
    if (known.first != nullptr) return known.second;
    RUNNEL_ASSIGN(const TensorId id,
                  add_constant(call, transposed({operand.dtype, operand.dims, operand.constant->data}, perm),
                               "constant"));
    known = {operand.constant, id};
    return id;
  }
  if (operand.perm == perm) return operand.id;
  const Perm from = inverse(operand.perm);
  Perm order;
  for (const int axis : perm) order.push_back(from[static_cast<std::size_t>(axis)]);
  const auto key = std::pair(operand.id, order);
  if (const auto found = orders_.find(key); found != orders_.end()) return found->second;
  // Where only axes of 1 change their places, the data stays as it is.
  const Dims shape = permuted(operand.dims, perm);
  int last = -1;
  bool moves = false;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (shape[i] == 1) continue;
    moves = moves || order[i] < last;
    last = order[i];
  }
  TensorId id = operand.id;
  if (moves) {
    RUNNEL_ASSIGN(
        id, emit(call, OpCode::transpose, {operand.id}, TransposeOptions{{order.begin(), order.end()}}, {}));
  } else if (shape != at(id).shape) {
    RUNNEL_ASSIGN(id, emit(call, OpCode::reshape, {operand.id}, {}, {shape, DType::none, std::nullopt}));
  }
  orders_.emplace(key, id);
  return id;
}

Result<Operand> Builder::reshaped(const Call& call, const Operand& operand, const Dims& dims) {
  if (operand.constant != nullptr) {
    RUNNEL_TRY(spend(call, operand.constant->data.size()));
    return constant_operand({operand.dtype, dims, operand.constant->data});
  }
  RUNNEL_TRY(check_shape(call, dims));
  // Axes of 1 that come and go do not change the order in which the others are stored.
  Dims wide_from, wide_to;
  std::copy_if(operand.dims.begin(), operand.dims.end(), std::back_inserter(wide_from),
               [](std::int32_t dim) { return dim != 1; });
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(wide_to),
               [](std::int32_t dim) { return dim != 1; });
  Perm perm;
  if (wide_from == wide_to) {
    std::vector<int> to, place(operand.dims.size(), -1);
    for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
      if (dims[static_cast<std::size_t>(i)] != 1) to.push_back(i);
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < operand.dims.size(); ++i) {
      if (operand.dims[i] != 1) place[i] = to[next++];
    }
    for (const int axis : operand.perm) {
      if (place[static_cast<std::size_t>(axis)] >= 0) perm.push_back(place[static_cast<std::size_t>(axis)]);
    }
    for (int axis = 0; axis < static_cast<int>(dims.size()); ++axis) {
      if (dims[static_cast<std::size_t>(axis)] != 1) continue;
      const auto neighbour = std::ranges::find(perm, axis - 1);
      perm.insert(neighbour == perm.end() ? perm.begin() : neighbour + 1, axis);
    }
  }
  const bool keeps = perm.size() == dims.size();
  TensorId id = operand.id;
  if (!keeps) {
    RUNNEL_ASSIGN(id, plain(call, operand));
    perm = identity_perm(dims.size());
  }
  Dims shape = permuted(dims, perm);
  if (shape.empty()) shape = {1};
  if (at(id).shape != shape) {
    RUNNEL_ASSIGN(id, emit(call, OpCode::reshape, {id}, {}, {shape, DType::none, std::nullopt}));
  }
  return Operand{nullptr, id, operand.dtype, dims, perm};
}

// ---- nodes

Result<TensorId> Builder::emit(const Call& call, OpCode code, std::vector<TensorId> inputs, Options options,
                               Made made, Arithmetic arithmetic, kernels::Rounding rounding) {
  RUNNEL_ASSIGN(const auto ids, emit_all(call, code, std::move(inputs), std::move(options), {std::move(made)},
                                         arithmetic, rounding));
  return ids[0];
}

Result<std::vector<TensorId>> Builder::emit_all(const Call& call, OpCode code, std::vector<TensorId> inputs,
                                                Options options, const std::vector<Made>& made,
                                                Arithmetic arithmetic, kernels::Rounding rounding) {
  Node node;
  node.name = call.name + " " + std::to_string(call.index);
  node.code = code;
  node.arithmetic = arithmetic;
  node.options = std::move(options);
  node.inputs = std::move(inputs);
  node.rounding = rounding;
  for (const Made& wanted : made) {
    compiler::Tensor tensor;
    tensor.name = node.name + "/" + std::to_string(graph.tensors.size());
    tensor.shape = wanted.shape;
    tensor.dtype = wanted.dtype != DType::none ? wanted.dtype : at(node.inputs[0]).dtype;
    if (wanted.scale) {
      tensor.scales = {wanted.scale->scale};
      tensor.zero_points = {wanted.scale->zero_point};
    } else if (!node.inputs.empty() && tensor.dtype == at(node.inputs[0]).dtype) {
      tensor.scales = at(node.inputs[0]).scales;
      tensor.zero_points = at(node.inputs[0]).zero_points;
    }
    node.outputs.push_back(add(std::move(tensor)));
  }
  RUNNEL_TRY(call.named(infer_node_shapes(graph, node)));
  for (const TensorId id : node.outputs) RUNNEL_TRY(check_shape(call, at(id).shape));
  mark_non_negative(graph, node);
  graph.nodes.push_back(node);
  return node.outputs;
}

Operand Builder::computed(TensorId id, Perm perm) {
  Operand out;
  out.id = id;
  out.dtype = at(id).dtype;
  out.dims = unpermuted<std::int32_t>(at(id).shape, perm);
  out.perm = std::move(perm);
  return out;
}

}  // namespace runnel::compiler::pte_source
