// What a compiler for the Ethos-U left in the place of the operators that the NPU computes: a segment that
// stays opaque here (inference/delegate.h). The same kind and the same parts as in .pte files.
#include "compiler/import/tflite/builder.h"

namespace runnel::compiler::tflite_source {
namespace {

// Inputs of the operator, before those that are the network's.
constexpr std::size_t kCommands = 0, kWeights = 1, kScratch = 2, kFastScratch = 3, kFirst = 4;

std::int64_t count_of(const Tensor& tensor) { return static_cast<std::int64_t>(element_count(tensor.shape)); }

// From the beginning of the scratch memory; -1 where it has not been planned.
std::int64_t offset_of(const Tensor& tensor, const Tensor& scratch) {
  if (tensor.arena_offset < scratch.arena_offset || scratch.arena_offset < 0) return -1;
  return std::int64_t{tensor.arena_offset} - scratch.arena_offset;
}

}  // namespace

Status convert_ethos_u(Builder& builder, const Operator& op) {
  if (op.inputs.size() < kFirst || op.outputs.empty())
    return Builder::fail(op) << op.inputs.size() << " inputs and " << op.outputs.size()
                             << " outputs, expected " << kFirst << " or more and 1 or more";
  DelegateOptions options;
  options.kind = "ethos-u";
  std::vector<TensorId> inputs;
  for (const std::size_t position : {kCommands, kWeights}) {
    RUNNEL_ASSIGN(const Tensor* const part, builder.input(op, position));
    if (position == kWeights && count_of(*part) == 0) continue;  // nothing but commands
    RUNNEL_ASSIGN(const TensorId id, builder.operand(op, position));
    if (!builder.at(id).data)
      return Builder::fail(op) << "input " << position << " is computed, expected a constant";
    options.parts.emplace_back(position == kCommands ? "command_stream" : "weights");
    inputs.push_back(id);
  }
  RUNNEL_ASSIGN(const Tensor* const scratch, builder.input(op, kScratch));
  RUNNEL_ASSIGN(const Tensor* const fast, builder.input(op, kFastScratch));
  std::vector<std::int64_t> in_offsets, out_offsets, states, first_values;
  for (std::size_t i = kFirst; i < op.inputs.size(); ++i) {
    RUNNEL_ASSIGN(const Tensor* const tensor, builder.input(op, i));
    // What lasts from call to call is the back end's to keep: it reads and writes it in one place.
    const bool kept = tensor->variable && !tensor->data && builder.find(op.inputs[i]) == kAbsent;
    states.push_back(kept ? count_of(*tensor) * static_cast<std::int64_t>(size_of(tensor->dtype)) : 0);
    first_values.push_back(kept && !tensor->zero_points.empty() ? tensor->zero_points[0] : 0);
    builder.stateful = builder.stateful || kept;
    TensorId id = kAbsent;
    if (!kept) {
      RUNNEL_ASSIGN(id, builder.operand(op, i));
      // The segment reads the file's bytes.
      if (is_shifted(*tensor)) {
        RUNNEL_ASSIGN(id, builder.uint8_form(op.inputs[i]));
      }
    }
    inputs.push_back(id);
    in_offsets.push_back(offset_of(*tensor, *scratch));
  }
  std::vector<TensorId> outputs;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    RUNNEL_ASSIGN(const Tensor* const tensor, builder.output(op, i));
    RUNNEL_ASSIGN(const TensorId id, builder.result(op, i));
    builder.at(id).shape = tensor->shape.empty() ? std::vector<std::int32_t>{1} : tensor->shape;
    outputs.push_back(id);
    out_offsets.push_back(offset_of(*tensor, *scratch));
  }
  options.attributes = {{"scratch_bytes", std::vector<std::int64_t>{count_of(*scratch)}},
                        {"fast_scratch_bytes", std::vector<std::int64_t>{count_of(*fast)}},
                        {"input_offsets", in_offsets},
                        {"output_offsets", out_offsets},
                        {"state_bytes", states},
                        {"state_values", first_values}};
  RUNNEL_TRY(builder.emit(op, OpCode::delegate, inputs, outputs, options));
  for (const std::int32_t tensor : op.outputs) {
    if (is_shifted(builder.source().tensors[static_cast<std::size_t>(tensor)]))
      RUNNEL_TRY(builder.emit_int8(tensor));
  }
  return {};
}

}  // namespace runnel::compiler::tflite_source
