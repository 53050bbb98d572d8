// The instruction levels of the float kernels.
#pragma once

#include <vector>

#include "base/cpu.h"

namespace runnel::kernels {

// Levels that this machine can run; VNNI and tiles are for integers only.
inline std::vector<Isa> float_levels() {
  std::vector<Isa> levels;
  for (const Isa isa : {Isa::generic, Isa::avx2, Isa::avx512, Isa::rvv}) {
    if (runs_here(isa)) levels.push_back(isa);
  }
  return levels;
}

}  // namespace runnel::kernels
