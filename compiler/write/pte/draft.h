// An ExecuTorch program that is being written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/import/pte/pte_generated.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler::pte_source {

// Values are boxed one by one: operands of instructions are indices of them, and lists hold indices of
// integers.
class Draft {
 public:
  std::int32_t add_tensor(const Tensor& tensor);
  // The graph's tensor, added when it is not there yet.
  std::int32_t tensor(const Graph& graph, TensorId id);
  std::int32_t none();
  std::int32_t integer(std::int64_t value);
  std::int32_t number(double value);
  std::int32_t boolean(bool value);
  std::int32_t integers(const std::vector<std::int32_t>& values);
  std::int32_t tensors(std::vector<std::int32_t> values);

  // `name`: "aten::cat.out". Its output is stored as the last operand twice, as ExecuTorch wants it.
  void call(const std::string& name, std::vector<std::int32_t> operands, std::int32_t output);
  void call_delegate(std::int32_t delegate, std::vector<std::int32_t> operands);

  // Plans the memory of all tensors; gives the program's values, instructions and operators.
  struct Plan {
    std::vector<flatbuffers::Offset<pte::Value>> values;
    std::vector<flatbuffers::Offset<pte::Instruction>> instructions;
    std::vector<flatbuffers::Offset<pte::Operator>> operators;
    std::size_t memory = 0;  // bytes
  };
  Result<Plan> write(flatbuffers::FlatBufferBuilder& to, const std::vector<std::int32_t>& inputs,
                     const std::vector<std::int32_t>& outputs) const;

 private:
  struct Boxed {
    pte::Values kind = pte::Values::Null;
    std::int64_t integer = 0;
    double number = 0;
    std::vector<std::int32_t> items;  // of lists
    Tensor tensor;
  };
  struct Step {
    std::string kernel;  // empty: a delegate
    std::int32_t delegate = 0;
    std::vector<std::int32_t> operands;
  };
  std::int32_t add(Boxed value);
  [[nodiscard]] std::vector<std::size_t> places(const std::vector<std::int32_t>& inputs,
                                                const std::vector<std::int32_t>& outputs,
                                                std::size_t& memory) const;

  std::vector<Boxed> values_;
  std::vector<Step> steps_;
  std::map<TensorId, std::int32_t> known_;  // of the graph's tensors
};

}  // namespace runnel::compiler::pte_source
