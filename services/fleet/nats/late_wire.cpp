// make_wire() of programs that open libnats when it is used.
#include "base/host/late_library.h"
#include "services/fleet/nats/wire.h"

namespace runnel::fleet {

Result<std::unique_ptr<Wire>> make_wire() {
  RUNNEL_ASSIGN(const auto* const module, open_module<Result<std::unique_ptr<Wire>>()>(
                                              "nats", "fleets over NATS (Debian package libnats3)"));
  return module->function();
}

}  // namespace runnel::fleet
