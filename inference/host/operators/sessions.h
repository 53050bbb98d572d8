// What keeps state in a session, and what is computed outside this library.
#pragma once

#include "inference/host/operator_traits.h"
#include "inference/host/operators/words.h"

namespace runnel::operators {

inline constexpr OperatorTraits kSessionTraits[] = {
    // ---- recurrence
    {.code = OpCode::gru,
     .family = Family::recurrence,
     .shapes = Shapes::recurrent,
     .products = Products::gates,
     .role = QuantizerRole::recurrent,
     .arithmetics = {{Arithmetic::espdl, "x, W, R, then bias, initial h or absent", kAll,
                      "carries its state; forwards only",
                      "gates of int16, products of gates in float32, saturated; f32: fixed order"}}},
    {.code = OpCode::lstm,
     .family = Family::recurrence,
     .shapes = Shapes::recurrent,
     .products = Products::gates,
     .role = QuantizerRole::recurrent,
     .arithmetics = {{Arithmetic::espdl, "x, W, R, then bias, initial h, initial c or absent", kAll,
                      "carries its state; forwards only", "as gru, the cell int16 at the gates' scale"},
                     {Arithmetic::stateful_tflite, "x, 4 weights of x, 4 of h, 4 biases",
                      "i8 with scales, f32", kSteps,
                      "gates Q3.12 and Q0.15 from a table, cell i16; f32: fixed order"},
                     {Arithmetic::stateful_shifts, "as stateful_tflite", "i8", kSteps,
                      "as stateful_tflite, with shifts, each result rounded once"}}},
    {.code = OpCode::svdf,
     .family = Family::recurrence,
     .shapes = Shapes::svdf,
     .products = Products::filters,
     .arithmetics = {{Arithmetic::only, "x, weights over features, over time, bias or absent",
                      "i8 with scales, f32", kSteps,
                      "state i8 or i16, TensorFlow Lite's multipliers; f32: fixed order"},
                     {Arithmetic::shifts, "as tflite", "i8, state i8 or i16", kSteps,
                      "as tflite, with shifts, each result rounded once"}}},
    // ---- what a session keeps
    {.code = OpCode::streaming_cache,
     .family = Family::state,
     .shapes = Shapes::streaming_cache,
     .sign = Sign::as_first,
     .role = QuantizerRole::passive,
     .affine_role = QuantizerRole::passive,
     .arithmetics = {{Arithmetic::espdl, "x", "any type", "no: keeps frames from call to call", "copied"}}},
    {.code = OpCode::read_variable,
     .family = Family::state,
     .shapes = Shapes::read_variable,
     .role = QuantizerRole::passive,
     .affine_role = QuantizerRole::passive,
     .arithmetics = {{Arithmetic::espdl, "first value or absent", "any type", kSteps, "copied"}}},
    {.code = OpCode::assign_variable,
     .family = Family::state,
     .shapes = Shapes::as_input,
     .role = QuantizerRole::passive,
     .affine_role = QuantizerRole::passive,
     .arithmetics = {{Arithmetic::espdl, "x", "any type", kSteps, "copied"}}},
    // ---- computed outside this library
    {.code = OpCode::custom, .family = Family::outside, .shapes = Shapes::outside},
    {.code = OpCode::delegate,
     .family = Family::outside,
     .shapes = Shapes::outside,
     .arithmetics = {{Arithmetic::espdl, "constants of the back end, then what it reads", "any type", "no",
                      "the back end's"}}},
};

}  // namespace runnel::operators
