// A model with its front end and its decision as the text of a graph.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "inference/model/model.h"

namespace runnel::listen {

// A model file, and texts that replace those stored in it.
struct ModelGraph {
  std::string model;                // path
  std::string front_end, decision;  // empty: as stored in the model
  std::int64_t chunk = 0;           // source frames per run of a streamed model; 0: the smallest possible
};

struct GraphParts {
  std::string front_end, decision;
  bool logits = true;  // whether the decision expects logits (not posteriors) from the model
};

// The front end and the decision of a loaded model. `frames_only`: no decision is needed. Error:
// invalid_argument when the model has no front end or decision and none is given.
Result<GraphParts> graph_parts(const ModelGraph& graph, const Model& model, bool frames_only = false);

// "FRONT END ! infer model=... ! DECISION". Errors: those of graph_parts.
Result<std::string> text_around(const ModelGraph& graph, const Model& model);

// Frames per run of a streamed model over a file, where latency does not matter and weights are loaded once
// for many columns; 0 for models that do not stream. Neither longer blocks nor several recordings together
// are faster (bench/batch_bench), and longer blocks pad short recordings more.
std::int64_t file_chunk(const Model& model) noexcept;
// Most samples per step of a graph that reads a file, a pipe or a socket.
inline constexpr std::int64_t kFileTick = 8192;

// The source of the recording at `path`, with `tail` seconds of silence appended.
std::string wav_text(std::string_view path, double tail);

}  // namespace runnel::listen
