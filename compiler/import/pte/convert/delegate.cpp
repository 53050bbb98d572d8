// Calls of delegates: what a back end computes becomes a segment, opaque here (inference/delegate.h).
#include <algorithm>

#include "compiler/import/pte/kernels.h"
#include "npu/host/vela_stream.h"

namespace runnel::compiler::pte_source {
namespace {

// A segment on its way: constants and settings, and how many of the call's operands are inputs.
struct Segment {
  DelegateOptions options;
  std::vector<std::span<const std::byte>> parts;
  std::size_t inputs = 0;
};

std::vector<std::int64_t> offsets_of(const std::vector<npu::VelaTensor>& tensors) {
  std::vector<std::int64_t> offsets;
  for (const npu::VelaTensor& tensor : tensors) offsets.push_back(tensor.offset);
  return offsets;
}

// The sizes that the payload says are those of the program: code that copies them need not check again.
Status check_sizes(Builder& builder, const Call& call, const std::vector<npu::VelaTensor>& said,
                   std::size_t first) {
  for (std::size_t i = 0; i < said.size(); ++i) {
    RUNNEL_ASSIGN(const Tensor* const tensor, builder.tensor(call, first + i));
    if (tensor->bytes != said[i].bytes ||
        size_of(tensor->dtype) != static_cast<std::size_t>(said[i].element)) {
      return call.fail() << "operand " << first + i << " has " << tensor->bytes
                         << " bytes, but the payload says " << said[i].bytes << " in elements of "
                         << said[i].element;
    }
  }
  return {};
}

Result<Segment> read_ethos_u(Builder& builder, const Call& call, const Delegate& delegate,
                             std::span<const NamedData> named_data) {
  auto stream = npu::read_vela_stream(delegate.payload, named_data);
  if (!stream.ok()) return call.named(stream.status());
  if (stream->inputs.size() + stream->outputs.size() != call.args.size()) {
    return call.fail() << call.args.size() << " operands, but the payload has " << stream->inputs.size()
                       << " inputs and " << stream->outputs.size() << " outputs";
  }
  RUNNEL_TRY(check_sizes(builder, call, stream->inputs, 0));
  RUNNEL_TRY(check_sizes(builder, call, stream->outputs, stream->inputs.size()));
  Segment segment;
  segment.options.kind = "ethos-u";
  segment.options.parts = {"command_stream"};
  segment.parts = {stream->commands};
  if (!stream->weights.empty()) {
    segment.options.parts.emplace_back("weights");
    segment.parts.push_back(stream->weights);
  }
  segment.options.attributes = {{"scratch_bytes", std::vector<std::int64_t>{stream->scratch}},
                                {"input_offsets", offsets_of(stream->inputs)},
                                {"output_offsets", offsets_of(stream->outputs)}};
  segment.inputs = stream->inputs.size();
  return segment;
}

// What nothing has written so far is an output.
Result<Segment> read_unknown(Builder& builder, const Call& call, const Delegate& delegate) {
  Segment segment;
  segment.options.kind = delegate.id;
  if (!delegate.payload.empty()) {
    segment.options.parts = {"payload"};
    segment.parts = {delegate.payload};
  }
  while (segment.inputs < call.args.size()) {
    RUNNEL_ASSIGN(const Tensor* const tensor, builder.tensor(call, segment.inputs));
    if (!tensor->constant() && !builder.was_written(call.args[segment.inputs])) break;
    ++segment.inputs;
  }
  return segment;
}

}  // namespace

Status convert_delegate(Builder& builder, const Call& call, const Delegate& delegate,
                        std::span<const NamedData> named_data) {
  if (delegate.id.empty() || delegate.id.size() > 256)
    return call.fail() << "a name of " << delegate.id.size() << " bytes, expected 1 to 256";
  const bool ethos_u = delegate.id == "EthosUBackend";
  auto read =
      ethos_u ? read_ethos_u(builder, call, delegate, named_data) : read_unknown(builder, call, delegate);
  if (!read.ok()) return read.status();
  Segment& segment = *read;
  if (segment.inputs == call.args.size()) return call.fail() << "no outputs";
  for (const auto& [key, value] : delegate.specs) {
    if (!key.empty()) segment.options.attributes.push_back({key, value});
  }
  std::vector<TensorId> inputs;
  for (std::size_t i = 0; i < segment.parts.size(); ++i) {
    const Constant part{DType::uint8,
                        {static_cast<std::int32_t>(segment.parts[i].size())},
                        {segment.parts[i].begin(), segment.parts[i].end()}};
    RUNNEL_ASSIGN(const TensorId id, builder.add_constant(call, part, segment.options.parts[i]));
    inputs.push_back(id);
  }
  // Back ends see tensors as they lie in memory.
  const auto order_of = [](const Tensor& tensor) {
    return Perm(tensor.dim_order.begin(), tensor.dim_order.end());
  };
  for (std::size_t i = 0; i < segment.inputs; ++i) {
    RUNNEL_ASSIGN(const Tensor* const tensor, builder.tensor(call, i));
    RUNNEL_ASSIGN(const Operand x, builder.operand(call, i));
    RUNNEL_ASSIGN(const TensorId id, builder.stored(call, x, order_of(*tensor)));
    inputs.push_back(id);
  }
  std::vector<Builder::Made> made;
  for (std::size_t i = segment.inputs; i < call.args.size(); ++i) {
    RUNNEL_ASSIGN(const Tensor* const tensor, builder.tensor(call, i));
    if (tensor->dtype == DType::none || tensor->sizes.empty())
      return call.fail(Code::unsupported)
             << "operand " << i << " has no axes, or a type that nothing here computes with";
    Builder::Made wanted{permuted(tensor->sizes, order_of(*tensor)), tensor->dtype, std::nullopt};
    if (const Scale* scale = builder.scale_of(call.args[i])) wanted.scale = *scale;
    made.push_back(std::move(wanted));
  }
  RUNNEL_ASSIGN(const auto outputs, builder.emit_all(call, OpCode::delegate, inputs, segment.options, made));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::size_t position = segment.inputs + i;
    RUNNEL_ASSIGN(const Tensor* const tensor, builder.tensor(call, position));
    RUNNEL_TRY(builder.write(call, call.args[position], builder.computed(outputs[i], order_of(*tensor))));
  }
  return {};
}

}  // namespace runnel::compiler::pte_source
