// Reads .tflite files (docs/formats.md): float32 and quantized graphs, as TensorFlow Lite's reference kernels
// compute them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/input_shapes.h"
#include "inference/operator.h"

namespace runnel::compiler {

// Whether the bytes say that they are a TensorFlow Lite model (identifier TFL3 at byte 4).
bool is_tflite(std::span<const std::byte> bytes);

// `bytes`: the whole file. Shapes are recomputed from the inputs. Resource variables that hold the last
// frames become streaming caches; they and the state of SVDF and LSTM operators make the graph one of usage
// `step`. `operators` tells whether the graph can be streamed: without state and without a stream it is of
// usage `whole`. Errors: invalid_data with tensor or operator, expected and found; unsupported naming every
// operator that is not known, all at once; mismatch and not_found for `shapes` that contradict the file.
// Sizes that were chosen for open axes become a sentence each in `notes`.
Result<Graph> import_tflite(std::span<const std::byte> bytes, OperatorTable operators = all_operators(),
                            const InputShapes& shapes = {}, std::vector<std::string>* notes = nullptr);

// The operators that are taken, by name, with their types; docs/formats.md is made of it.
std::vector<std::pair<std::string_view, std::string_view>> tflite_operators();

}  // namespace runnel::compiler
