// Shares of a list for several machines: every shard works out its own, without talking to the others.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "services/batch/recordings/recordings.h"

namespace runnel::batch {

struct Shard {
  int index = 0;  // from 0
  int count = 1;  // at most 2^20
};

// "I/N". Error: invalid_argument.
Result<Shard> parse_shard(std::string_view text);

struct EngineShard {
  Shard shard;
  std::string from;  // the variable that says it; empty: none is set
};
// A variable of the environment, or null.
using Environment = std::function<const char*(const char*)>;
// What the engine that started this process says, the first that is set of: Slurm arrays, Open MPI, PMI, Grid
// Engine, and indexed jobs of Kubernetes, which do not say how many there are: that is RUNNEL_SHARDS. Error:
// invalid_argument for variables that make no sense.
Result<EngineShard> engine_shard(const Environment& environment);

// The recordings of one shard, in the order of the list. The same on every machine; shards differ in cost by
// at most the dearest recording. Every recording is in exactly one shard; shards may be empty.
Recordings share_of(Recordings recordings, const Shard& shard);

}  // namespace runnel::batch
