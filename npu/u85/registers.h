// Registers that only the Ethos-U85 has, or uses differently.
#pragma once

#include "npu/registers.h"

namespace runnel::npu::u85 {

namespace reg {
inline constexpr Short resize_x_scale{0x12a}, resize_y_scale{0x12b}, resize_x_offset{0x12c},
    resize_y_offset{0x12d}, weight_format{0x12e}, index_region{0x134};
inline constexpr Long ifm_scale{0x025}, ifm2_scale{0x026}, scalar{0x027}, source_stride0{0x033},
    source_stride1{0x034}, target_stride0{0x035}, target_stride1{0x036}, index{0x037}, index_most{0x038},
    index_skip{0x039}, resize_x{0x096}, resize_y{0x097}, branch{0x100};
}  // namespace reg

}  // namespace runnel::npu::u85
