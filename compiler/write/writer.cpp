#include "compiler/write/writer.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/crc32c.h"
#include "base/host/heap_memory.h"
#include "base/host/out_of_memory.h"
#include "compiler/ir/file_options.h"
#include "compiler/ir/numbering.h"
#include "compiler/passes/stream_analysis.h"
#include "compiler/passes/streamify.h"
#include "inference/host/receptive_field.h"
#include "inference/model/model.h"
#include "inference/operator.h"
#include "inference/plan/stream_plan.h"
#include "inference/prepared.h"

namespace runnel::compiler {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr std::size_t kConstantAlignment = 64;
constexpr std::size_t kSectionAlignment = 16;

// The weights section: each constant at a multiple of 64, identical ones once.
class Weights {
 public:
  fb::Range add(const std::vector<std::byte>& data) {
    auto& candidates = known_[{crc32c(data), data.size()}];
    for (const std::uint64_t offset : candidates) {
      if (std::equal(data.begin(), data.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset)))
        return {offset, data.size()};
    }
    bytes_.resize((bytes_.size() + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment,
                  std::byte{0});
    const std::uint64_t offset = bytes_.size();
    bytes_.insert(bytes_.end(), data.begin(), data.end());
    candidates.push_back(offset);
    return {offset, data.size()};
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::map<std::pair<std::uint32_t, std::size_t>, std::vector<std::uint64_t>> known_;
};

// One section after another; each is a FlatBuffer of its own (or raw bytes) with its checksum.
class SectionList {
 public:
  template <class T>
  void add(fb::SectionKind kind, FlatBufferBuilder& builder, Offset<T> root) {
    builder.Finish(root);
    const auto* first = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
    add(kind, std::vector<std::byte>(first, first + builder.GetSize()));
  }
  void add(fb::SectionKind kind, std::vector<std::byte> data) {
    sections_.emplace_back(kind, std::move(data));
  }

  [[nodiscard]] std::vector<std::byte> file() const {
    FlatBufferBuilder builder;
    std::vector<Offset<fb::Section>> written;
    for (const auto& [kind, data] : sections_) {
      // What ForceVectorAlignment does, which admits at most 32.
      builder.PreAlign(data.size(),
                       kind == fb::SectionKind::weights ? kConstantAlignment : kSectionAlignment);
      const auto vector =
          builder.CreateVector(reinterpret_cast<const std::uint8_t*>(data.data()), data.size());
      written.push_back(fb::CreateSection(builder, kind, crc32c(data), vector));
    }
    // The size is known when everything is written: any number but the default keeps the field's place.
    fb::FinishModelBuffer(builder, fb::CreateModel(builder, 1, builder.CreateVector(written), 1));
    const auto* first = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
    std::vector<std::byte> bytes(first, first + builder.GetSize());
    const auto* root = reinterpret_cast<const flatbuffers::Table*>(fb::GetModel(bytes.data()));
    const auto place =
        reinterpret_cast<const std::byte*>(root->GetAddressOf(fb::Model::VT_BYTES)) - bytes.data();
    flatbuffers::WriteScalar(bytes.data() + place, static_cast<std::uint64_t>(bytes.size()));
    return bytes;
  }

