// All nodes of a host.
#pragma once

#include "pipeline/node.h"

namespace runnel::pipeline {

// The device nodes, and wav and npy (sources and sinks), csv, png, jsonl, and alsa where it was built in.
NodeTable host_nodes() noexcept;

}  // namespace runnel::pipeline
