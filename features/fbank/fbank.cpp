#include "features/fbank/fbank.h"

namespace runnel::features {

template class FbankSteps<Fbank, Framer>;

Result<Fbank> Fbank::make(const FbankTables& tables, Isa isa, Memory& memory, RealFft* fft) noexcept {
  std::optional<Fbank> made;
  RUNNEL_TRY(make_in(made, tables, isa, memory, fft));
  return std::move(*made);
}

Status Fbank::make_in(std::optional<Fbank>& place, const FbankTables& tables, Isa isa, Memory& memory,
                      RealFft* fft) noexcept {
  place.emplace(Empty());
  Fbank& f = *place;
  f.tables_ = tables;
  f.kernels_ = &kernels_for(isa);
  const FbankOptions& options = tables.options;
  const FbankShape& shape = tables.shape;
  if (tables.lanes != 1 && tables.lanes != f.kernels_->lanes) {
    return Status(Code::mismatch) << "tables of a front end for " << tables.lanes
                                  << " filters side by side: expected "
                                  << (f.kernels_->lanes > 1 ? "1 or " : "") << f.kernels_->lanes;
  }
  if (options.fft == FftChoice::fftw) {
    if (fft == nullptr)
      return Status(Code::unsupported, "fft=fftw: no FFTW back end in this program; expected fft=own");
    if (fft->size() != shape.fft_size) {
      return Status(Code::mismatch) << "FFT of size " << fft->size() << " given, expected " << shape.fft_size;
    }
    f.other_fft_ = fft;
  }
  RUNNEL_TRY(f.framer_.init(shape.grid, memory));
  RUNNEL_TRY(f.take_arrays(memory));
  const fbank::TableLayout layout(options, shape);
  f.dct_ = tables.floats + layout.dct;
  if (has_mel(options))
    f.mel_.init(tables.shape.mel, tables.lanes, tables.floats + layout.mel, tables.integers);
  if (f.other_fft_ == nullptr)
    RUNNEL_TRY(f.own_fft_.init(shape.fft_size, tables.floats + layout.fft, isa, memory));
  return {};
}

Status Fbank::make_like(std::optional<Fbank>& place, const Fbank& first, Memory& memory) noexcept {
  if (first.other_fft_ != nullptr)
    return Status(Code::unsupported, "a front end like one whose transform was brought along");
  place.emplace(Empty());
  Fbank& f = *place;
  f = first;
  RUNNEL_TRY(f.framer_.init(first.shape().grid, memory));
  RUNNEL_TRY(f.take_held(memory));
  f.reset();
  return {};
}

}  // namespace runnel::features
