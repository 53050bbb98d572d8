#include "pipeline/nodes/fbank_blocks.h"

#include <algorithm>

#include "base/checked.h"
#include "pipeline/shared_work.h"

namespace runnel::pipeline {

Status FbankBlocks::check_input(const features::FbankOptions& options, std::string_view who, PrepareContext& context) noexcept {
  if (context.input.channels != 1) return wants_mono(context, who);
  if (static_cast<float>(context.input.clock.rate()) == options.sample_frequency) return {};
  return wants_rate(context, who, static_cast<std::int64_t>(options.sample_frequency));
}

Status FbankBlocks::prepare(const features::FbankOptions& options, std::string_view who, PrepareContext& context) noexcept {
  RUNNEL_TRY(check_input(options, who, context));
  features::RealFft* fft = nullptr;
  if (options.fft == features::FftChoice::fftw) {
    if (context.ffts == nullptr) return Status(Code::unsupported, "fft=fftw: this program has no FFTW");
    RUNNEL_ASSIGN(const features::FbankShape shape, features::shape_of(options));
    RUNNEL_ASSIGN(fft, context.ffts->make(shape.fft_size));
  }
  if (context.work != nullptr && fft == nullptr) {
    RUNNEL_ASSIGN(const features::Fbank* const first, context.work->front_end(options, context.isa));
    RUNNEL_TRY(features::Fbank::make_like(fbank_, *first, context.memory));
  } else {
    RUNNEL_ASSIGN(fbank_, features::Fbank::make(options, context.isa, context.memory, fft));
  }
  describe_output(context);
  return {};
}

Status FbankBlocks::prepare(const features::FbankTables& tables, std::string_view who, PrepareContext& context) noexcept {
  RUNNEL_TRY(check_input(tables.options, who, context));
  RUNNEL_TRY(features::Fbank::make_in(fbank_, tables, context.isa, context.memory));
  describe_output(context);
  return {};
}

void FbankBlocks::describe_output(PrepareContext& context) noexcept {
  const features::FrameGrid& grid = fbank_->shape().grid;
  shift_ = grid.shift;
  dims_ = fbank_->dims();
  context.output.kind = Kind::frames;
  context.output.dtype = DType::float32;
  context.output.channels = static_cast<std::int32_t>(dims_);
  context.output.clock = context.input.clock.windows(grid.shift, grid.start_of(0), grid.length);
  context.max_output = static_cast<std::int64_t>(
      std::max(fbank_->max_frames(static_cast<std::size_t>(context.max_input)), std::size_t{1}));
}

std::int64_t FbankBlocks::reset(std::int64_t first) noexcept {
  replaced_ = replaced();
  fbank_->reset();
  grid_ = ceil_div(first, shift_);
  skip_ = grid_ * shift_ - first;
  return grid_;
}

std::span<float> FbankBlocks::room(const Output& out) const noexcept {
  return {out.as<float>(), static_cast<std::size_t>(out.capacity) * dims_};
}

Status FbankBlocks::process(const Block& in, Output& out) noexcept {
  const std::int64_t dropped = std::min(skip_, in.count);
  skip_ -= dropped;
  out.first = grid_ + fbank_->next_frame();
  const auto count = static_cast<std::size_t>(in.count - dropped);
  const features::Fbank::Step step = fbank_->push(std::span<const float>(in.as<float>() + dropped, count), room(out));
  out.count = static_cast<std::int64_t>(step.frames);
  return step.samples == count ? Status() : fbank_->status();
}

Status FbankBlocks::flush(Output& out) noexcept {
  out.first = grid_ + fbank_->next_frame();
  out.count = static_cast<std::int64_t>(fbank_->flush(room(out)));
  out.end = out.count == 0;
  return {};
}

}  // namespace runnel::pipeline
