// What the conversions of single kernels share: the graph that grows, and which of the program's memory holds
// what.
//
// A program says of each tensor where it lies in memory, and views are tensors at the place of another one
// that no instruction makes. So the builder follows the memory: a tensor that is read is either the one that
// was written at its place last, or the same bytes in another shape.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/import/pte/constant.h"
#include "compiler/import/pte/source.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler::pte_source {

// A value of the program: a constant, or a tensor of the graph with its axes in any order. Transpositions
// change only `perm`.
struct Operand {
  ConstantPtr constant;
  TensorId id = kAbsent;
  DType dtype = DType::none;
  Dims dims;  // in the program's order of axes
  Perm perm;  // of tensors
};
Operand constant_operand(Constant constant);

// One instruction, as its conversion sees it: the operands of a kernel, the last of which are its outputs.
struct Call {
  std::string name;       // "aten::add.out"
  std::size_t index = 0;  // of the instruction
  std::span<const std::int32_t> args;

  [[nodiscard]] Status fail(Code code = Code::invalid_data) const {
    return Status(code) << "instruction " << index << " (" << name << "): ";
  }
  // A failure of a called function, prefixed with the instruction.
  [[nodiscard]] Status named(const Status& status) const {
    return status.ok() ? status : fail(status.code()) << status.text();
  }
};

// What quantize and dequantize kernels and those of cortex_m say about an int8 tensor that they read or
// write.
struct Scale {
  float scale = 1;  // 1: unknown; then integers are in a unit of their own
  std::int32_t zero_point = 0;
};

class Builder {
 public:
  Builder(const Method& method, std::size_t file_bytes);
  Graph graph;

  [[nodiscard]] const Method& method() const { return method_; }

  // ---- operands of a call. Errors: invalid_data when there is something else.
  [[nodiscard]] bool is_none(const Call& call, std::size_t position) const;
  Result<Operand> operand(const Call& call, std::size_t position);
  // Errors: unsupported when it is computed at run time. Null when it is None.
  Result<ConstantPtr> constant(const Call& call, std::size_t position);
  Result<std::int64_t> integer(const Call& call, std::size_t position) const;
  Result<std::int64_t> integer(const Call& call, std::size_t position, std::int64_t low,
                               std::int64_t high) const;
  Result<double> number(const Call& call, std::size_t position) const;
  Result<bool> boolean(const Call& call, std::size_t position) const;
  Result<std::vector<std::int64_t>> integers(const Call& call, std::size_t position) const;
  Result<std::vector<std::int32_t>> tensors(const Call& call,
                                            std::size_t position) const;  // values; -1: none
  Result<int> axis(const Call& call, std::size_t position, std::size_t rank) const;
  // The tensor that operand `position` is, whatever it holds.
  Result<const Tensor*> tensor(const Call& call, std::size_t position) const;

  // ---- values
  Result<Operand> read(const Call& call, std::int32_t value);
  // Errors: invalid_data when the program says another shape or type.
  Status write(const Call& call, std::int32_t value, Operand operand);
  // Output of a kernel that has one: its last two operands are the same.
  Status result(const Call& call, Operand operand);
  Status add_input(std::int32_t value, const std::string& name);
  // What is held in mutable buffers between calls.
  Status add_variables();
  [[nodiscard]] bool is_variable(std::int32_t value) const { return variables_.contains(value); }
  Status assign(const Call& call, std::int32_t value, const Operand& operand);
  [[nodiscard]] bool was_written(std::int32_t value) const {
    return held_[static_cast<std::size_t>(value)].has_value();
  }
  [[nodiscard]] bool stateful() const { return !variables_.empty(); }
  [[nodiscard]] const Scale* scale_of(std::int32_t value) const;
  void set_scales(std::map<std::int32_t, Scale> scales) { scales_ = std::move(scales); }

  // ---- tensors of the graph
  [[nodiscard]] compiler::Tensor& at(TensorId id) { return graph.tensors[static_cast<std::size_t>(id)]; }
  TensorId add(compiler::Tensor tensor);
  Result<TensorId> add_constant(const Call& call, const Constant& constant, std::string_view what);
  // The tensor that stores an operand in this order; transposed where it is stored in another one.
  Result<TensorId> stored(const Call& call, const Operand& operand, const Perm& perm);
  Result<TensorId> plain(const Call& call, const Operand& operand) {
    return stored(call, operand, identity_perm(operand.dims.size()));
  }
  // The same elements, in the program's order of axes, in another shape.
  Result<Operand> reshaped(const Call& call, const Operand& operand, const Dims& dims);

  // ---- nodes
  struct Made {
    std::vector<std::int32_t> shape;  // where the operator leaves it open
    DType dtype = DType::none;        // none: that of the first input
    std::optional<Scale> scale;       // none: that of the first input, if the types are the same
  };
  Result<TensorId> emit(const Call& call, OpCode code, std::vector<TensorId> inputs, Options options,
                        Made made, Arithmetic arithmetic = Arithmetic::espdl,
                        kernels::Rounding rounding = kernels::Rounding::tflite_double);
  Result<std::vector<TensorId>> emit_all(const Call& call, OpCode code, std::vector<TensorId> inputs,
                                         Options options, const std::vector<Made>& made,
                                         Arithmetic arithmetic = Arithmetic::espdl,
                                         kernels::Rounding rounding = kernels::Rounding::tflite_double);
  // What an operator computed, as a value whose axes are stored in this order.
  [[nodiscard]] Operand computed(TensorId id, Perm perm);

 private:
  struct Region {
    std::uint64_t end = 0;
    std::int32_t value = -1;
  };
  struct Variable {
    int number = 0;
    Dims shape;
  };
  using Memory = std::map<std::uint64_t, Region>;

  [[nodiscard]] const Value& value(const Call& call, std::size_t position) const {
    return method_.values[static_cast<std::size_t>(call.args[position])];
  }
  Result<ConstantPtr> load(const Call& call, std::int32_t value);
  Result<Operand> reinterpreted(const Call& call, std::int32_t from, std::int32_t to);
  void occupy(const Tensor& tensor, std::int32_t value);
  Status spend(const Call& call, std::size_t bytes);

  const Method& method_;
  std::vector<std::optional<Operand>> held_;  // per value
  std::map<std::uint32_t, Memory> memories_;  // by first byte; regions do not overlap
  std::map<std::int32_t, ConstantPtr> loaded_;
  std::map<std::pair<const Constant*, Perm>, std::pair<ConstantPtr, TensorId>> constants_;
  std::map<std::pair<TensorId, Perm>, TensorId> orders_;
  std::map<std::int32_t, Variable> variables_;  // by value
  std::map<std::int32_t, Scale> scales_;        // by value
  std::size_t budget_;                          // bytes of constants that the file warrants
};

}  // namespace runnel::compiler::pte_source
