#include "kernels/transformer/fixed_layer_norm_loops.h"

namespace runnel::kernels {

FixedLayerNorm fixed_layer_norm_rvv() noexcept { return layer_norm_loops; }

}  // namespace runnel::kernels
