#include "compiler/import/tflite/variables.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace runnel::compiler::tflite_source {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// One resource variable and what touches it.
struct Variable {
  std::vector<std::size_t> reads, assigns;  // operators of the main graph
};

class Finder {
 public:
  explicit Finder(const Model& model) : model_(model), graph_(model.subgraphs[0]) {}

  Result<Windows> find() {
    RUNNEL_TRY(collect());
    for (const auto& [name, variable] : variables_) RUNNEL_TRY(match(name, variable));
    return std::move(windows_);
  }

 private:
  Status collect();
  Status match(const std::string& name, const Variable& variable);
  Status check_initial(const std::string& name, const Tensor& state) const;
  // The operator that makes a tensor, and those that read it.
  [[nodiscard]] std::size_t maker(std::int32_t tensor) const;
  [[nodiscard]] std::vector<std::size_t> readers(std::int32_t tensor) const;
  [[nodiscard]] const Operator& op(std::size_t index) const { return graph_.operators[index]; }
  [[nodiscard]] bool is(std::size_t index, Builtin code) const {
    return index != kNone && op(index).code == code;
  }
  // Whether operator `slice` takes the last elements of `axis` and all of the others, as many as it says.
  [[nodiscard]] bool takes_last(std::size_t slice, std::size_t axis) const;
  [[nodiscard]] std::optional<std::size_t> axis_of(std::size_t concat, std::size_t rank) const;

  const Model& model_;
  const Subgraph& graph_;
  std::map<std::string, Variable> variables_;
  std::map<std::string, const Tensor*> initial_;
  Windows windows_;
};

std::string shared_name(const Operator& op) {
  const auto* options = op.table->builtin_options_as_VarHandle();
  return options == nullptr || options->shared_name() == nullptr ? std::string()
                                                                 : options->shared_name()->str();
}

std::size_t Finder::maker(std::int32_t tensor) const {
  for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
    if (std::ranges::find(op(i).outputs, tensor) != op(i).outputs.end()) return i;
  }
  return kNone;
}

std::vector<std::size_t> Finder::readers(std::int32_t tensor) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
    if (std::ranges::find(op(i).inputs, tensor) != op(i).inputs.end()) found.push_back(i);
  }
  return found;
}

Status Finder::collect() {
  const auto walk = [&](const Subgraph& graph, auto&& touched) -> Status {
    std::map<std::int32_t, std::string> handles;
    for (std::size_t i = 0; i < graph.operators.size(); ++i) {
      const Operator& op = graph.operators[i];
      if (op.code == Builtin::VAR_HANDLE && op.outputs.size() == 1) handles[op.outputs[0]] = shared_name(op);
      if (op.code != Builtin::READ_VARIABLE && op.code != Builtin::ASSIGN_VARIABLE) continue;
      const bool read = op.code == Builtin::READ_VARIABLE;
      if (op.inputs.size() != (read ? 1u : 2u) || op.outputs.size() != (read ? 1u : 0u) ||
          (!read && op.inputs[1] < 0)) {
        return Status(Code::invalid_data) << "operator " << i << " (" << (read ? "READ" : "ASSIGN")
                                          << "_VARIABLE): unexpected number of operands";
      }
      const auto handle = handles.find(op.inputs[0]);
      if (handle == handles.end())
        return Status(Code::invalid_data) << "operator " << i << " uses a variable before its VAR_HANDLE";
      touched(handle->second, i, op);
    }
    return {};
  };
  RUNNEL_TRY(walk(graph_, [&](const std::string& name, std::size_t i, const Operator& op) {
    Variable& variable = variables_[name];
    (op.code == Builtin::READ_VARIABLE ? variable.reads : variable.assigns).push_back(i);
  }));
  for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
    const Builtin code = op(i).code;
    if (code == Builtin::VAR_HANDLE || code == Builtin::READ_VARIABLE || code == Builtin::ASSIGN_VARIABLE ||
        code == Builtin::CALL_ONCE)
      windows_.absorbed.insert(i);
    if (code != Builtin::CALL_ONCE) continue;
    const auto* options = op(i).table->builtin_options_as_CallOnce();
    const int index = options == nullptr ? -1 : options->init_subgraph_index();
    if (index < 1 || static_cast<std::size_t>(index) >= model_.subgraphs.size())
      return Status(Code::invalid_data)
             << "CALL_ONCE of graph " << index << " of " << model_.subgraphs.size();
    const Subgraph& init = model_.subgraphs[static_cast<std::size_t>(index)];
    RUNNEL_TRY(walk(init, [&](const std::string& name, std::size_t, const Operator& op) {
      if (op.code == Builtin::ASSIGN_VARIABLE)
        initial_[name] = &init.tensors[static_cast<std::size_t>(op.inputs[1])];
    }));
  }
  return {};
}

