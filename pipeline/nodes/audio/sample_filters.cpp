#include "pipeline/nodes/audio/sample_filters.h"

#include <algorithm>

namespace runnel::pipeline {
namespace {

constexpr Port kAudio = {static_cast<Kinds>(Kind::audio), "float32, any number of channels"};
constexpr Parameter kGain[] = {parameter<&Gain::db>("db", "dB", -200, 200, "20 log10 of the factor")};
constexpr Parameter kPreemphasis[] = {
    parameter<&Preemphasis::coefficient>("coefficient", "", 0, 1,
                                         "c in x[i] - c x[i-1]; 0 stands before the stream"),
    text_parameter<&Preemphasis::non_finite>("non_finite", FiniteInput::kChoices, FiniteInput::kHelp),
};
constexpr Parameter kHighPass[] = {
    parameter<&HighPass::cutoff>("cutoff", "Hz", 0.001, 384000, "-3 dB there, below half the sample rate"),
    parameter<&HighPass::order>("order", "", 1, 2, "1: 6 dB per octave; 2: 12 dB per octave"),
    text_parameter<&HighPass::non_finite>("non_finite", FiniteInput::kChoices, FiniteInput::kHelp),
};
constexpr Parameter kDither[] = {
    parameter<&Dither::deviation>("deviation", "", 0, 1,
                                  "standard deviation of the noise; samples are in [-1, 1)"),
    parameter<&Dither::seed>("seed", "", 0, 2147483647,
                             "the same seed gives the same noise for the same sample"),
};

// Nothing about the format changes; returns the number of channels.
std::size_t keep_format(PrepareContext& context) noexcept {
  context.max_output = context.max_input;
  return static_cast<std::size_t>(context.input.channels);
}

std::span<const float> samples_of(const Block& in, std::size_t channels) noexcept {
  return {in.as<float>(), static_cast<std::size_t>(in.count) * channels};
}

// Where the samples of the block go, which a filter then changes in place.
std::span<float> same_place(const Block& in, Output& out, std::size_t channels) noexcept {
  out.count = in.count;
  out.first = in.first;
  return {out.as<float>(), static_cast<std::size_t>(in.count) * channels};
}

// Copies the block, whatever is in it.
std::span<float> copied(const Block& in, Output& out, std::size_t channels) noexcept {
  const std::span<float> samples = same_place(in, out, channels);
  std::copy_n(in.as<float>(), samples.size(), samples.begin());
  return samples;
}

}  // namespace

const NodeType Gain::type = {.name = "gain",
                             .help = "Multiplies samples.",
                             .input = kAudio,
                             .output = kAudio,
                             .parameters = kGain,
                             .make = make_node<Gain>};
const NodeType Preemphasis::type = {.name = "preemphasis",
                                    .help = "Pre-emphasis of the whole stream: x[i] - c x[i-1].",
                                    .input = kAudio,
                                    .output = kAudio,
                                    .parameters = kPreemphasis,
                                    .make = make_node<Preemphasis>};
const NodeType HighPass::type = {.name = "highpass",
                                 .help = "Butterworth high-pass filter: removes an offset and rumble.",
                                 .input = kAudio,
                                 .output = kAudio,
                                 .parameters = kHighPass,
                                 .make = make_node<HighPass>};
const NodeType Dither::type = {.name = "dither",
                               .help = "Adds Gaussian noise, the same for the same seed and sample.",
                               .input = kAudio,
                               .output = kAudio,
                               .parameters = kDither,
                               .make = make_node<Dither>};

Status Gain::prepare(PrepareContext& context) noexcept {
  channels_ = keep_format(context);
  factor_ = features::factor_of(db);
  return {};
}

Status Gain::process(const Block& in, Output& out) noexcept {
  for (float& sample : copied(in, out, channels_)) sample *= factor_;
  return {};
}

Status Preemphasis::prepare(PrepareContext& context) noexcept {
  channels_ = keep_format(context);
  RUNNEL_TRY(input_.prepare(type.name, non_finite, 0, context));
  return filter_.init(coefficient, channels_, context.memory);
}

std::int64_t Preemphasis::reset(std::int64_t first) noexcept {
  filter_.reset();
  return first;
}

Status Preemphasis::process(const Block& in, Output& out) noexcept {
  const std::span<float> samples = same_place(in, out, channels_);
  RUNNEL_TRY(input_.copy_to(samples.data(), samples_of(in, channels_), in.first, channels_));
  filter_.apply(samples);
  return {};
}

Status HighPass::prepare(PrepareContext& context) noexcept {
  channels_ = keep_format(context);
  RUNNEL_TRY(input_.prepare(type.name, non_finite, 0, context));
  return filter_.init({.cutoff_hz = static_cast<double>(cutoff),
                       .rate_hz = static_cast<double>(context.input.clock.rate()),
                       .order = order},
                      channels_, context.memory);
}

std::int64_t HighPass::reset(std::int64_t first) noexcept {
  filter_.reset();
  return first;
}

Status HighPass::process(const Block& in, Output& out) noexcept {
  const std::span<float> samples = same_place(in, out, channels_);
  RUNNEL_TRY(input_.copy_to(samples.data(), samples_of(in, channels_), in.first, channels_));
  filter_.apply(samples);
  return {};
}

Status Dither::prepare(PrepareContext& context) noexcept {
  channels_ = keep_format(context);
  return {};
}

Status Dither::process(const Block& in, Output& out) noexcept {
  features::add_stream_noise(copied(in, out, channels_), in.first, channels_, deviation, seed);
  return {};
}

}  // namespace runnel::pipeline
