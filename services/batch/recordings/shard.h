// Splits a list into shares for several machines: every shard computes its own share without communication.
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
  std::string from;  // the variable it was read from; empty: none is set
};
// Returns the value of an environment variable, or null.
using Environment = std::function<const char*(const char*)>;
// The shard according to the engine that started this process, the first that is set of: Slurm arrays, Open
// MPI, PMI, Grid Engine, and indexed jobs of Kubernetes. Kubernetes does not set the number of shards:
// RUNNEL_SHARDS does. Error: invalid_argument for invalid values.
Result<EngineShard> engine_shard(const Environment& environment);

// The recordings of one shard, in the order of the list. The same on every machine; the costs of shards
// differ by at most the cost of the most expensive recording. Every recording is in exactly one shard; shards
// may be empty.
Recordings share_of(Recordings recordings, const Shard& shard);

}  // namespace runnel::batch
