// Graphs of float operators between dequantize and quantize (QDQ) as graphs on integers.
#pragma once

#include "base/status.h"
#include "compiler/import/onnx/integers/grid.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler {

// Integers with one scale are int8, uint8 or int16 here, quantize and dequantize in TensorFlow Lite's
// arithmetic; shapes must be known.
//   1. uint8 tensors become int8 ones with a zero point 128 lower; inputs and outputs of the graph keep their
//   type after a requantize.
//   2. Operators that only move data take the integers instead of the floats (move_integers).
//   3. Operators whose operands are dequantized and whose result is quantized compute on integers
//   (compute_on_integers), with shifts where all scales
//      that meet are powers of two and all zero points are 0, with multipliers otherwise. Functions of one
//      int8 value become tables.
// What has no integer form stays float between dequantize and quantize. A graph without quantize and
// dequantize is left as it is. Errors: those of making tables.
Status to_integers(Graph& graph, const Grids& grids);

// ---- the steps
void to_signed(Graph& graph);
void move_integers(Graph& graph);
Status compute_on_integers(Graph& graph, const Grids& grids);

// ---- what the steps share
// Per tensor: the node that computes it (-1: none), and how many operands and outputs of the graph it is.
struct Uses {
  explicit Uses(const Graph& graph);
  std::vector<int> maker, readers;
};
// An operator that gives the values of its first inputs in other places: its result has their scale and zero
// point.
bool moves_data(const Node& node);
// How many inputs of it are moved (others are indices).
std::size_t moved_inputs(const Node& node);

}  // namespace runnel::compiler
