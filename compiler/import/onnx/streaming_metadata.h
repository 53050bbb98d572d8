// How an .onnx file says that it is run in steps.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace runnel::compiler::onnx_source {

// Streaming models are published with their state as inputs and outputs, an output `new_X` for each input `X`
// (icefall, sherpa-onnx), and with metadata: a run takes `T` frames and the next one starts
// `decode_chunk_len` frames later. Sets usage, step, look-ahead, states and output frames of `graph`, whose
// metadata, inputs and outputs are there, if every input but one has its state. A sentence in `notes` says
// what was found.
void read_streaming_metadata(Graph& graph, std::vector<std::string>& notes);

}  // namespace runnel::compiler::onnx_source
