#include "pipeline/nodes/microfrontend.h"

#include <algorithm>

#include "base/checked.h"
#include "features/microfrontend_parameter_table.h"
#include "pipeline/nodes/option_table.h"

namespace runnel::pipeline {
namespace {

struct Traits {
  static constexpr auto& kOptions = features::microfrontend_table::kParameters;
  static Result<features::MicrofrontendOptions> preset(std::string_view name) noexcept { return features::microfrontend_preset(name); }
};

constexpr auto kTable = OptionTable<Microfrontend, Traits>::with(std::array{
    text_parameter<&Microfrontend::dtype>("dtype", "uint16|int8|float32",
                                          "of the frames: the library's values; (value * 256 + 333) / 666 - 128, as models with int8 input take them; value * 10/256"),
    text_parameter<&Microfrontend::non_finite>("non_finite", FiniteInput::kChoices, FiniteInput::kHelp),
});

}  // namespace

const NodeType Microfrontend::type = {
    .name = "microfrontend",
    .help = "The fixed-point front end of TensorFlow Lite Micro and microWakeWord, to the bit.",
    .input = {static_cast<Kinds>(Kind::audio), "float32, 1 channel, at sample_frequency"},
    .output = {static_cast<Kinds>(Kind::frames), "uint16, int8 or float32"},
    .parameters = kTable,
    .make = make_node<Microfrontend>,
};

Microfrontend::Microfrontend() noexcept {
  if (Result<features::MicrofrontendOptions> found = features::microfrontend_preset(preset); found.ok()) options = *found;
}

Status Microfrontend::prepare(PrepareContext& context) noexcept {
  Text who;
  who << context.label << " preset=" << preset;
  if (context.input.channels != 1) return wants_mono(context, who.view());
  if (static_cast<float>(context.input.clock.rate()) != options.sample_frequency) {
    return wants_rate(context, who.view(), static_cast<std::int64_t>(options.sample_frequency));
  }
  RUNNEL_TRY(input_.prepare(type.name, non_finite, static_cast<std::size_t>(context.max_input), context));
  RUNNEL_ASSIGN(front_end_, features::Microfrontend::make(options, context.isa, context.memory));
  const features::FrameGrid& grid = front_end_->grid();
  out_type_ = dtype == "int8" ? DType::int8 : dtype == "float32" ? DType::float32 : DType::uint16;
  const std::size_t frames = front_end_->max_frames(static_cast<std::size_t>(context.max_input));
  if (out_type_ != DType::uint16) {
    values_ = context.memory.array<std::uint16_t>(frames * front_end_->dims());
    if (values_ == nullptr) return out_of_memory("the frames");
  }
  context.output.kind = Kind::frames;
  context.output.dtype = out_type_;
  context.output.codes = out_type_ != DType::float32;
  context.output.channels = static_cast<std::int32_t>(front_end_->dims());
  context.output.clock = context.input.clock.windows(grid.shift, 0, grid.length);
  context.max_output = static_cast<std::int64_t>(frames);
  return {};
}

std::int64_t Microfrontend::reset(std::int64_t first) noexcept {
  front_end_->reset();
  grid_ = ceil_div(first, front_end_->grid().shift);
  skip_ = grid_ * front_end_->grid().shift - first;
  return grid_;
}

Status Microfrontend::process(const Block& in, Output& out) noexcept {
  const std::int64_t dropped = std::min(skip_, in.count);
  skip_ -= dropped;
  out.first = grid_ + front_end_->next_frame();
  const std::size_t dims = front_end_->dims();
  RUNNEL_ASSIGN(const std::span<const float> samples, input_.copy({in.as<float>() + dropped, static_cast<std::size_t>(in.count - dropped)}, in.first + dropped, 1));
  const std::span<std::uint16_t> values(values_ == nullptr ? out.as<std::uint16_t>() : values_, static_cast<std::size_t>(out.capacity) * dims);
  const std::size_t frames = front_end_->push(samples, values).frames;
  out.count = static_cast<std::int64_t>(frames);
  const auto written = values.first(frames * dims);
  if (out_type_ == DType::int8) std::transform(written.begin(), written.end(), out.as<std::int8_t>(), features::Microfrontend::to_int8);
  else if (out_type_ == DType::float32) std::transform(written.begin(), written.end(), out.as<float>(), features::Microfrontend::to_float);
  return {};
}

}  // namespace runnel::pipeline
