#include "pipeline/nodes/spectrum/microfrontend_blocks.h"

#include <algorithm>

#include "base/float_of.h"

namespace runnel::pipeline {

Status MicrofrontendBlocks::take_input(const features::MicrofrontendOptions& options, const Choices& choices,
                                       NodeContext& context) noexcept {
  if (context.input.channels != 1) return wants_mono(context, choices.who);
  if (float_of(context.input.clock.rate()) != options.sample_frequency) {
    return wants_rate(context, choices.who, static_cast<std::int64_t>(options.sample_frequency));
  }
  out_type_ = choices.gives;
  return input_.prepare("microfrontend", choices.non_finite, static_cast<std::size_t>(context.max_input),
                        context);
}

Status MicrofrontendBlocks::prepare(const features::MicrofrontendOptions& options, const Choices& choices,
                                    NodeContext& context) noexcept {
  RUNNEL_TRY(take_input(options, choices, context));
  RUNNEL_ASSIGN(front_end_, features::Microfrontend::make(options, context.isa, context.memory));
  return describe_output(context);
}

Status MicrofrontendBlocks::prepare(const features::MicrofrontendOptions& options,
                                    const features::MicrofrontendTables& tables, const Choices& choices,
                                    NodeContext& context) noexcept {
  RUNNEL_TRY(take_input(options, choices, context));
  RUNNEL_ASSIGN(front_end_, features::Microfrontend::make(options, tables, context.isa, context.memory));
  return describe_output(context);
}

Status MicrofrontendBlocks::describe_output(NodeContext& context) noexcept {
  const features::FrameGrid& grid = front_end_->grid();
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

std::int64_t MicrofrontendBlocks::reset(std::int64_t first) noexcept {
  front_end_->reset();
  grid_.set_hop(front_end_->grid().shift);
  return grid_.reset(first);
}

Status MicrofrontendBlocks::process(const Block& in, Output& out) noexcept {
  const std::int64_t dropped = grid_.drop(in.count);
  out.first = grid_.index(front_end_->next_frame());
  const std::size_t dims = front_end_->dims();
  RUNNEL_ASSIGN(const std::span<const float> samples,
                input_.copy({in.as<float>() + dropped, static_cast<std::size_t>(in.count - dropped)},
                            in.first + dropped, 1));
  const std::span<std::uint16_t> values(values_ == nullptr ? out.as<std::uint16_t>() : values_,
                                        static_cast<std::size_t>(out.capacity) * dims);
  const std::size_t frames = front_end_->push(samples, values).frames;
  out.count = static_cast<std::int64_t>(frames);
  const auto written = values.first(frames * dims);
  if (out_type_ == DType::int8)
    std::transform(written.begin(), written.end(), out.as<std::int8_t>(), features::Microfrontend::to_int8);
  else if (out_type_ == DType::float32)
    std::transform(written.begin(), written.end(), out.as<float>(), features::Microfrontend::to_float);
  return {};
}

}  // namespace runnel::pipeline
