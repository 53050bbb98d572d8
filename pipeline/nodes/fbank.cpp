#include "pipeline/nodes/fbank.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "features/fbank_parameters.h"

namespace runnel::pipeline {
namespace {

constexpr std::size_t kMaxOptions = 64;

const features::Parameter* find_option(std::string_view name) noexcept {
  for (const features::Parameter& option : features::parameters()) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

std::string_view choice_at(std::string_view choices, int index) noexcept {
  for (; index > 0 && choices.find('|') != std::string_view::npos; --index) choices.remove_prefix(choices.find('|') + 1);
  return choices.substr(0, choices.find('|'));
}

Status set_option(const Parameter& self, Node& node, const Value& value) noexcept {
  return features::set(static_cast<Fbank&>(node).options, self.name, describe_value(value).view());
}

Value get_option(const Parameter& self, const Node& node) noexcept {
  const features::Parameter* option = find_option(self.name);
  const double number = option->get(static_cast<const Fbank&>(node).options);
  Value value;
  value.type = self.type;
  value.integer = static_cast<std::int64_t>(number);
  value.boolean = number != 0;
  value.real = number;
  if (self.type == ParameterType::text) value.text = choice_at(option->choices, static_cast<int>(number));
  return value;
}

Status set_preset(const Parameter&, Node& node, const Value& value) noexcept {
  auto& fbank = static_cast<Fbank&>(node);
  RUNNEL_ASSIGN(fbank.options, features::preset(value.text));
  fbank.preset = value.text;
  return {};
}

Value get_preset(const Parameter&, const Node& node) noexcept {
  Value value;
  value.text = static_cast<const Fbank&>(node).preset;
  return value;
}

ParameterType type_of(features::Parameter::Type type) noexcept {
  switch (type) {
    case features::Parameter::Type::real: return ParameterType::real;
    case features::Parameter::Type::integer: return ParameterType::integer;
    case features::Parameter::Type::boolean: return ParameterType::boolean;
    case features::Parameter::Type::choice: break;
  }
  return ParameterType::text;
}

// The preset comes first, so that the options behind it change it.
struct Table {
  std::array<Parameter, kMaxOptions> entries;
  std::size_t count = 0;

  Table() noexcept {
    Parameter preset;
    preset.name = "preset";
    preset.help = "complete recipe that the other parameters change";
    preset.set = set_preset;
    preset.get = get_preset;
    entries[count++] = preset;
    for (const features::Parameter& option : features::parameters()) {
      if (count == kMaxOptions) break;
      Parameter& entry = entries[count++];
      entry = {option.name, type_of(option.type), option.unit, option.least, option.most, option.choices, option.help};
      entry.set = set_option;
      entry.get = get_option;
    }
  }
};
const Table kTable;

}  // namespace

const NodeType Fbank::type = {
    .name = "fbank",
    .help = "Log-mel filter banks, or cepstral coefficients (kind=mfcc), by Kaldi's recipe.",
    .input = {static_cast<Kinds>(Kind::audio), "float32 or int16, 1 channel, at sample_frequency"},
    .output = {static_cast<Kinds>(Kind::frames), "float32"},
    .parameters = {kTable.entries.data(), kTable.count},
    .make = make_node<Fbank>,
};

Fbank::Fbank() noexcept {
  if (Result<features::FbankOptions> found = features::preset(preset); found.ok()) options = *found;
}

Status Fbank::prepare(PrepareContext& context) noexcept {
  Text who;
  who << context.label << " preset=" << preset;
  if (context.input.channels != 1) return wants_mono(context, who.view());
  if (static_cast<float>(context.input.clock.rate()) != options.sample_frequency) {
    return wants_rate(context, who.view(), static_cast<std::int64_t>(options.sample_frequency));
  }
  features::RealFft* fft = nullptr;
  if (options.fft == features::FftChoice::fftw) {
    if (context.ffts == nullptr) return Status(Code::unsupported, "fft=fftw: this program has no FFTW");
    RUNNEL_ASSIGN(const features::FbankShape shape, features::shape_of(options));
    RUNNEL_ASSIGN(fft, context.ffts->make(shape.fft_size));
  }
  RUNNEL_ASSIGN(fbank_, features::Fbank::make(options, context.isa, context.memory, fft));
  const features::FrameGrid& grid = fbank_->shape().grid;
  shift_ = grid.shift;
  dims_ = fbank_->dims();
  context.output.kind = Kind::frames;
  context.output.dtype = DType::float32;
  context.output.channels = static_cast<std::int32_t>(dims_);
  context.output.clock = context.input.clock.windows(grid.shift, grid.start_of(0), grid.length);
  context.max_output = static_cast<std::int64_t>(
      std::max(fbank_->max_frames(static_cast<std::size_t>(context.max_input)), std::size_t{1}));
  return {};
}

std::int64_t Fbank::reset(std::int64_t first) noexcept {
  fbank_->reset();
  grid_ = ceil_div(first, shift_);
  skip_ = grid_ * shift_ - first;
  return grid_;
}

std::span<float> Fbank::room(const Output& out) const noexcept {
  return {out.as<float>(), static_cast<std::size_t>(out.capacity) * dims_};
}

Status Fbank::process(const Block& in, Output& out) noexcept {
  const std::int64_t dropped = std::min(skip_, in.count);
  skip_ -= dropped;
  out.first = grid_ + fbank_->next_frame();
  const auto count = static_cast<std::size_t>(in.count - dropped);
  const features::Fbank::Step step = fbank_->push(std::span<const float>(in.as<float>() + dropped, count), room(out));
  out.count = static_cast<std::int64_t>(step.frames);
  return step.samples == count ? Status() : fbank_->status();
}

Status Fbank::flush(Output& out) noexcept {
  out.first = grid_ + fbank_->next_frame();
  out.count = static_cast<std::int64_t>(fbank_->flush(room(out)));
  out.end = out.count == 0;
  return {};
}

}  // namespace runnel::pipeline
