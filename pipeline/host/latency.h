// How late what a graph says is, measured in samples of its source: known before the first one comes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace runnel::pipeline {

class Graph;

// All in samples of the source, after the end of what a frame looks at (an event: of the frame at which it
// was decided). What stages compute costs time on top of that.
struct OutputDelay {
  int stage = -1;              // of the sink
  bool known = false;          // false: nothing comes out before the end of the stream
  std::int64_t lookahead = 0;  // sound that is heard in any case before the frame comes out
  std::int64_t block = 0;      // more that is heard because frames come in blocks
  std::int64_t device = 0;     // more because the source gives sound in periods
  [[nodiscard]] std::int64_t total() const noexcept { return lookahead + block + device; }
};

// For every sink of a graph with one source, the longest delay. `period`: samples that the source gives at
// once. Found by a dry run: the same graph over zeros, sample by sample, with nothing written, sent or
// played. Errors: those of building it.
Result<std::vector<OutputDelay>> output_delays(const Graph& graph, std::int64_t period);

// The longest of the delays of frames that come out when `arrivals[i]` samples were given and look at what
// ends at `ends[i]`, if this pattern goes on. The first frames may be different and must be left out. At
// least one frame.
OutputDelay longest_delay(const std::vector<std::int64_t>& arrivals, const std::vector<std::int64_t>& ends,
                          std::int64_t period);

}  // namespace runnel::pipeline
