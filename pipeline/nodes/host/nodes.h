// All nodes of a host.
#pragma once

#include "pipeline/node.h"

namespace runnel::pipeline {

// The device nodes and the host nodes; alsa, portaudio and mqtt only in builds that have them.
NodeTable host_nodes() noexcept;

}  // namespace runnel::pipeline
