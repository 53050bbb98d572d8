// make_wire() of a build without libnats.
#include "services/fleet/nats/wire.h"

namespace runnel::fleet {

Result<std::unique_ptr<Wire>> make_wire() {
  return Status(Code::unsupported,
                "this runnel was built without NATS: it needs libnats (Debian package libnats-dev)");
}

}  // namespace runnel::fleet
