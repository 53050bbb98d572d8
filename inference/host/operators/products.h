// Products of matrices and windows.
#pragma once

#include "inference/host/operator_traits.h"
#include "inference/host/operators/words.h"

namespace runnel::operators {

inline constexpr OperatorTraits kProductTraits[] = {
    {.code = OpCode::conv,
     .family = Family::product,
     .shapes = Shapes::conv,
     .zeros = Zeros::of_constants,
     .products = Products::weights,
     .spatial = true,
     .role = QuantizerRole::weighted,
     .affine_role = QuantizerRole::weighted,
     .arithmetics = {{Arithmetic::espdl, "x, weights, bias or absent", kAll, kWindow,
                      "exact sums, one rounding, per tensor or channel; f32: fixed order"},
                     {Arithmetic::hybrid, "x, weights, bias or absent", "f32, weights i8 with scales",
                      "no: one scale for the whole input",
                      "input rounded to i8 by its largest value, exact sums, scaled in float32"},
                     {Arithmetic::multipliers, "x, weights, bias or absent, multipliers, shifts", kAffine,
                      kWindow, "exact sums, then the multipliers and shifts given, rounded twice or once"}}},
    {.code = OpCode::fully_connected,
     .family = Family::product,
     .shapes = Shapes::fully_connected,
     .zeros = Zeros::of_constants,
     .products = Products::weights,
     .role = QuantizerRole::weighted,
     .affine_role = QuantizerRole::weighted,
     .arithmetics = {{Arithmetic::espdl, "x, weights, bias or absent", kAll, kOtherAxes, "as conv"},
                     {Arithmetic::hybrid, "x, weights, bias or absent", "f32, weights i8 with scales",
                      "no: one scale per row", "as conv hybrid"},
                     {Arithmetic::multipliers, "x, weights, bias or absent, multipliers, shifts", kAffine,
                      kOtherAxes, "as conv multipliers"}}},
    {.code = OpCode::matmul,
     .family = Family::product,
     .shapes = Shapes::matmul,
     .sign = Sign::as_all,
     .zeros = Zeros::zero,
     .products = Products::inner,
     .role = QuantizerRole::pair,
     .affine_role = QuantizerRole::pair,
     .arithmetics = {{Arithmetic::espdl, "a [.., M, K], b [.., K, N]", kAll,
                      "time is M beside a fixed b, or a leading axis",
                      "exact sums, one rounding; f32: in order of K"},
                     {Arithmetic::tflite, "a [.., M, K], b [.., K, N]", kAffine,
                      "time is M beside a fixed b, or a leading axis",
                      "exact sums, then a multiplier of 31 bits, rounded twice"}}},
    {.code = OpCode::transposed_conv,
     .family = Family::product,
     .shapes = Shapes::transposed_conv,
     .products = Products::taps,
     .spatial = true,
     .role = QuantizerRole::weighted,
     .arithmetics = {{Arithmetic::espdl, "x, weights, bias or absent", kIntegers,
                      "upsampling: history, delay, flush",
                      "exact sums, one rounding, per tensor or channel"}}},
    {.code = OpCode::attention,
     .family = Family::product,
     .shapes = Shapes::attention,
     .role = QuantizerRole::attention,
     .affine_role = QuantizerRole::attention,
     .arithmetics =
         {{Arithmetic::espdl,
           "queries, keys, values [1, time, heads, C], bias of distances or absent, table of "
           "distances or absent",
           kAll, "keys and values: history around the query's chunk",
           "products as matmul, softmax as softmax; f32: in order"},
          {Arithmetic::fixed_point,
           "queries, keys, values [1, time, heads, C], bias of distances (i32) or absent, table of "
           "distances or absent",
           "i8 i16, also with scales", "keys and values: history around the query's chunk",
           "exact sums; exponentials and 1 / sum by tables of 513, linear; one multiplier of 31 "
           "bits for scores, one for the result"}}},
};

}  // namespace runnel::operators
