#include "services/batch/recordings/recording_source.h"

#include <algorithm>
#include <limits>

#include "pipeline/host/registry.h"

namespace runnel::batch {
namespace {

using pipeline::parameter;

constexpr double kMax = 9e15;

constexpr pipeline::Parameter kParameters[] = {
    parameter<&RecordingSource::sample_rate>("sample_rate", "Hz", 1, kMax, "units of time per second"),
    parameter<&RecordingSource::hop>("hop", "", 1, kMax, "units from sample to sample"),
    parameter<&RecordingSource::begin>("begin", "", -kMax, kMax, "unit at which the first sample begins"),
    parameter<&RecordingSource::span>("span", "", 1, kMax, "units of a sample"),
    parameter<&RecordingSource::denominator>("denominator", "", 1, kMax, "of the three above"),
    parameter<&RecordingSource::channels>("channels", "", 1, 4096, "channels"),
};

}  // namespace

const pipeline::NodeType RecordingSource::type = {
    .name = "recording",
    .help = "Gives one recording after the other.",
    .input = {},
    .output = {static_cast<pipeline::Kinds>(pipeline::Kind::audio), "float32"},
    .parameters = kParameters,
    .make = pipeline::make_node<RecordingSource>,
};

Status RecordingSource::prepare(pipeline::NodeContext& context) noexcept {
  context.output.kind = pipeline::Kind::audio;
  context.output.dtype = DType::float32;
  context.output.channels = static_cast<std::int32_t>(channels);
  context.output.clock = {
      .sample_rate = sample_rate, .hop = hop, .begin = begin, .span = span, .denominator = denominator};
  context.max_output = context.max_input;
  return {};
}

Status RecordingSource::process(const pipeline::Block& in, pipeline::Output& out) noexcept {
  if (recording_ == nullptr) return Status(Code::invalid_argument, "no recording was given");
  return recording_->process(in, out);
}

Text RecordingSource::note() const noexcept { return recording_ == nullptr ? Text() : recording_->note(); }

std::string text_of_source(const OpenRecording& recording) {
  const pipeline::Clock& clock = recording.format().clock;
  return "recording name=" + recording.label() + " sample_rate=" + std::to_string(clock.sample_rate) +
         " hop=" + std::to_string(clock.hop) + " begin=" + std::to_string(clock.begin) +
         " span=" + std::to_string(clock.span) + " denominator=" + std::to_string(clock.denominator) +
         " channels=" + std::to_string(recording.format().channels);
}

OpenRecording::~OpenRecording() {
  if (node_ != nullptr) node_->~Node();
}

Result<std::unique_ptr<OpenRecording>> OpenRecording::open(const std::string& text,
                                                           const pipeline::GraphOptions& options) {
  std::unique_ptr<OpenRecording> self(new OpenRecording());
  RUNNEL_ASSIGN(self->text_, pipeline::parse_graph(text));
  if (self->text_.nodes.size() != 1)
    return Status(Code::invalid_argument) << "\"" << text << "\": expected one source";
  const pipeline::NodeText& node = self->text_.nodes[0];
  RUNNEL_ASSIGN(const pipeline::NodeType* const type, pipeline::find_node(options.nodes, node.type, false));
  self->node_ = type->make(self->memory_);
  if (self->node_ == nullptr) return pipeline::out_of_memory(type->name);
  for (const pipeline::ParameterText& given : node.parameters) {
    if (const auto known = pipeline::find_parameter(*type, given.key); !known.ok()) return known.status();
  }
  for (const pipeline::Parameter& parameter : type->parameters) {
    for (const pipeline::ParameterText& given : node.parameters) {
      if (given.key != parameter.name) continue;
      const Result<pipeline::Value> value = pipeline::parse_value(parameter, given.value);
      if (!value.ok()) return value.status().at(type->name);
      RUNNEL_TRY(parameter.set(parameter, *self->node_, *value).at(type->name));
    }
    const bool missing =
        parameter.required && std::none_of(node.parameters.begin(), node.parameters.end(),
                                           [&](const auto& given) { return given.key == parameter.name; });
    if (missing)
      return Status(Code::invalid_argument)
             << type->name << " needs " << parameter.name << "=, " << parameter.help;
  }
  pipeline::NodeContext context{.memory = self->memory_,
                                .label = node.type,
                                .input_label = {},
                                .input = {},
                                .max_input = options.tick,
                                .isa = options.isa,
                                .models = options.models,
                                .operators = options.operators,
                                .ffts = nullptr,
                                .stop = options.stop,
                                .fast = {},
                                .slack = true,
                                .output = {},
                                .max_output = 0,
                                .fix = {}};
  RUNNEL_TRY(self->node_->prepare(context).at(type->name));
  self->format_ = context.output;
  return self;
}

}  // namespace runnel::batch
