#include "services/fleet/nodes/nodes.h"

#include <vector>

#include "pipeline/host/promise.h"
#include "pipeline/nodes/host/nodes.h"
#include "services/fleet/nodes/nats_action.h"
#include "services/fleet/nodes/nats_source.h"

namespace runnel::fleet {

pipeline::NodeTable nodes() {
  static const std::vector<const pipeline::NodeType*> all =
      pipeline::with_nodes(pipeline::host_nodes(), {&NatsSource::type, &NatsAction::type});
  return all;
}

}  // namespace runnel::fleet
