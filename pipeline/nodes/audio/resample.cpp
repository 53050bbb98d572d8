#include "pipeline/nodes/audio/resample.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    parameter<&Resample::rate>("rate", "Hz", 1, 768000, "sample rate of the output"),
    parameter<&Resample::pass_band>("pass_band", "", 0.5, 0.99,
                                    "passband edge as a fraction of the lower Nyquist frequency"),
    text_parameter<&Resample::non_finite>("non_finite", FiniteInput::kChoices, FiniteInput::kHelp),
};

}  // namespace

const NodeType Resample::type = {
    .name = "resample",
    .help = "Converts the sample rate with a polyphase filter, each channel separately; times stay exact.",
    .input = {static_cast<Kinds>(Kind::audio), "float32, any number of channels"},
    .output = {static_cast<Kinds>(Kind::audio), "float32, the same channels"},
    .parameters = kParameters,
    .make = make_node<Resample>,
};

Status Resample::prepare(NodeContext& context) noexcept {
  const std::int64_t given = context.input.clock.rate();
  if (given < 1 || given > 768000) {
    return Status(Code::mismatch) << context.input_label << " gives " << describe(context.input).view()
                                  << ", " << context.label << " wants a rate from 1 to 768000 Hz";
  }
  features::ResamplerSpec spec;
  spec.in_rate = static_cast<std::int32_t>(given);
  spec.out_rate = rate;
  spec.pass_band = pass_band;
  channels_ = static_cast<std::size_t>(context.input.channels);
  RUNNEL_TRY(input_.prepare(type.name, non_finite, static_cast<std::size_t>(context.max_input) * channels_,
                            context));
  resamplers_ = context.memory.array<std::optional<features::Resampler>>(channels_);
  if (resamplers_ == nullptr) return out_of_memory("the resamplers");
  for (std::size_t c = 0; c < channels_; ++c) {
    RUNNEL_ASSIGN(resamplers_[c], features::Resampler::make(spec, context.isa, context.memory));
  }
  const std::int64_t common = std::gcd<std::int64_t, std::int64_t>(given, rate);
  up_ = rate / common;
  down_ = given / common;
  context.output.clock = context.input.clock.resampled(up_, down_);
  context.max_output = static_cast<std::int64_t>(
      std::max(resamplers_[0]->max_outputs(static_cast<std::size_t>(context.max_input)), std::size_t{1}));
  room_ = static_cast<std::size_t>(context.max_output);
  if (channels_ == 1) return {};
  in_ = context.memory.array<float>(static_cast<std::size_t>(context.max_input));
  out_ = context.memory.array<float>(room_);
  if (in_ == nullptr || out_ == nullptr) return out_of_memory("one channel");
  return {};
}

std::int64_t Resample::reset(std::int64_t first) noexcept {
  for (std::size_t c = 0; c < channels_; ++c) resamplers_[c]->reset();
  const std::int64_t start = ceil_div(first, down_);
  skip_ = start * down_ - first;
  grid_ = start * up_;
  return grid_;
}

template <class Give>
std::int64_t Resample::give(Output& out, std::size_t channel, const Give& resampled) noexcept {
  auto* to = out.as<float>();
  if (channels_ == 1) return static_cast<std::int64_t>(resampled({to, room_}));
  const std::size_t count = resampled({out_, room_});
  for (std::size_t i = 0; i < count; ++i) to[i * channels_ + channel] = out_[i];
  return static_cast<std::int64_t>(count);
}

Status Resample::process(const Block& in, Output& out) noexcept {
  const std::int64_t dropped = std::min(skip_, in.count);
  skip_ -= dropped;
  out.first = grid_ + resamplers_[0]->next_output();
  const auto count = static_cast<std::size_t>(in.count - dropped);
  RUNNEL_ASSIGN(
      const std::span<const float> from,
      input_.copy({in.as<float>() + static_cast<std::size_t>(dropped) * channels_, count * channels_},
                  in.first + dropped, channels_));
  for (std::size_t c = 0; c < channels_; ++c) {
    for (std::size_t i = 0; channels_ > 1 && i < count; ++i) in_[i] = from[i * channels_ + c];
    const std::span<const float> samples(channels_ > 1 ? in_ : from.data(), count);
    out.count =
        give(out, c, [&](std::span<float> room) { return resamplers_[c]->push(samples, room).outputs; });
  }
  return {};
}

Status Resample::flush(Output& out) noexcept {
  out.first = grid_ + resamplers_[0]->next_output();
  for (std::size_t c = 0; c < channels_; ++c) {
    out.count = give(out, c, [&](std::span<float> room) { return resamplers_[c]->flush(room); });
  }
  out.end = out.count == 0;
  return {};
}

}  // namespace runnel::pipeline
