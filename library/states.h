// How the library's own nodes are saved and restored (pipeline/nodes/host/graph_state.h).
#pragma once

#include <span>

#include "pipeline/nodes/states.h"

namespace runnel::library {

std::span<const pipeline::NodeState> own_states() noexcept;

}  // namespace runnel::library
