// Values that a session keeps from call to call, read and assigned by operators of their own
// (inference/model/model.fbs).
#include <cstring>

#include "inference/ops/definitions.h"
#include "inference/ops/support.h"

namespace runnel::ops {
namespace {

struct BoundVariable : BoundOperator {
  Operand x;
  const std::byte* first = nullptr;  // null: zeros
  std::int32_t y = -1;
  std::size_t state = 0, bytes = 0, element = 1;
  std::int64_t zero_point = 0;  // its first bytes are those of a narrower type
};
constexpr std::int32_t kMaxVariables = 256;  // bounds the work of comparing them

void run_read(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundVariable&>(self);
  std::memcpy(context.data[op.y], context.state + op.state, op.bytes);
}
void run_assign(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundVariable&>(self);
  std::memcpy(context.state + op.state, op.x.at(context), op.bytes);
  std::memmove(context.data[op.y], op.x.at(context), op.bytes);
}
void reset_variable(const BoundOperator& self, std::byte* state) noexcept {
  const auto& op = static_cast<const BoundVariable&>(self);
  std::byte* const at = state + op.state;
  if (op.first != nullptr) {
    std::memcpy(at, op.first, op.bytes);
    return;
  }
  std::memset(at, 0, op.bytes);
  for (std::size_t i = 0; op.zero_point != 0 && i < op.bytes; i += op.element)
    std::memcpy(at + i, &op.zero_point, op.element);
}

std::int32_t variable_of(const fb::Operator& op) noexcept {
  const fb::VariableOptions* const o = op.options_as_VariableOptions();
  return o == nullptr ? -1 : o->variable();
}

// All operators on one variable agree with the first one, which reads it.
Status check_agreement(const Model& model, const fb::Operator& op) noexcept {
  const TensorView y = output(model, op);
  for (int i = 0; i < model.operator_count(); ++i) {
    const fb::Operator& first = model.op(i);
    if ((code_of(first) != OpCode::read_variable && code_of(first) != OpCode::assign_variable) ||
        variable_of(first) != variable_of(op))
      continue;
    if (code_of(first) != OpCode::read_variable)
      return Status(Code::invalid_data) << "variable " << variable_of(op) << " is assigned before it is read";
    const TensorView its = output(model, first);
    if (its.dtype != y.dtype || its.zero_point() != y.zero_point()) {
      return Status(Code::invalid_data)
             << "variable " << variable_of(op) << " is " << name_of(y.dtype) << " here and "
             << name_of(its.dtype) << " or of another zero point elsewhere";
    }
    if (code_of(op) == OpCode::read_variable && input_index(first, 0) != input_index(op, 0)) {
      return Status(Code::invalid_data) << "variable " << variable_of(op) << " has two first values";
    }
    return expect_shape(y.shape, its.shape, "the variable");
  }
  return {};
}

Status check_variable(const Model& model, const fb::Operator& op) noexcept {
  const bool read = code_of(op) == OpCode::read_variable;
  RUNNEL_TRY(check_operands(op, read ? 0 : 1, 1));
  RUNNEL_TRY(options<fb::VariableOptions>(op).status());
  if (variable_of(op) < 0 || variable_of(op) >= kMaxVariables) {
    return Status(Code::invalid_data)
           << "variable " << variable_of(op) << ", expected 0 to " << kMaxVariables - 1;
  }
  const TensorView y = output(model, op);
  if (y.zero_points.size() > 1)
    return Status(Code::unsupported) << "a variable with a zero point per channel";
  if (input_index(op, 0) >= 0) {
    const TensorView x = input(model, op, 0);
    if (read && !x.constant)
      return Status(Code::invalid_data) << "its first value is computed, expected a constant";
    if (x.dtype != y.dtype)
      return Status(Code::invalid_data)
             << "input " << name_of(x.dtype) << ", output " << name_of(y.dtype) << ", expected one type";
    RUNNEL_TRY(expect_shape(y.shape, x.shape, "the output"));
  }
  return check_agreement(model, op);
}

Status stream_variable(const Model&, const fb::Operator&, TimeAxes, streaming::NodeRule&) noexcept {
  return Status(Code::unsupported) << "keeps a value from call to call: the model runs in steps of the "
                                      "length it was exported for (`infer --sequence`)";
}

Result<const BoundOperator*> prepare_variable(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const bool read = code_of(op) == OpCode::read_variable;
  const TensorView y = output(context.model(), op);
  RUNNEL_ASSIGN(BoundVariable* const bound, allocate<BoundVariable>(context, read ? run_read : run_assign));
  bound->y = output_index(op);
  bound->bytes = y.bytes();
  bound->element = size_of(y.dtype);
  bound->zero_point = y.zero_point();
  bound->state = context.request_variable(variable_of(op), bound->bytes);
  if (!read) {
    bound->x = operand(context, 0);
  } else {
    bound->reset = reset_variable;
    if (input_index(op, 0) >= 0) {
      bound->first = input(context.model(), op, 0).data.data();
      RUNNEL_TRY(context.read_constant(input_index(op, 0), &bound->first));
    }
  }
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kReadVariable{OpCode::read_variable, Arithmetic::espdl, "read_variable",
                                       check_variable,        stream_variable,   prepare_variable};
const OperatorDefinition kAssignVariable{OpCode::assign_variable, Arithmetic::espdl, "assign_variable",
                                         check_variable,          stream_variable,   prepare_variable};

}  // namespace runnel::ops
