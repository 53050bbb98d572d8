// The nodes of fleets, which programs add to those of the pipeline.
#pragma once

#include "pipeline/node.h"

namespace runnel::fleet {

// pipeline::host_nodes(), and `nats` as a source and as a sink. libnats is opened when a graph has one.
pipeline::NodeTable nodes();

}  // namespace runnel::fleet
