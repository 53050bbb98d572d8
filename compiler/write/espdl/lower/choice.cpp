// Reductions and choices, written. What the importer makes of one node becomes one node again: a reduction
// and the reshape after it, a comparison and the casts around it.
#include <algorithm>
#include <utility>

#include "compiler/write/espdl/lowering.h"

namespace runnel::compiler::espdl_source {
namespace {

constexpr std::pair<OpCode, std::string_view> kReductions[] = {
    {OpCode::reduce_mean, "ReduceMean"},
    {OpCode::reduce_sum, "ReduceSum"},
    {OpCode::reduce_max, "ReduceMax"},
    {OpCode::reduce_min, "ReduceMin"},
    {OpCode::reduce_l1, "ReduceL1"},
    {OpCode::reduce_l2, "ReduceL2"},
    {OpCode::reduce_prod, "ReduceProd"},
    {OpCode::reduce_log_sum, "ReduceLogSum"},
    {OpCode::reduce_log_sum_exp, "ReduceLogSumExp"},
    {OpCode::reduce_sum_square, "ReduceSumSquare"}};
constexpr std::pair<OpCode, std::string_view> kComparisons[] = {{OpCode::equal, "Equal"},
                                                                {OpCode::greater, "Greater"},
                                                                {OpCode::greater_or_equal, "GreaterOrEqual"},
                                                                {OpCode::less, "Less"},
                                                                {OpCode::less_or_equal, "LessOrEqual"},
                                                                {OpCode::logical_and, "And"},
                                                                {OpCode::logical_or, "Or"},
                                                                {OpCode::logical_xor, "Xor"},
                                                                {OpCode::logical_not, "Not"}};

// The reshape after `node` that leaves out `axes`, and nothing else; null when there is none.
const compiler::Node* dropping(const Lowering& to, const compiler::Node& node,
                               const std::vector<std::uint8_t>& axes) {
  const compiler::Node* const next = to.tail(node, OpCode::reshape);
  if (next == nullptr) return nullptr;
  const auto& x = to.input(node, 0).shape;
  std::vector<std::int32_t> rest;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) rest.push_back(x[i]);
  }
  if (rest.empty()) rest.push_back(1);
  return rest == to.output(*next).shape && to.output(node).exponents == to.output(*next).exponents ? next
                                                                                                   : nullptr;
}

// ONNX's number of a type.
std::int64_t type_number(DType type) {
  constexpr std::pair<DType, int> kNumbers[] = {
      {DType::float32, 1}, {DType::uint8, 2}, {DType::int8, 3},    {DType::uint16, 4},  {DType::int16, 5},
      {DType::int32, 6},   {DType::int64, 7}, {DType::boolean, 9}, {DType::float64, 11}};
  const auto* const found = std::find_if(std::begin(kNumbers), std::end(kNumbers),
                                         [&](const auto& entry) { return entry.first == type; });
  return found == std::end(kNumbers) ? 0 : found->second;
}

bool takes_truth(OpCode code) {
  using enum OpCode;
  return code == logical_and || code == logical_or || code == logical_xor || code == logical_not ||
         code == where;
}

}  // namespace

void lower_reduce(Lowering& to, const compiler::Node& node) {
  std::string_view op = "ArgMax";
  std::vector<std::uint8_t> axes;
  if (node.code == OpCode::arg_max) {
    axes.push_back(static_cast<std::uint8_t>(std::get<AxisOptions>(node.options).axis));
  } else {
    op = std::find_if(std::begin(kReductions), std::end(kReductions), [&](const auto& entry) {
           return entry.first == node.code;
         })->second;
    axes = std::get<ReduceOptions>(node.options).axes;
  }
  const compiler::Node* const last = dropping(to, node, axes);
  if (last != nullptr) to.skip(*last);
  std::vector<std::string> inputs = {to.operand(node, 0)};
  if (op != "ArgMax") inputs.push_back(to.integers(node, "axes", {axes.begin(), axes.end()}));
  Node& out = to.add(node, op, std::move(inputs), last);
  out.attributes["keepdims"] = std::int64_t{last == nullptr};
  if (op == "ArgMax") out.attributes["axis"] = static_cast<std::int64_t>(axes[0]);
}

void lower_comparison(Lowering& to, const compiler::Node& node) {
  const auto* const found = std::find_if(std::begin(kComparisons), std::end(kComparisons),
                                         [&](const auto& entry) { return entry.first == node.code; });
  const compiler::Node* const last = to.tail(node, OpCode::cast);
  if (last != nullptr) to.skip(*last);
  std::vector<std::string> inputs = {to.operand(node, 0)};
  if (node.inputs.size() > 1) inputs.push_back(to.operand(node, 1));
  to.add(node, found->second, std::move(inputs), last);
}

void fold_truth(Lowering& to, const compiler::Node& node, std::size_t index) {
  if (!takes_truth(node.code)) return;
  const compiler::Node* const first = &node - index;
  for (const compiler::Node* before = &node; before != first;) {
    --before;
    if (before->name != node.name || before->code != OpCode::cast) return;
    if (to.output(*before).dtype != DType::boolean || !to.read_once(before->outputs[0]) ||
        to.input(*before, 0).data)
      continue;
    if (std::find(node.inputs.begin(), node.inputs.end(), before->outputs[0]) == node.inputs.end()) continue;
    to.skip(*before);
    to.alias(before->outputs[0], before->inputs[0]);
  }
}

void lower_where(Lowering& to, const compiler::Node& node) {
  to.add(node, "Where", {to.operand(node, 0), to.operand(node, 1), to.operand(node, 2)});
}

void lower_cast(Lowering& to, const compiler::Node& node) {
  const DType from = to.input(node, 0).dtype, type = to.output(node).dtype;
  const bool scaled = (is_quantized(from) && type != DType::boolean) || is_quantized(type);
  if (scaled || type_number(type) == 0) {
    to.refuse(node, "a cast from " + std::string(runnel::name_of(from)) + " to " +
                        std::string(runnel::name_of(type)) + ", which has no scale");
    return;
  }
  to.add(node, "Cast", {to.operand(node, 0)}).attributes["to"] = type_number(type);
}

void lower_top_k(Lowering& to, const compiler::Node& node) {
  const auto& o = std::get<TopKOptions>(node.options);
  const std::int64_t k = to.output(node).shape[static_cast<std::size_t>(o.axis)];
  Node& out = to.add(node, "TopK", {to.operand(node, 0), to.integers(node, "k", {k})});
  out.attributes["axis"] = static_cast<std::int64_t>(o.axis);
  out.attributes["largest"] = std::int64_t{!o.smallest};
  out.attributes["sorted"] = std::int64_t{1};
}

}  // namespace runnel::compiler::espdl_source
