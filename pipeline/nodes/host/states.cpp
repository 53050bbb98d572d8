#include "pipeline/nodes/host/states.h"

#include "pipeline/nodes/host/act/history.h"
#include "pipeline/nodes/host/decode/host_ctc.h"
#include "pipeline/nodes/host/decode/host_transducer.h"
#include "pipeline/nodes/host/model/live_infer.h"
#include "pipeline/nodes/host/model/shared_infer.h"

namespace runnel::pipeline {
namespace {

constexpr NodeState kStates[] = {
    saved_node<LiveInfer>(),      saved_node<SharedInfer>(), saved_node<HostCtc>(),
    saved_node<HostTransducer>(), saved_node<History>(),
};

}  // namespace

std::span<const NodeState> host_node_states() noexcept { return kStates; }

}  // namespace runnel::pipeline
