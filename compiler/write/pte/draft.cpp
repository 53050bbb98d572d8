#include "compiler/write/pte/draft.h"

#include <algorithm>
#include <numeric>

#include "inference/plan/arena_planner.h"

namespace runnel::compiler::pte_source {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr std::size_t kAlignment = 16;  // of planned memory
constexpr std::uint32_t kMemory = 1;    // the first one is reserved

Result<std::int8_t> scalar_type(const Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::uint8:
      return 0;
    case DType::int8:
      return 1;
    case DType::int16:
      return 2;
    case DType::int32:
      return 3;
    case DType::int64:
      return 4;
    case DType::float32:
      return 6;
    case DType::boolean:
      return 11;
    default:
      return Status(Code::unsupported)
             << "tensor \"" << tensor.name << "\": no form of " << runnel::name_of(tensor.dtype) << " here";
  }
}

}  // namespace

std::int32_t Draft::add(Boxed value) {
  values_.push_back(std::move(value));
  return static_cast<std::int32_t>(values_.size()) - 1;
}
std::int32_t Draft::add_tensor(const Tensor& tensor) {
  Boxed value;
  value.kind = pte::Values::Tensor;
  value.tensor = tensor;
  return add(std::move(value));
}
std::int32_t Draft::tensor(const Graph& graph, TensorId id) {
  const auto found = known_.find(id);
  if (found != known_.end()) return found->second;
  return known_[id] = add_tensor(graph.tensors[static_cast<std::size_t>(id)]);
}
std::int32_t Draft::none() { return add({}); }
std::int32_t Draft::integer(std::int64_t value) {
  Boxed boxed;
  boxed.kind = pte::Values::Int;
  boxed.integer = value;
  return add(std::move(boxed));
}
std::int32_t Draft::number(double value) {
  Boxed boxed;
  boxed.kind = pte::Values::Double;
  boxed.number = value;
  return add(std::move(boxed));
}
std::int32_t Draft::boolean(bool value) {
  Boxed boxed;
  boxed.kind = pte::Values::Bool;
  boxed.integer = value ? 1 : 0;
  return add(std::move(boxed));
}
std::int32_t Draft::integers(const std::vector<std::int32_t>& values) {
  Boxed list;
  list.kind = pte::Values::IntList;
  for (const std::int32_t value : values) list.items.push_back(integer(value));
  return add(std::move(list));
}
std::int32_t Draft::tensors(std::vector<std::int32_t> values) {
  Boxed list;
  list.kind = pte::Values::TensorList;
  list.items = std::move(values);
  return add(std::move(list));
}

void Draft::call(const std::string& name, std::vector<std::int32_t> operands, std::int32_t output) {
  operands.insert(operands.end(), {output, output});
  steps_.push_back({name, 0, std::move(operands)});
}
void Draft::call_delegate(std::int32_t delegate, std::vector<std::int32_t> operands) {
  steps_.push_back({{}, delegate, std::move(operands)});
}

// Tensors that are alive together do not overlap.
std::vector<std::size_t> Draft::places(const std::vector<std::int32_t>& inputs,
                                       const std::vector<std::int32_t>& outputs, std::size_t& memory) const {
  std::vector<ArenaItem> items(values_.size());
  const auto use = [&](std::int32_t value, std::int32_t step) {
    ArenaItem& item = items[static_cast<std::size_t>(value)];
    item.first = item.alive() ? std::min(item.first, step) : step;
    item.last = std::max(item.last, step);
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (values_[i].kind != pte::Values::Tensor) continue;
    const Tensor& tensor = values_[i].tensor;
    items[i].bytes =
        (size_of(tensor.dtype) * element_count(tensor.shape) + kAlignment - 1) / kAlignment * kAlignment;
  }
  const auto end = static_cast<std::int32_t>(steps_.size()) + 1;
  for (const std::int32_t value : inputs) use(value, 0);
  for (const std::int32_t value : outputs) use(value, end);
  for (std::int32_t step = 1; step < end; ++step) {
    for (const std::int32_t operand : steps_[static_cast<std::size_t>(step) - 1].operands) {
      const Boxed& value = values_[static_cast<std::size_t>(operand)];
      if (value.kind == pte::Values::Tensor) use(operand, step);
      if (value.kind == pte::Values::TensorList) {
        for (const std::int32_t item : value.items) use(item, step);
      }
    }
  }
  std::vector<std::int32_t> work(kArenaWork * items.size());
  memory = plan_arena(items, kAlignment, work);
  std::vector<std::size_t> offsets;
  for (const ArenaItem& item : items) offsets.push_back(item.offset);
  return offsets;
}

Result<Draft::Plan> Draft::write(FlatBufferBuilder& to, const std::vector<std::int32_t>& inputs,
                                 const std::vector<std::int32_t>& outputs) const {
  Plan plan;
  const std::vector<std::size_t> offsets = places(inputs, outputs, plan.memory);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Boxed& from = values_[i];
    Offset<void> value = 0;
    switch (from.kind) {
      case pte::Values::Int:
        value = pte::CreateInt(to, from.integer).Union();
        break;
      case pte::Values::Double:
        value = pte::CreateDouble(to, from.number).Union();
        break;
      case pte::Values::Bool:
        value = pte::CreateBool(to, from.integer != 0).Union();
        break;
      case pte::Values::IntList:
        value = pte::CreateIntList(
                    to, to.CreateVector(std::vector<std::int64_t>(from.items.begin(), from.items.end())))
                    .Union();
        break;
      case pte::Values::TensorList:
        value = pte::CreateTensorList(to, to.CreateVector(from.items)).Union();
        break;
      case pte::Values::Tensor: {
        RUNNEL_ASSIGN(const std::int8_t type, scalar_type(from.tensor));
        std::vector<std::uint8_t> order(from.tensor.shape.size());
        std::iota(order.begin(), order.end(), std::uint8_t{0});
        const std::uint64_t offset = offsets[i];
        const auto place = pte::CreateAllocationDetails(to, kMemory, static_cast<std::uint32_t>(offset),
                                                        static_cast<std::uint32_t>(offset >> 32));
        value = pte::CreateTensor(to, type, 0, to.CreateVector(from.tensor.shape), to.CreateVector(order),
                                  false, 0, place)
                    .Union();
        break;
      }
      default:
        value = pte::CreateNull(to).Union();
    }
    plan.values.push_back(pte::CreateValue(to, from.kind, value));
  }
  std::vector<std::string> kernels;
  for (const Step& step : steps_) {
    if (step.kernel.empty()) {
      plan.instructions.push_back(pte::CreateInstruction(
          to, pte::InstructionArguments::DelegateCall,
          pte::CreateDelegateCall(to, step.delegate, to.CreateVector(step.operands)).Union()));
      continue;
    }
    auto found = std::ranges::find(kernels, step.kernel);
    if (found == kernels.end()) {
      const std::size_t dot = step.kernel.find('.');
      plan.operators.push_back(pte::CreateOperator(to, to.CreateString(step.kernel.substr(0, dot)),
                                                   to.CreateString(step.kernel.substr(dot + 1))));
      kernels.push_back(step.kernel);
      found = kernels.end() - 1;
    }
    plan.instructions.push_back(
        pte::CreateInstruction(to, pte::InstructionArguments::KernelCall,
                               pte::CreateKernelCall(to, static_cast<std::int32_t>(found - kernels.begin()),
                                                     to.CreateVector(step.operands))
                                   .Union()));
  }
  return plan;
}

}  // namespace runnel::compiler::pte_source
