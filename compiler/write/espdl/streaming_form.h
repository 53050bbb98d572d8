// A graph as ESP-DL streams it: blocks of a fixed number of frames, StreamingCache operators that keep
// earlier ones, no padding in time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler {

struct StreamingForm {
  Graph graph;                               // `chunk` frames per call; streaming_cache operators; usage step
  std::vector<int> input_axes, output_axes;  // of time, in the order of the graph's inputs and outputs
  // Per output: frame n of the stream is frame n - lag of the offline result; the first `lag` frames are
  // warm-up, to be thrown away.
  std::vector<std::int64_t> lags;
  // With padding inside the network that a stream does not have (`warm_up`): so many frames of the offline
  // result at its start, and at its end, differ. The warm-up of an output is its lag and its head.
  std::vector<std::int64_t> heads, tails;
  std::int64_t context = 0;  // frames of the first input after which everything that was kept is real
  // Why not, one sentence for each operator and reason; the graph is empty then.
  std::vector<std::string> refusals;
};

// Every result after the warm-up is the offline result, bit for bit; what StreamingCache cannot keep is
// refused by name: state of recurrences, statistics over all time, padding that would have to stand for
// frames which are not zero, frames along inner axes.
// A branch that is late waits in a cache of its own (followed by a Slice). `chunk`: frames of the inputs
// per call, at least 1. `warm_up` >= 0: padding between layers may be replaced by the frames that the stream
// has there, as ESP-DL's own exporter does, if no output then has a longer warm-up than this. Errors:
// invalid_argument for a chunk that the strides do not divide, with both numbers; those of the writer.
Result<StreamingForm> streaming_form(const Graph& graph, int chunk, std::int64_t warm_up = -1);

}  // namespace runnel::compiler
