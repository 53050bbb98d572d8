// Operators as constants: from what they were bound to on this machine to C++ that says the same
// (kernels/rom_kernels.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/embed/constant_pool.h"
#include "inference/ops/support.h"
#include "inference/prepared.h"

namespace runnel::compiler {

// The tensors that a compiled model keeps: those that are computed, and constants that operators read through
// RunContext::data.
class TensorNumbers {
 public:
  // Its number, given on first use.
  int of(int tensor);
  [[nodiscard]] const std::vector<int>& kept() const noexcept { return kept_; }

 private:
  std::map<int, int> numbers_;
  std::vector<int> kept_;
};

// The replacement of a bound operator: a constant, and the kernel (DirectCall) that takes it and up to two
// tensors; or a constant that is itself a bound operator, for what needs more than that.
struct CompiledOperator {
  std::string before;                        // definitions that the constant points to
  std::string type, value;                   // of the constant: its type and initializer
  std::string run;                           // the kernel; empty: the constant is a BoundOperator
  int x = -1, addend = -1, y = -1;           // tensors; addend -1: none
  std::int64_t x_back = 0, addend_back = 0;  // bytes before their blocks
};
// `bound` is operator `index` of `prepared`. Error: unsupported, saying why, where there is no compiled form.
Result<CompiledOperator> compile_operator(const Prepared& prepared, int index, const BoundOperator& bound,
                                          TensorNumbers& tensors, ConstantPool& pool);

}  // namespace runnel::compiler
