#include "pipeline/nodes/stft/inverse_stft.h"

#include <numeric>

#include "pipeline/nodes/window_grid.h"

namespace runnel::pipeline {

const NodeType InverseStft::type = {
    .name = "istft",
    .help =
        "Samples from complex spectra by overlap-add; inverts stft with the same settings, up to the centre "
        "of the last frame.",
    .input = {static_cast<Kinds>(Kind::frames),
              "float32, n_fft/2 + 1 real and as many imaginary parts, one frame per hop_length"},
    .output = {static_cast<Kinds>(Kind::audio), "float32, 1 channel"},
    .parameters = kStftParameters,
    .make = make_node<InverseStft>,
};

Status InverseStft::prepare(NodeContext& context) noexcept {
  RUNNEL_TRY(wants_float32(context));
  RUNNEL_ASSIGN(inverse_, features::InverseStft::make(options(), context.isa, context.memory));
  if (static_cast<std::size_t>(context.input.channels) != inverse_->dims()) {
    return Status(Code::mismatch) << context.input_label << " gives " << describe(context.input).view()
                                  << ", " << context.label << " with n_fft=" << n_fft << " wants frames of "
                                  << inverse_->dims() << " values";
  }
  RUNNEL_TRY(input_.prepare(type.name, non_finite, inverse_->dims(), context));
  RUNNEL_TRY(prepare_pairs(context, inverse_->dims()));
  // A sample is 1 / hop_length of the hop of frames; the clock of frame 0 gives the position of sample 0.
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

}  // namespace runnel::pipeline
