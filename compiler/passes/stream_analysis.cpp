#include "compiler/passes/stream_analysis.h"

namespace runnel::compiler {
namespace {

class Refusals final : public RefusalSink {
 public:
  explicit Refusals(StreamAnalysis& analysis) : analysis_(analysis) {}
  void refuse(int op, const Status& why) noexcept override {
    analysis_.refusals.emplace_back(why.text());
    analysis_.refused.push_back(op);
  }

 private:
  StreamAnalysis& analysis_;
};

}  // namespace

Status check_operators(const Model& model, OperatorTable table) {
  RUNNEL_TRY(missing_operators(model, table));
  for (int i = 0; i < model.operator_count(); ++i) {
    const fb::Operator& op = model.op(i);
    if (const Status status = find_operator(table, op)->check(model, op); !status.ok()) {
      return operator_status(model, table, i, status);
    }
  }
  return {};
}

Result<StreamAnalysis> analyse_streams(const Model& model, OperatorTable table,
                                       std::span<const std::int8_t> axes) {
  StreamAnalysis out;
  out.tensors.resize(static_cast<std::size_t>(model.tensor_count()));
  out.steps.resize(static_cast<std::size_t>(model.operator_count()));
  std::vector<std::int64_t> lengths(out.tensors.size());
  Refusals sink(out);
  const Status planned =
      plan_streams(model, table, axes, out.tensors, out.steps, lengths, out.block_multiple, &sink);
  if (planned.code() == Code::unsupported || planned.code() == Code::mismatch) {
    if (out.refusals.empty()) {
      out.refusals.emplace_back(planned.text());
      out.refused.push_back(-1);
    }
    return out;
  }
  RUNNEL_TRY(planned);
  return out;
}

Result<std::vector<std::int8_t>> input_time_axes(const Model& model, std::span<const int> given) {
  std::vector<std::int8_t> axes;
  const std::span<const std::int32_t> inputs = model.inputs();
  if (!given.empty() && given.size() != inputs.size()) {
    return Status(Code::invalid_argument) << given.size() << " time axes for " << inputs.size() << " inputs";
  }
  const auto default_axis = [](const Shape& shape) {
    return shape.rank >= 2 && shape[0] == 1 ? 1 : shape.rank >= 1 ? 0 : -1;
  };
  std::int64_t elements = 0;
  std::int32_t length = 0;
  for (const std::int32_t input : inputs) {
    const Shape shape = model.tensor(input).shape;
    if (shape.rank == 0 || shape.elements() <= elements) continue;
    elements = shape.elements();
    length = shape[default_axis(shape)];
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Shape shape = model.tensor(inputs[i]).shape;
    if (!given.empty()) {
      if (given[i] < -1 || given[i] >= shape.rank)
        return Status(Code::invalid_argument)
               << "time axis " << given[i] << " of input " << i << ", which has rank " << shape.rank;
      axes.push_back(static_cast<std::int8_t>(given[i]));
      continue;
    }
    int axis = default_axis(shape);
    if (axis >= 0 && shape[axis] != length) axis = -1;
    axes.push_back(static_cast<std::int8_t>(axis));
  }
  return axes;
}

}  // namespace runnel::compiler
