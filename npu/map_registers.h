// The registers of a feature map's place, which the decoder reads and the stream encoder writes.
#pragma once

#include "npu/registers.h"

namespace runnel::npu {

// The base and stride registers of the three maps are numbered alike.
struct MapRegisters {
  Short precision, zero_point, width0, height0, height1, region;
  Long base0, stride_x, stride_y, stride_c;
  bool output;  // its precision register has the same fields at other bits
};
inline constexpr MapRegisters kIfm{Short::ifm_precision,
                                   Short::ifm_zero_point,
                                   Short::ifm_width0_m1,
                                   Short::ifm_height0_m1,
                                   Short::ifm_height1_m1,
                                   Short::ifm_region,
                                   Long::ifm_base0,
                                   Long::ifm_stride_x,
                                   Long::ifm_stride_y,
                                   Long::ifm_stride_c,
                                   false};
inline constexpr MapRegisters kIfm2{Short::ifm2_precision,
                                    Short::ifm2_zero_point,
                                    Short::ifm2_width0_m1,
                                    Short::ifm2_height0_m1,
                                    Short::ifm2_height1_m1,
                                    Short::ifm2_region,
                                    Long::ifm2_base0,
                                    Long::ifm2_stride_x,
                                    Long::ifm2_stride_y,
                                    Long::ifm2_stride_c,
                                    false};
inline constexpr MapRegisters kOfm{Short::ofm_precision,
                                   Short::ofm_zero_point,
                                   Short::ofm_width0_m1,
                                   Short::ofm_height0_m1,
                                   Short::ofm_height1_m1,
                                   Short::ofm_region,
                                   Long::ofm_base0,
                                   Long::ofm_stride_x,
                                   Long::ofm_stride_y,
                                   Long::ofm_stride_c,
                                   true};

}  // namespace runnel::npu
