// Convolutions for RISC-V's vectors: what prepares them calls these.
#pragma once

#include <cstdint>

namespace runnel::kernels {

// Channels that are computed together: four vectors' worth of what ConvPlan calls lanes.
std::int32_t conv_group_rvv() noexcept;

}  // namespace runnel::kernels
