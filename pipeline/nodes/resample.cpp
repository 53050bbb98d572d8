#include "pipeline/nodes/resample.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    parameter<&Resample::rate>("rate", "Hz", 1, 768000, "sample rate of the output"),
    parameter<&Resample::pass_band>("pass_band", "", 0.5, 0.99, "share of the smaller Nyquist frequency that passes unchanged"),
};

}  // namespace

const NodeType Resample::type = {
    .name = "resample",
    .help = "Converts to another sample rate with a polyphase filter; times stay exact.",
    .input = {static_cast<Kinds>(Kind::audio), "float32, 1 channel"},
    .output = {static_cast<Kinds>(Kind::audio), "float32, 1 channel"},
    .parameters = kParameters,
    .make = make_node<Resample>,
};

Status Resample::prepare(PrepareContext& context) noexcept {
  if (context.input.channels != 1) return wants_mono(context, context.label);
  const std::int64_t given = context.input.clock.rate();
  if (given < 1 || given > 768000) {
    return Status(Code::mismatch) << context.input_label << " gives " << describe(context.input).view() << ", " << context.label
                                  << " wants a rate from 1 to 768000 Hz";
  }
  features::ResamplerSpec spec;
  spec.in_rate = static_cast<std::int32_t>(given);
  spec.out_rate = rate;
  spec.pass_band = pass_band;
  RUNNEL_ASSIGN(resampler_, features::Resampler::make(spec, context.isa, context.memory));
  const std::int64_t common = std::gcd<std::int64_t, std::int64_t>(given, rate);
  up_ = rate / common;
  down_ = given / common;
  context.output.clock = context.input.clock.resampled(up_, down_);
  context.max_output = static_cast<std::int64_t>(std::max(resampler_->max_outputs(static_cast<std::size_t>(context.max_input)), std::size_t{1}));
  return {};
}

std::int64_t Resample::reset(std::int64_t first) noexcept {
  resampler_->reset();
  const std::int64_t start = ceil_div(first, down_);
  skip_ = start * down_ - first;
  grid_ = start * up_;
  return grid_;
}

Status Resample::process(const Block& in, Output& out) noexcept {
  const std::int64_t dropped = std::min(skip_, in.count);
  skip_ -= dropped;
  out.first = grid_ + resampler_->next_output();
  const std::span<const float> samples(in.as<float>() + dropped, static_cast<std::size_t>(in.count - dropped));
  out.count = static_cast<std::int64_t>(resampler_->push(samples, {out.as<float>(), static_cast<std::size_t>(out.capacity)}).outputs);
  return {};
}

Status Resample::flush(Output& out) noexcept {
  out.first = grid_ + resampler_->next_output();
  out.count = static_cast<std::int64_t>(resampler_->flush({out.as<float>(), static_cast<std::size_t>(out.capacity)}));
  out.end = out.count == 0;
  return {};
}

}  // namespace runnel::pipeline
