#include "base/host/late_library.h"
#include "services/fleet/nats/wire.h"

RUNNEL_MODULE(runnel::fleet::make_wire)
