#include "pipeline/nodes/spectrum/stft.h"

#include <algorithm>
#include <numeric>

#include "features/parameters.h"

namespace runnel::pipeline {
namespace {

constexpr std::string_view kWindows = "povey|hamming|hanning|hann|blackman|sine|rectangular|sqrt_hann",
                           kPads = "mirror|reflect|zero";

std::uint8_t index_of(std::string_view choices, std::string_view name) noexcept {
  for (std::size_t i = 0;; ++i) {
    const std::string_view one = features::choice_at(choices, i);
    if (one.empty() || one == name) return static_cast<std::uint8_t>(one.empty() ? 0 : i);
  }
}

constexpr Parameter kParameters[] = {
    parameter<&StftNode::n_fft>("n_fft", "samples", 2, 1048576, "size of the transform"),
    parameter<&StftNode::win_length>("win_length", "samples", 0, 1048576,
                                     "length of the window, in the middle of the transform; 0: n_fft"),
    parameter<&StftNode::hop_length>("hop_length", "samples", 0, 1048576, "distance of frames; 0: n_fft / 4"),
    text_parameter<&StftNode::window_type>("window_type", kWindows,
                                           "hanning is symmetric, hann and sqrt_hann periodic"),
    switch_parameter<&StftNode::center>("center", "frames centred on multiples of the hop, as in torch.stft"),
    text_parameter<&StftNode::pad_mode>(
        "pad_mode", kPads,
        "with center, outside of the recording: edge samples repeated, not repeated, or zeros"),
    switch_parameter<&StftNode::pairs>("pairs",
                                       "real and imaginary part of a bin side by side, as many networks have "
                                       "them; false: all real parts, then all imaginary parts"),
    text_parameter<&StftNode::non_finite>("non_finite", FiniteInput::kChoices, FiniteInput::kHelp),
};

Status wants_floats(const PrepareContext& context) noexcept {
  if (context.input.dtype == DType::float32) return {};
  return Status(Code::mismatch) << context.input_label << " gives " << describe(context.input).view() << ", "
                                << context.label << " wants float32";
}

}  // namespace

const NodeType Stft::type = {
    .name = "stft",
    .help =
        "Complex spectra: of all n_fft/2 + 1 bins the real parts, then the imaginary parts, or pairs of "
        "both.",
    .input = {static_cast<Kinds>(Kind::audio), "float32, 1 channel"},
    .output = {static_cast<Kinds>(Kind::frames), "float32"},
    .parameters = kParameters,
    .make = make_node<Stft>,
};

const NodeType InverseStft::type = {
    .name = "istft",
    .help =
        "Samples from complex spectra by overlap-add; with the settings of stft it undoes it, up to the "
        "centre of the last frame.",
    .input = {static_cast<Kinds>(Kind::frames),
              "float32, n_fft/2 + 1 real and as many imaginary parts, one frame per hop_length"},
    .output = {static_cast<Kinds>(Kind::audio), "float32, 1 channel"},
    .parameters = kParameters,
    .make = make_node<InverseStft>,
};

const NodeType Mask::type = {
    .name = "mask",
    .help =
        "Multiplies complex spectra with a mask: input is the spectrum and, after it, one factor per bin.",
    .input = {static_cast<Kinds>(Kind::frames), "float32: K real parts, K imaginary parts, K factors"},
    .output = {static_cast<Kinds>(Kind::frames), "float32: K real parts, K imaginary parts"},
    .parameters = {},
    .make = make_node<Mask>,
};

features::StftOptions StftNode::options() const noexcept {
  return {.n_fft = n_fft,
          .win_length = win_length,
          .hop_length = hop_length,
          .window_type = static_cast<features::WindowType>(index_of(kWindows, window_type)),
          .center = center,
          .pad_mode = static_cast<features::Padding>(index_of(kPads, pad_mode))};
}

Status Stft::prepare(PrepareContext& context) noexcept {
  RUNNEL_ASSIGN(features::FbankOptions frames,
                features::frame_options(options(), static_cast<float>(context.input.clock.rate())));
  frames.non_finite = non_finite == "error" ? features::NonFinite::error : features::NonFinite::zero;
  RUNNEL_TRY(blocks_.prepare(frames, context.label, context));
  bins_ = static_cast<std::size_t>(context.output.channels) / 2;
  return prepare_pairs(context, 2 * bins_);
}

Status Stft::process(const Block& in, Output& out) noexcept {
  RUNNEL_TRY(blocks_.process(in, out));
  pair(out);
  return {};
}

Status Stft::flush(Output& out) noexcept {
  RUNNEL_TRY(blocks_.flush(out));
  pair(out);
  return {};
}

void Stft::pair(Output& out) noexcept {
  for (std::int64_t i = 0; pairs && i < out.count; ++i) {
    float* const frame = out.as<float>() + static_cast<std::size_t>(i) * 2 * bins_;
    std::copy_n(frame, 2 * bins_, frame_);
    for (std::size_t k = 0; k < bins_; ++k) {
      frame[2 * k] = frame_[k];
      frame[2 * k + 1] = frame_[bins_ + k];
    }
  }
}

Status StftNode::prepare_pairs(PrepareContext& context, std::size_t values) noexcept {
  if (!pairs) return {};
  frame_ = context.memory.array<float>(values);
  return frame_ == nullptr ? out_of_memory("a spectrum") : Status();
}

Status InverseStft::prepare(PrepareContext& context) noexcept {
  RUNNEL_TRY(wants_floats(context));
  RUNNEL_ASSIGN(inverse_, features::InverseStft::make(options(), context.isa, context.memory));
  if (static_cast<std::size_t>(context.input.channels) != inverse_->dims()) {
    return Status(Code::mismatch) << context.input_label << " gives " << describe(context.input).view()
                                  << ", " << context.label << " with n_fft=" << n_fft << " wants frames of "
                                  << inverse_->dims() << " values";
  }
  RUNNEL_TRY(input_.prepare(type.name, non_finite, inverse_->dims(), context));
  RUNNEL_TRY(prepare_pairs(context, inverse_->dims()));
  // A sample is 1 / hop_length of the distance of frames; sample 0 lies where frame 0 says.
  const features::FrameGrid& grid = inverse_->grid();
  Clock& clock = context.output.clock;
  clock.denominator = context.input.clock.denominator * grid.shift;
  clock.begin = context.input.clock.begin * grid.shift - grid.start_of(0) * context.input.clock.hop;
  clock.hop = clock.span = context.input.clock.hop;
  const std::int64_t common = std::gcd(std::gcd(clock.denominator, clock.begin), clock.hop);
  for (std::int64_t* value : {&clock.denominator, &clock.begin, &clock.hop, &clock.span}) *value /= common;
  context.output.kind = Kind::audio;
  context.output.channels = 1;
  context.max_output = static_cast<std::int64_t>(inverse_->max_samples()) + context.max_input * grid.shift;
  return {};
}

std::int64_t InverseStft::reset(std::int64_t first) noexcept {
  inverse_->reset();
  begin_ = first * inverse_->grid().shift;
  return begin_;
}

Status InverseStft::process(const Block& in, Output& out) noexcept {
  out.first = begin_ + inverse_->next_sample();
  for (std::int64_t i = 0; i < in.count; ++i) {
    const std::size_t dims = inverse_->dims(), bins = dims / 2;
    RUNNEL_ASSIGN(
        const std::span<const float> given,
        input_.copy({in.as<float>() + static_cast<std::size_t>(i) * dims, dims}, in.first + i, dims));
    const float* frame = given.data();
    if (pairs) {
      for (std::size_t k = 0; k < bins; ++k) {
        frame_[k] = frame[2 * k];
        frame_[bins + k] = frame[2 * k + 1];
      }
      frame = frame_;
    }
    out.count += static_cast<std::int64_t>(inverse_->push(
        frame, {out.as<float>() + out.count, static_cast<std::size_t>(out.capacity - out.count)}));
  }
  return {};
}

Status InverseStft::flush(Output& out) noexcept {
  out.first = begin_ + inverse_->next_sample();
  out.count =
      static_cast<std::int64_t>(inverse_->flush({out.as<float>(), static_cast<std::size_t>(out.capacity)}));
  out.end = out.count == 0;
  return {};
}

Status Mask::prepare(PrepareContext& context) noexcept {
  RUNNEL_TRY(wants_floats(context));
  const std::int32_t values = context.input.channels;
  if (values % 3 != 0) {
    return Status(Code::mismatch)
           << context.input_label << " gives " << describe(context.input).view() << ", " << context.label
           << " wants frames of 3 K values: K real parts, K imaginary parts, K factors";
  }
  bins_ = static_cast<std::size_t>(values / 3);
  context.output.channels = values / 3 * 2;
  context.max_output = context.max_input;
  return {};
}

Status Mask::process(const Block& in, Output& out) noexcept {
  for (std::int64_t i = 0; i < in.count; ++i) {
    const float* from = in.as<float>() + static_cast<std::size_t>(i) * 3 * bins_;
    float* to = out.as<float>() + static_cast<std::size_t>(i) * 2 * bins_;
    std::copy_n(from, 2 * bins_, to);
    features::apply_mask({from + 2 * bins_, bins_}, {to, 2 * bins_});
  }
  out.count = in.count;
  out.first = in.first;
  return {};
}

}  // namespace runnel::pipeline