std::optional<std::size_t> Finder::axis_of(std::size_t concat, std::size_t rank) const {
  const auto* options = op(concat).table->builtin_options_as_Concatenation();
  if (options == nullptr || options->fused_activation_function() != 0) return std::nullopt;
  const int axis = options->axis() < 0 ? options->axis() + static_cast<int>(rank) : options->axis();
  if (axis < 0 || static_cast<std::size_t>(axis) >= rank) return std::nullopt;
  return static_cast<std::size_t>(axis);
}

bool Finder::takes_last(std::size_t slice, std::size_t axis) const {
  if (op(slice).inputs.empty() || op(slice).inputs[0] < 0 || op(slice).outputs.size() != 1) return false;
  const std::vector<std::int32_t>& shape =
      graph_.tensors[static_cast<std::size_t>(op(slice).inputs[0])].shape;
  const auto plan = plan_slice(graph_, op(slice), shape);
  if (!plan.ok() || axis >= shape.size()) return false;
  if (graph_.tensors[static_cast<std::size_t>(op(slice).outputs[0])].shape != plan->length) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int32_t first = i == axis ? shape[i] - plan->length[i] : 0;
    if (plan->shrunk[i] || plan->step[i] != 1 || plan->begin[i] != first ||
        (i != axis && plan->length[i] != shape[i]))
      return false;
  }
  return true;
}

// What a variable starts with must be what a cache starts with: the zero point.
Status Finder::check_initial(const std::string& name, const Tensor& state) const {
  const auto found = initial_.find(name);
  if (found == initial_.end() || !found->second->data)
    return Status(Code::unsupported) << "variable \"" << name << "\" does not start with a constant";
  const Tensor& value = *found->second;
  if (value.dtype != state.dtype || value.shape != state.shape)
    return Status(Code::invalid_data)
           << "variable \"" << name << "\" starts with a value of another type or shape";
  // Of 64 bits too, little endian.
  const std::int64_t zero = state.zero_points.empty() ? 0 : state.zero_points[0];
  const std::size_t element = size_of(value.dtype);
  for (std::size_t at = 0; at < value.data->size(); at += element) {
    if (std::memcmp(value.data->data() + at, &zero, std::min<std::size_t>(element, sizeof zero)) != 0) {
      return Status(Code::unsupported)
             << "variable \"" << name << "\" starts with something else than its zero point " << zero;
    }
  }
  return {};
}

Status Finder::match(const std::string& name, const Variable& variable) {
  const auto fail = [&] {
    return Status(Code::unsupported) << "variable \"" << name
                                     << "\": used in a way that is not understood, expected the last frames "
                                        "of a concatenation, read and assigned once";
  };
  if (variable.reads.empty() && variable.assigns.empty()) return {};
  if (variable.reads.size() != 1 || variable.assigns.size() != 1) return fail();
  const std::int32_t state = op(variable.reads[0]).outputs[0], assigned = op(variable.assigns[0]).inputs[1];
  const Tensor& tensor = graph_.tensors[static_cast<std::size_t>(state)];
  RUNNEL_TRY(check_initial(name, tensor));
  // What is concatenated before x: the variable itself, or its last frames.
  std::int32_t front = state;
  std::size_t inner = kNone;
  std::vector<std::size_t> users = readers(state);
  if (users.size() == 1 && is(users[0], Builtin::STRIDED_SLICE) && op(users[0]).outputs.size() == 1) {
    inner = users[0];
    front = op(inner).outputs[0];
    users = readers(front);
  }
  if (users.size() != 1 || !is(users[0], Builtin::CONCATENATION)) return fail();
  const std::size_t concat = users[0];
  if (op(concat).inputs.size() != 2 || op(concat).inputs[0] != front || op(concat).inputs[1] == front ||
      op(concat).outputs.size() != 1)
    return fail();
  const Tensor& kept = graph_.tensors[static_cast<std::size_t>(front)];
  const auto axis = axis_of(concat, kept.shape.size());
  if (!axis || kept.shape[*axis] < 1) return fail();
  if (graph_.tensors[static_cast<std::size_t>(assigned)].shape != tensor.shape) return fail();
  if (inner != kNone) {
    if (assigned != op(concat).outputs[0] || !takes_last(inner, *axis)) return fail();
    windows_.absorbed.insert(inner);
  } else {
    const std::size_t outer = maker(assigned);
    const bool last = is(outer, Builtin::STRIDED_SLICE) && takes_last(outer, *axis) &&
                      op(outer).inputs[0] == op(concat).outputs[0];
    if (!last) return fail();
    if (readers(assigned).size() == 1) windows_.absorbed.insert(outer);
  }
  windows_.frames[concat] = kept.shape[*axis];
  return {};
}

}  // namespace

