// The latency of a graph's outputs in samples of its source, known before the first sample.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace runnel::pipeline {

class Graph;

// In samples of the source, counted from the end of the span of a frame (for an event: of the frame of the
// decision). Computing time is not included.
struct OutputDelay {
  int stage = -1;              // of the sink
  bool known = false;          // false: there is no output before the end of the stream
  std::int64_t lookahead = 0;  // samples that the frame needs after its span
  std::int64_t block = 0;      // more, because frames come in blocks
  std::int64_t device = 0;     // more, because the source gives samples in periods
  [[nodiscard]] std::int64_t total() const noexcept { return lookahead + block + device; }
};

// The longest delay of every sink of a graph with one source. `period`: samples that the source gives at
// once. Measured in a dry run: the same graph over zeros, sample by sample, writing, sending and playing
// nothing. Errors: those of building it.
Result<std::vector<OutputDelay>> output_delays(const Graph& graph, std::int64_t period);

// The longest of the delays of frames that come out when `arrivals[i]` samples were given and look at what
// ends at `ends[i]`, if this pattern goes on. The first frames may be different and must be left out. At
// least one frame.
OutputDelay longest_delay(const std::vector<std::int64_t>& arrivals, const std::vector<std::int64_t>& ends,
                          std::int64_t period);

}  // namespace runnel::pipeline