 private:
  std::vector<std::pair<fb::SectionKind, std::vector<std::byte>>> sections_;
};

void add_graph(const Graph& graph, const Numbering& numbering, SectionList& sections) {
  FlatBufferBuilder builder;
  Weights weights;
  std::vector<Offset<fb::Tensor>> tensors;
  for (const TensorId id : numbering.order()) {
    const Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
    const auto shape = builder.CreateVector(tensor.shape);
    const auto exponents = tensor.exponents.empty() ? 0 : builder.CreateVector(tensor.exponents);
    const auto scales = tensor.scales.empty() ? 0 : builder.CreateVector(tensor.scales);
    const auto zero_points = tensor.zero_points.empty() ? 0 : builder.CreateVector(tensor.zero_points);
    fb::TensorBuilder out(builder);
    out.add_shape(shape);
    out.add_dtype(static_cast<std::uint8_t>(tensor.dtype));
    if (!tensor.exponents.empty()) out.add_exponents(exponents);
    if (!tensor.scales.empty()) out.add_scales(scales);
    if (!tensor.zero_points.empty()) out.add_zero_points(zero_points);
    out.add_channel_axis(static_cast<std::int8_t>(tensor.channel_axis));
    out.add_non_negative(tensor.non_negative);
    if (tensor.data) {
      const fb::Range range = weights.add(*tensor.data);
      out.add_data(&range);
    }
    tensors.push_back(out.Finish());
  }
  std::vector<Offset<fb::Operator>> operators;
  for (const Node& node : graph.nodes) {
    const auto inputs = builder.CreateVector(numbering.of(node.inputs));
    const auto outputs = builder.CreateVector(numbering.of(node.outputs));
    const WrittenOptions options = write_options(builder, node.options);
    operators.push_back(
        fb::CreateOperator(builder, to_file(node.code), static_cast<std::uint8_t>(node.arithmetic), inputs,
                           outputs, options.type, options.value, static_cast<std::uint8_t>(node.rounding)));
  }
  const auto tensor_list = builder.CreateVector(tensors);
  const auto operator_list = builder.CreateVector(operators);
  const auto inputs = builder.CreateVector(numbering.of(graph.inputs));
  const auto outputs = builder.CreateVector(numbering.of(graph.outputs));
  sections.add(fb::SectionKind::graph, builder,
               fb::CreateGraph(builder, tensor_list, operator_list, inputs, outputs));
  if (!weights.bytes().empty()) sections.add(fb::SectionKind::weights, weights.bytes());
}

void add_names(const Graph& graph, const Numbering& numbering, SectionList& sections) {
  FlatBufferBuilder builder;
  std::vector<std::string> tensors, operators;
  for (const TensorId id : numbering.order())
    tensors.push_back(graph.tensors[static_cast<std::size_t>(id)].name);
  for (const Node& node : graph.nodes) operators.push_back(node.name);
  const auto model = builder.CreateString(graph.name);
  const auto tensor_names = builder.CreateVectorOfStrings(tensors);
  const auto operator_names = builder.CreateVectorOfStrings(operators);
  sections.add(fb::SectionKind::names, builder,
               fb::CreateNames(builder, model, tensor_names, operator_names));
}

void add_pipeline(const PipelineSettings& settings, const Numbering& numbering, SectionList& sections) {
  FlatBufferBuilder builder;
  std::vector<fb::StatePair> pairs;
  for (const auto& [output, input] : settings.states)
    pairs.emplace_back(numbering.of(output), numbering.of(input));
  const auto states = pairs.empty() ? 0 : builder.CreateVectorOfStructs(pairs);
  const auto front_end = builder.CreateString(settings.front_end);
  const auto decision = builder.CreateString(settings.decision);
  const auto labels = builder.CreateVectorOfStrings(settings.labels);
  sections.add(fb::SectionKind::pipeline, builder,
               fb::CreatePipeline(builder, to_file(settings.usage), settings.sample_rate, front_end, decision,
                                  labels, settings.window, settings.hop, settings.context, settings.step,
                                  states, settings.look_ahead, settings.output_frames));
}

Status add_vectors(const Graph& graph, const Numbering& numbering, SectionList& sections) {
  if (graph.vectors.empty()) return {};
  FlatBufferBuilder builder;
  std::vector<Offset<fb::VectorCase>> cases;
  for (const VectorCase& recorded : graph.vectors) {
    std::vector<Offset<fb::VectorTensor>> lists[2];
    for (int side = 0; side < 2; ++side) {
      for (const VectorTensor& value : side == 0 ? recorded.inputs : recorded.outputs) {
        const std::int32_t index = numbering.of(value.tensor);
        if (index < 0)
          return Status(Code::invalid_argument)
                 << "a test vector names tensor " << value.tensor << ", which is not in the graph";
        const auto shape = builder.CreateVector(value.shape);
        const auto data =
            builder.CreateVector(reinterpret_cast<const std::uint8_t*>(value.data.data()), value.data.size());
        lists[side].push_back(fb::CreateVectorTensor(builder, index, shape, data));
      }
    }
    const auto inputs = builder.CreateVector(lists[0]);
    const auto outputs = builder.CreateVector(lists[1]);
    cases.push_back(fb::CreateVectorCase(builder, inputs, outputs));
  }
  sections.add(fb::SectionKind::vectors, builder, fb::CreateVectors(builder, builder.CreateVector(cases)));
  return {};
}

void add_metadata(const Graph& graph, SectionList& sections) {
  if (graph.metadata.empty()) return;
  FlatBufferBuilder builder;
  std::vector<Offset<fb::Entry>> entries;
  for (const auto& [key, value] : graph.metadata) {
    const auto written_key = builder.CreateString(key);
    const auto written_value = builder.CreateString(value);
    entries.push_back(fb::CreateEntry(builder, written_key, written_value));
  }
  sections.add(fb::SectionKind::metadata, builder,
               fb::CreateMetadata(builder, builder.CreateVector(entries)));
}

// Keeps more earlier frames than readers need, where the options say so.
Status pin_contexts(const Model& model, const StreamOptions& options, std::vector<StreamTensor>& tensors) {
  for (const auto& [name, frames] : options.contexts) {
    const int index = model.find_tensor(name);
    if (index < 0)
      return Status(Code::not_found) << "context of tensor \"" << name
                                     << "\": the model has no tensor of that name";
    StreamTensor& tensor = tensors[static_cast<std::size_t>(index)];
    if (tensor.time_axis < 0)
      return Status(Code::invalid_argument) << "context of tensor \"" << name << "\": it is no stream";
    if (frames < tensor.history) {
      return Status(Code::invalid_argument) << "context of tensor \"" << name << "\": " << frames
                                            << " frames, but its readers need " << tensor.history;
    }
    if (frames > (1 << 24))
      return Status(Code::invalid_argument) << "context of tensor \"" << name << "\": " << frames
                                            << " frames, expected at most " << (1 << 24);
    if (frames > 0 && model.tensor(index).shape.product(0, tensor.time_axis) != 1) {
      return Status(Code::unsupported)
             << "context of tensor \"" << name << "\": its time axis " << static_cast<int>(tensor.time_axis)
             << " has dimensions of more than 1 before it";
    }
    tensor.history = frames;
  }
  return {};
}

// Adds the plan section, or says why there is none.
Status add_plan(const Graph& graph, const Model& model, const WriteOptions& options,
                const std::vector<int>& wanted, std::vector<std::string>& refusals, SectionList& sections) {
  RUNNEL_ASSIGN(const std::vector<std::int8_t> axes, input_time_axes(model, wanted));
  RUNNEL_ASSIGN(StreamAnalysis analysis, analyse_streams(model, options.operators, axes));
  refusals = std::move(analysis.refusals);
  if (!refusals.empty()) {
    refusals[0] = time_axis_note(graph, options.stream, axes) + refusals[0];
    return {};
  }
  RUNNEL_TRY(pin_contexts(model, options.stream, analysis.tensors));
  FlatBufferBuilder builder;
  std::vector<fb::StreamTensor> written;
  for (const StreamTensor& tensor : analysis.tensors) {
    written.emplace_back(static_cast<std::int32_t>(tensor.stream.up),
                         static_cast<std::int32_t>(tensor.stream.down), tensor.stream.delay, tensor.history,
                         tensor.time_axis);
  }
  const auto list = builder.CreateVectorOfStructs(written);
  sections.add(fb::SectionKind::plan, builder,
               fb::CreateStreamPlan(builder, list, static_cast<std::int32_t>(analysis.block_multiple)));
  return {};
}

// No output may depend on more of the future than was allowed.
Status check_lookahead(const Prepared& prepared, std::int64_t most) {
  const Model& model = prepared.model();
  const std::vector<ReceptiveField> fields = receptive_fields(prepared);
  for (const std::int32_t output : model.outputs()) {
    const ReceptiveField& field = fields[static_cast<std::size_t>(output)];
    if (field.last <= static_cast<double>(most)) continue;
    Status status(Code::unsupported);
    status << "output \"" << model.tensor_name(output) << "\" looks " << static_cast<std::int64_t>(field.last)
           << " frames ahead, expected at most " << most << "; ahead look:";
    int shown = 0;
    for (int op = 0; op < model.operator_count(); ++op) {
      const std::int32_t x = model.op(op).inputs()->size() > 0 ? model.op(op).inputs()->Get(0) : -1,
                         y = model.op(op).outputs()->Get(0);
      if (x < 0 || prepared.placement(x).time_axis < 0 || prepared.placement(y).time_axis < 0) continue;
      const double more = fields[static_cast<std::size_t>(y)].last - fields[static_cast<std::size_t>(x)].last;
      if (more <= 0 || prepared.stream_step(op).rule.kind == streaming::Kind::pointwise || ++shown > 8)
        continue;
      status << (shown > 1 ? ", " : " ") << "\"" << model.tensor_name(y) << "\" by "
             << static_cast<std::int64_t>(more);
    }
    return status;
  }
  return {};
}

// Exact memory for the requested block sizes, as far as the plan allows them.
Status add_arenas(const std::vector<std::byte>& file, const WriteOptions& write, SectionList& sections) {
  RUNNEL_ASSIGN(const Model model, Model::open(file));
  if (model.plan() == nullptr) return {};
  if (write.stream.max_lookahead) {
    HeapMemory memory;
    PrepareOptions options;
    options.isa = Isa::generic;
    RUNNEL_ASSIGN(const Prepared* prepared, Prepared::make(model, write.operators, options, memory));
    RUNNEL_TRY(check_lookahead(*prepared, *write.stream.max_lookahead));
  }
  FlatBufferBuilder builder;
  std::vector<Offset<fb::ArenaPlan>> plans;
  for (const int block : write.blocks) {
    if (block < 1 || block % model.plan()->block_multiple() != 0) {
      // The block that is recorded by default need not be possible.
      if (block == 1) continue;
      return Status(Code::invalid_argument)
             << "blocks of " << block << " frames, expected multiples of " << model.plan()->block_multiple();
    }
    HeapMemory memory;
    PrepareOptions options;
    options.frames = block;
    options.slack = false;
    options.isa = Isa::generic;
    options.alignment = 16;
    RUNNEL_ASSIGN(const Prepared* prepared, Prepared::make(model, write.operators, options, memory));
    const auto target = builder.CreateString("generic");
    plans.push_back(fb::CreateArenaPlan(builder, target, block,
                                        prepared->arena_bytes() + prepared->scratch_bytes(),
                                        prepared->state_bytes()));
  }
  if (plans.empty()) return {};
  sections.add(fb::SectionKind::arenas, builder, fb::CreateArenas(builder, builder.CreateVector(plans)));
  return {};
}

Result<WrittenModel> write(const Graph& given, const WriteOptions& options) {
  const std::vector<int> axes = chosen_time_axes(given, options.stream, options.time_axes);
  Streamified streamified;
  if (options.plan) {
    RUNNEL_ASSIGN(streamified, streamify(given, options.stream, axes, options.operators));
  }
  const Graph& graph = streamified.graph ? *streamified.graph : given;
  Numbering numbering(graph);
  RUNNEL_TRY(numbering.number());
  SectionList sections;
  add_graph(graph, numbering, sections);
  if (!options.strip_names) add_names(graph, numbering, sections);
  add_pipeline(graph.pipeline, numbering, sections);
  RUNNEL_TRY(add_vectors(graph, numbering, sections));
  add_metadata(graph, sections);

  WrittenModel written;
  written.notes = streamified.notes;
  written.bytes = sections.file();
  {
    RUNNEL_ASSIGN(const Model model, Model::open(written.bytes));
    RUNNEL_TRY(check_operators(model, options.operators));
    if (options.plan) RUNNEL_TRY(add_plan(graph, model, options, axes, written.refusals, sections));
  }
  if (!written.refusals.empty()) {
    if (!options.stream.given()) return written;
    Status refused(Code::unsupported, "cannot be streamed");
    for (std::size_t i = 0; i < written.refusals.size(); ++i)
      refused << (i == 0 ? ": " : "; ") << written.refusals[i];
    return refused;
  }
  written.bytes = sections.file();
  RUNNEL_TRY(add_arenas(written.bytes, options, sections));
  written.bytes = sections.file();
  RUNNEL_TRY(Model::open(written.bytes).status());
  return written;
}

}  // namespace

Result<std::vector<std::byte>> graph_bytes(const Graph& graph, const Numbering& numbering) {
  SectionList sections;
  add_graph(graph, numbering, sections);
  add_names(graph, numbering, sections);
  return sections.file();
}

Result<WrittenModel> write_model(const Graph& graph, const WriteOptions& options) {
  return catching_bad_alloc("writing the model", [&] { return write(graph, options); });
}

bool can_stream(const Graph& graph, OperatorTable operators) {
  WriteOptions options;
  options.operators = operators;
  options.blocks.clear();
  const auto written = write_model(graph, options);
  return written.ok() && written->refusals.empty();
}

}  // namespace runnel::compiler