Result<Windows> find_windows(const Model& model) { return Finder(model).find(); }

Result<SlicePlan> plan_slice(const Subgraph& graph, const Operator& op,
                             const std::vector<std::int32_t>& shape) {
  const auto* options = op.table->builtin_options_as_StridedSlice();
  const auto fail = [&](Code code) { return Status(code) << "operator " << op.name << " (STRIDED_SLICE): "; };
  if (options == nullptr || op.inputs.size() != 4)
    return fail(Code::invalid_data) << "options or operands are missing";
  if (options->ellipsis_mask() != 0 || options->new_axis_mask() != 0)
    return fail(Code::unsupported) << "an ellipsis or new axes";
  std::vector<std::int64_t> numbers[3];
  for (std::size_t k = 0; k < 3; ++k) {
    if (op.inputs[k + 1] < 0) return fail(Code::invalid_data) << "operand " << k + 1 << " is absent";
    auto found = integers_of(graph.tensors[static_cast<std::size_t>(op.inputs[k + 1])]);
    if (!found.ok()) return fail(found.status().code()) << found.status().text();
    numbers[k] = std::move(found).value();
    if (numbers[k].size() > shape.size() || numbers[k].size() != numbers[0].size()) {
      return fail(Code::invalid_data) << numbers[k].size() << " bounds for " << shape.size() << " axes";
    }
  }
  SlicePlan plan;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t size = shape[i];
    const bool given = i < numbers[0].size();
    const std::int64_t step = given ? numbers[2][i] : 1;
    const bool shrink = given && (options->shrink_axis_mask() >> i & 1) != 0;
    if (step == 0 || step < -(1 << 30) || step > (1 << 30))
      return fail(Code::invalid_data) << "step " << step << " on axis " << i;
    const auto bound = [&](std::int64_t value) {  // from the end where negative, then inside
      if (value < 0) value += size;
      return step > 0 ? std::clamp<std::int64_t>(value, 0, size)
                      : std::clamp<std::int64_t>(value, -1, size - 1);
    };
    const bool from_edge = !given || ((options->begin_mask() >> i & 1) != 0 && !shrink),
               to_edge = !given || (options->end_mask() >> i & 1) != 0;
    // `offset`: ends count from their begins. Far outside every size the exact number does not matter.
    const auto near = [](std::int64_t value) {
      constexpr std::int64_t kFar = std::int64_t{1} << 40;
      return std::clamp(value, -kFar, kFar);
    };
    const std::int64_t begin = from_edge ? (step > 0 ? 0 : size - 1) : bound(numbers[0][i]);
    std::int64_t end =
        to_edge ? (step > 0 ? size : -1)
                : bound(options->offset() ? near(numbers[0][i]) + near(numbers[1][i]) : numbers[1][i]);
    if (shrink) end = begin + (step > 0 ? 1 : -1);
    const std::int64_t length = (end - begin + step - (step > 0 ? 1 : -1)) / step;
    if (length < 1 || begin < 0 || begin >= size)
      return fail(Code::invalid_data) << "nothing of " << size << " elements on axis " << i;
    plan.begin.push_back(static_cast<std::int32_t>(begin));
    plan.step.push_back(static_cast<std::int32_t>(step));
    plan.length.push_back(static_cast<std::int32_t>(length));
    plan.shrunk.push_back(shrink);
  }
  return plan;
}

}  // namespace runnel::compiler::tflite_source
