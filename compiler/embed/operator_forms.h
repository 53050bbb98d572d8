// The compiled forms of operators, by family.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "compiler/embed/compiled_operators.h"
#include "compiler/embed/constant_pool.h"
#include "inference/ops/support.h"
#include "inference/prepared.h"

namespace runnel::compiler {

// What a compiled form is made of.
struct OperatorSource {
  const Prepared& prepared;
  int index;  // in the model
  const BoundOperator& bound;
  TensorNumbers& tensors;
  ConstantPool& pool;

  [[nodiscard]] const Model& model() const { return prepared.model(); }
  [[nodiscard]] const fb::Operator& op() const { return model().op(index); }
  // The bound operator, whose structure follows from code and arithmetic (inference/ops/bound.h).
  template <class Bound>
  [[nodiscard]] const Bound& as() const {
    return static_cast<const Bound&>(bound);
  }
  // An operand inside a constant.
  [[nodiscard]] std::string text_of(const ops::Operand& operand) const;
};

// A direct call's tensors. Error: unsupported, for histories whose offsets do not fit into 32 bits.
Status connect(const ops::Operand& x, int y, TensorNumbers& tensors, CompiledOperator& out,
               const ops::Operand* addend = nullptr);
// A direct call of one operand: `type` and `value` of its constant, `run` the kernel.
Result<CompiledOperator> direct_form(const OperatorSource& source, const ops::Operand& x, int y,
                                     std::string type, std::string value, std::string run);

// compiled_elements.cpp
Result<CompiledOperator> compile_binary(const OperatorSource& source);
Result<CompiledOperator> compile_affine_pair(const OperatorSource& source);
Result<CompiledOperator> compile_unary(const OperatorSource& source);
Result<CompiledOperator> compile_affine_unary(const OperatorSource& source);
Result<CompiledOperator> compile_function(const OperatorSource& source);
// compiled_movement.cpp
Result<CompiledOperator> compile_copy(const OperatorSource& source);
Result<CompiledOperator> compile_move(const OperatorSource& source);
Result<CompiledOperator> compile_strided(const OperatorSource& source);
Result<CompiledOperator> compile_parts(const OperatorSource& source);
// compiled_attention.cpp
Result<CompiledOperator> compile_attention(const OperatorSource& source);
Result<CompiledOperator> compile_fixed_attention(const OperatorSource& source);
Result<CompiledOperator> compile_norm(const OperatorSource& source);
Result<CompiledOperator> compile_fixed_norm(const OperatorSource& source);
Result<CompiledOperator> compile_softmax(const OperatorSource& source);
Result<CompiledOperator> compile_affine_softmax(const OperatorSource& source);
Result<CompiledOperator> compile_matmul(const OperatorSource& source);

}  // namespace runnel::compiler
