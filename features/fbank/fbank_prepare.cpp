// Computes the front end's tables at run time: the only part that needs double precision.
#include <cstring>

#include "features/fbank/fbank.h"

namespace runnel::features {

Result<std::size_t> Fbank::memory_bytes(const FbankOptions& options, Isa isa) noexcept {
  RUNNEL_ASSIGN(const FbankShape shape, shape_of(options));
  if (has_mel(options)) RUNNEL_TRY(check_mel(shape.mel));
  return memory_bytes_of(options, kernels_for(isa).lanes);
}

Result<Fbank> Fbank::make(const FbankOptions& options, Isa isa, Memory& memory, RealFft* fft) noexcept {
  RUNNEL_ASSIGN(const FbankShape shape, shape_of(options));
  if (has_mel(options)) RUNNEL_TRY(check_mel(shape.mel));
  const std::int32_t lanes = kernels_for(isa).lanes;
  const FbankTableSizes sizes = fbank_table_sizes(options, shape, lanes);
  auto* floats = static_cast<float*>(memory.allocate(sizes.bytes(), 64));
  if (floats == nullptr)
    return Status(Code::out_of_memory) << "front end: needs " << sizes.bytes() << " bytes for tables";
  std::memset(floats, 0, sizes.bytes());
  auto* integers = reinterpret_cast<std::int32_t*>(floats + sizes.floats);
  fill_fbank_tables(options, shape, lanes, floats, integers);
  Result<Fbank> made = make(fbank_tables(options, shape, lanes, floats, integers), isa, memory, fft);
  if (made.ok() && made->other_fft_ == nullptr)
    made->own_fft_.finish_tables(floats + fbank::TableLayout(options, shape).fft);
  return made;
}

}  // namespace runnel::features
