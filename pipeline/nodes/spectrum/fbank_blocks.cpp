#include "pipeline/nodes/spectrum/fbank_blocks.h"

#include "base/float_of.h"
#include "pipeline/shared_work.h"

namespace runnel::pipeline {

template class FbankBlocksOf<features::Fbank>;

Status check_fbank_input(const features::FbankOptions& options, std::string_view who,
                         NodeContext& context) noexcept {
  if (context.input.channels != 1) return wants_mono(context, who);
  if (float_of(context.input.clock.rate()) == options.sample_frequency) return {};
  return wants_rate(context, who, static_cast<std::int32_t>(options.sample_frequency));
}

Status FbankBlocks::prepare(const features::FbankOptions& options, std::string_view who,
                            NodeContext& context) noexcept {
  RUNNEL_TRY(check_fbank_input(options, who, context));
  features::RealFft* fft = nullptr;
  if (options.fft == features::FftChoice::fftw) {
    if (context.ffts == nullptr) return Status(Code::unsupported, "fft=fftw: this program has no FFTW");
    RUNNEL_ASSIGN(const features::FbankShape shape, features::shape_of(options));
    RUNNEL_ASSIGN(fft, context.ffts->make(shape.fft_size));
  }
  if (context.work != nullptr && fft == nullptr) {
    RUNNEL_ASSIGN(const features::Fbank* const first, context.work->front_end(options, context.isa));
    RUNNEL_TRY(features::Fbank::make_like(front_end(), *first, context.memory));
  } else {
    RUNNEL_ASSIGN(front_end(), features::Fbank::make(options, context.isa, context.memory, fft));
  }
  describe_output(context);
  return {};
}

Status FbankBlocks::prepare(const features::FbankTables& tables, std::string_view who,
                            NodeContext& context) noexcept {
  RUNNEL_TRY(check_fbank_input(tables.options, who, context));
  RUNNEL_TRY(features::Fbank::make_in(front_end(), tables, context.isa, context.memory));
  describe_output(context);
  return {};
}

}  // namespace runnel::pipeline
