#include "inference/host/describe.h"

#include <algorithm>
#include <cmath>

#include "inference/delegate.h"
#include "inference/host/cost.h"
#include "inference/host/kernel_names.h"

namespace runnel {
namespace {

// Delegates without back end are described, not run.
std::vector<const OperatorDefinition*> describing(OperatorTable table) {
  std::vector<const OperatorDefinition*> all(table.begin(), table.end());
  std::replace(all.begin(), all.end(), &ops::kDelegate, &ops::delegate_described);
  return all;
}

DelegateDescription describe_delegate(const Model& model, const fb::Operator& op, int index) {
  const DelegateSegment segment(model, op);
  DelegateDescription out;
  out.op = index;
  out.kind = segment.kind();
  for (int part = 0; part < segment.parts(); ++part)
    out.parts.push_back({std::string(segment.part_name(part)), segment.part(part).size()});
  out.inputs.assign(segment.inputs().begin(), segment.inputs().end());
  out.outputs.assign(segment.outputs().begin(), segment.outputs().end());
  const auto* const attributes = op.options_as_DelegateOptions()->attributes();
  for (flatbuffers::uoffset_t i = 0; attributes != nullptr && i < attributes->size(); ++i) {
    const fb::CustomAttribute& attribute = *attributes->Get(i);
    std::string value = attribute.text() != nullptr ? attribute.text()->str() : std::string();
    const auto append = [&](const auto* numbers) {
      for (flatbuffers::uoffset_t n = 0; numbers != nullptr && n < numbers->size(); ++n)
        value += (n == 0 ? "" : " ") + std::to_string(numbers->Get(n));
    };
    append(attribute.integers());
    append(attribute.numbers());
    out.attributes.emplace_back(attribute.name()->str(), std::move(value));
  }
  return out;
}

}  // namespace

Result<ModelDescription> describe_model(std::shared_ptr<const OwnedModel> owned, PrepareOptions options,
                                        OperatorTable table) {
  const Model& model = owned->model();
  options.mode = model.plan() != nullptr ? RunMode::stream : RunMode::whole;
  KernelNames kernels(model.operator_count());
  options.kernels = &kernels;
  RUNNEL_ASSIGN(const auto engine, Engine::make(owned, options, describing(table)));
  const Prepared& prepared = engine->prepared();
  ModelDescription out;
  out.streamed = options.mode == RunMode::stream;
  out.name = model.name();
  out.file_bytes = model.bytes().size();
  out.weight_bytes = model.weight_bytes();
  out.memory = {.arena_fast = prepared.arena_bytes(Tier::fast),
                .arena_slow = prepared.arena_bytes(Tier::slow),
                .arena_bound = prepared.arena_bound(),
                .scratch = prepared.scratch_bytes(),
                .state = prepared.state_bytes(),
                .scratch_tier = prepared.scratch_tier(),
                .state_tier = prepared.state_tier(),
                .constants = prepared.constant_bytes(),
                .operators = prepared.operator_bytes(),
                .prepared = engine->prepared_bytes(),
                .alignment = prepared.alignment()};
  out.block = prepared.block();
  out.inputs.assign(model.inputs().begin(), model.inputs().end());
  out.outputs.assign(model.outputs().begin(), model.outputs().end());
  for (int t = 0; t < model.tensor_count(); ++t) {
    const TensorView view = model.tensor(t);
    const Placement& at = prepared.placement(t);
    TensorDescription tensor;
    tensor.name = model.tensor_name(t).empty() ? "#" + std::to_string(t) : std::string(model.tensor_name(t));
    tensor.shape = view.shape;
    tensor.dtype = view.dtype;
    tensor.exponents.assign(view.exponents.begin(), view.exponents.end());
    tensor.constant = view.constant;
    tensor.bytes = view.bytes();
    tensor.time_axis = at.time_axis;
    if (out.streamed && at.time_axis >= 0) {
      tensor.up = at.up;
      tensor.down = at.down;
      tensor.delay = at.delay;
      tensor.history = at.history;
      tensor.state_bytes = static_cast<std::size_t>(at.history) * at.frame_bytes;
    }
    out.tensors.push_back(std::move(tensor));
  }
  for (int i = 0; i < model.operator_count(); ++i) {
    const fb::Operator& op = model.op(i);
    OperatorDescription described;
    described.type = operator_type(op);
    described.name = model.operator_name(i);
    described.inputs.assign(op.inputs()->begin(), op.inputs()->end());
    described.outputs.assign(op.outputs()->begin(), op.outputs()->end());
    described.macs = multiply_adds(model, op, model.tensor(op.outputs()->Get(0)).shape);
    out.macs += described.macs;
    if (out.streamed) {
      described.context = prepared.stream_step(i).context;
      const Placement& y = prepared.placement(op.outputs()->Get(0));
      if (y.time_axis >= 0) {
        const std::int32_t length = model.tensor(op.outputs()->Get(0)).shape[y.time_axis];
        described.macs_per_frame = static_cast<double>(described.macs) / length * y.up / y.down;
      }
      out.macs_per_frame += described.macs_per_frame;
    }
    described.kernel = kernels.of(i);
    described.reference = kernels.on_reference(i);
    out.operators.push_back(std::move(described));
    if (code_of(op) == OpCode::delegate) out.delegates.push_back(describe_delegate(model, op, i));
  }
  for (int index = 0; index < prepared.step_count(); ++index) {
    const Prepared::StepInfo step = prepared.step(index);
    for (int i = step.first + 1; i < step.first + step.operators; ++i)
      out.operators[static_cast<std::size_t>(i)].kernel = "with operator " + std::to_string(step.first);
  }
  if (out.streamed) {
    out.block_multiple = model.plan()->block_multiple();
    const std::int32_t first = out.outputs[0];
    const Placement& at = prepared.placement(first);
    const ReceptiveField field = receptive_fields(prepared)[static_cast<std::size_t>(first)];
    out.delay = (at.delay * at.down + at.up - 1) / at.up;
    out.lookahead = field.last;
    out.receptive_field = field.unbounded ? 0 : field.frames();
    out.cold_start = out.delay;
  }
  return out;
}

}  // namespace runnel
