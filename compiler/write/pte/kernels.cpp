#include "compiler/write/pte/kernels.h"

#include <cmath>
#include <limits>

namespace runnel::compiler::pte_source {
namespace {

// One node on its way to calls.
class Conversion {
 public:
  Conversion(Draft& draft, const Graph& graph, const Node& node)
      : draft_(draft), graph_(graph), node_(node) {}

  Status run() {
    for (const TensorId id : node_.inputs) {
      if (id == kAbsent || tensor(id).data) return refuse() << "with constants";
    }
    switch (node_.code) {
      case OpCode::quantize:
        return quantize();
      case OpCode::dequantize:
        return dequantize();
      case OpCode::reshape:
        draft_.call("aten::view_copy.out", {input(), draft_.integers(out().shape)}, output());
        return {};
      case OpCode::transpose: {
        const auto& perm = std::get<TransposeOptions>(node_.options).perm;
        draft_.call("aten::permute_copy.out",
                    {input(), draft_.integers(std::vector<std::int32_t>(perm.begin(), perm.end()))},
                    output());
        return {};
      }
      case OpCode::concat:
        return concat();
      case OpCode::slice:
        return slice();
      case OpCode::relu:
        return function("aten::relu.out");
      case OpCode::sigmoid:
        return function("aten::sigmoid.out");
      case OpCode::tanh:
        return function("aten::tanh.out");
      case OpCode::exp:
        return function("aten::exp.out");
      case OpCode::log:
        return function("aten::log.out");
      case OpCode::sqrt:
        return function("aten::sqrt.out");
      case OpCode::abs:
        return function("aten::abs.out");
      case OpCode::neg:
        return function("aten::neg.out");
      case OpCode::add:
        return binary("aten::add.out", true);
      case OpCode::sub:
        return binary("aten::sub.out", true);
      case OpCode::mul:
        return binary("aten::mul.out", false);
      case OpCode::div:
        return binary("aten::div.out", false);
      case OpCode::max:
        return binary("aten::maximum.out", false);
      case OpCode::min:
        return binary("aten::minimum.out", false);
      case OpCode::softmax:
        return softmax();
      default:
        return refuse() << "ExecuTorch has no such kernel, or none with the same results";
    }
  }

 private:
  [[nodiscard]] Status refuse() const {
    return Status(Code::unsupported) << "\"" << node_.name << "\" (" << name_of(node_.code) << "): ";
  }
  [[nodiscard]] const Tensor& tensor(TensorId id) const {
    return graph_.tensors[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] const Tensor& in(std::size_t i = 0) const { return tensor(node_.inputs[i]); }
  [[nodiscard]] const Tensor& out() const { return tensor(node_.outputs[0]); }
  std::int32_t input(std::size_t i = 0) { return draft_.tensor(graph_, node_.inputs[i]); }
  std::int32_t output(std::size_t i = 0) { return draft_.tensor(graph_, node_.outputs[i]); }
  [[nodiscard]] Status floats() const {
    if (in().dtype == DType::float32 && out().dtype == DType::float32 &&
        node_.arithmetic == Arithmetic::espdl)
      return {};
    return refuse() << "of integers";
  }

  // Scale, zero point, limits and type of an integer tensor.
  Result<std::vector<std::int32_t>> scale_of(const Tensor& tensor) {
    if ((tensor.dtype != DType::int8 && tensor.dtype != DType::int16) ||
        tensor.scales.size() + tensor.exponents.size() != 1)
      return refuse() << "of other integers than int8 or int16 with one scale";
    const double scale =
        tensor.scales.empty() ? std::ldexp(1.0, tensor.exponents[0]) : static_cast<double>(tensor.scales[0]);
    const bool bytes = tensor.dtype == DType::int8;
    const std::int64_t high =
        bytes ? std::numeric_limits<std::int8_t>::max() : std::numeric_limits<std::int16_t>::max();
    return std::vector{draft_.number(scale),
                       draft_.integer(tensor.zero_points.empty() ? 0 : tensor.zero_points[0]),
                       draft_.integer(-high - 1), draft_.integer(high), draft_.integer(bytes ? 1 : 2)};
  }
  Status quantize() {
    if (node_.rounding != kernels::Rounding::half_even)
      return refuse() << "ties do not round to even, as ExecuTorch's do";
    RUNNEL_ASSIGN(std::vector<std::int32_t> operands, scale_of(out()));
    operands.insert(operands.begin(), input());
    draft_.call("quantized_decomposed::quantize_per_tensor.out", operands, output());
    return {};
  }
  Status dequantize() {
    RUNNEL_ASSIGN(std::vector<std::int32_t> operands, scale_of(in()));
    operands.insert(operands.begin(), input());
    operands.push_back(draft_.none());  // the type of the output: float32
    draft_.call("quantized_decomposed::dequantize_per_tensor.out", operands, output());
    return {};
  }
  Status concat() {
    std::vector<std::int32_t> parts;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) parts.push_back(input(i));
    draft_.call("aten::cat.out",
                {draft_.tensors(parts), draft_.integer(std::get<AxisOptions>(node_.options).axis)}, output());
    return {};
  }
  // One call for each axis that becomes shorter.
  Status slice() {
    const auto& o = std::get<SliceOptions>(node_.options);
    std::vector<std::size_t> axes;
    for (std::size_t i = 0; i < o.begin.size(); ++i) {
      if (o.step[i] < 1) return refuse() << "a step of " << o.step[i];
      if (in().shape[i] != out().shape[i]) axes.push_back(i);
    }
    if (axes.empty()) axes.push_back(0);
    std::int32_t from = input();
    Tensor part = in();
    for (const std::size_t axis : axes) {
      part.shape[axis] = out().shape[axis];
      part.name = node_.name + "/part";
      const std::int32_t to = axis == axes.back() ? output() : draft_.add_tensor(part);
      const std::int64_t end =
          std::int64_t{o.begin[axis]} + std::int64_t{out().shape[axis] - 1} * o.step[axis] + 1;
      draft_.call("aten::slice_copy.Tensor_out",
                  {from, draft_.integer(static_cast<std::int64_t>(axis)), draft_.integer(o.begin[axis]),
                   draft_.integer(end), draft_.integer(o.step[axis])},
                  to);
      from = to;
    }
    return {};
  }
  Status function(const std::string& name) {
    RUNNEL_TRY(floats());
    draft_.call(name, {input()}, output());
    return {};
  }
  Status binary(const std::string& name, bool factor) {
    RUNNEL_TRY(floats());
    if (const auto* const o = std::get_if<BinaryOptions>(&node_.options);
        o != nullptr && o->activation != Activation::none)
      return refuse() << "with an activation";
    std::vector<std::int32_t> operands = {input(0), input(1)};
    if (factor) operands.push_back(draft_.integer(1));
    draft_.call(name, operands, output());
    return {};
  }
  Status softmax() {
    RUNNEL_TRY(floats());
    const auto* const o = std::get_if<AxisOptions>(&node_.options);
    if (o == nullptr) return refuse() << "with a factor";
    draft_.call("aten::_softmax.out", {input(), draft_.integer(o->axis), draft_.boolean(false)}, output());
    return {};
  }

  Draft& draft_;
  const Graph& graph_;
  const Node& node_;
};

}  // namespace

Status add_kernel(Draft& draft, const Graph& graph, const Node& node) {
  return Conversion(draft, graph, node).run();
}

}  // namespace runnel::compiler::pte_source
