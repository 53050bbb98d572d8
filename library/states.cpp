#include "library/states.h"

#include "library/nodes.h"

namespace runnel::library {
namespace {

constexpr pipeline::NodeState kOwnStates[] = {
    pipeline::saved_node<PushedSamples>(),
    pipeline::stateless_node<DecisionSink>(),  // what waits is in the outbox
    pipeline::stateless_node<FrameSink>(),
    pipeline::saved_node<SharedModelInfer>(),
};

}  // namespace

std::span<const pipeline::NodeState> own_states() noexcept { return kOwnStates; }

}  // namespace runnel::library
