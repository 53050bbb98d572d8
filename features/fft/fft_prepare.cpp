// Computes the FFT's tables at run time: the only part that needs double precision.
#include <algorithm>

#include "features/fft/fft.h"

namespace runnel::features {

Status OwnFft::init(std::size_t n, Isa isa, Memory& memory) noexcept {
  if (!supported(n))
    return Status(Code::invalid_argument) << "FFT size " << n << ": expected 1 to " << kMaxFftSize;
  const std::size_t floats = real_fft_table_floats(n);
  auto* tables = static_cast<float*>(memory.allocate(floats * sizeof(float), 64));
  if (tables == nullptr)
    return Status(Code::out_of_memory) << "FFT of size " << n << ": needs " << memory_bytes(n) << " bytes";
  std::fill_n(tables, floats, 0.0F);
  fill_real_fft_tables(n, tables);
  RUNNEL_TRY(init(n, tables, isa, memory));
  finish_tables(tables);
  return Status();
}

}  // namespace runnel::features
