// The nodes of PipeWire's graph that can be heard.
#pragma once

#include <vector>

#include "base/status.h"
#include "pipeline/host/live/capture_devices.h"

namespace runnel::pipewire {

// Sources, sinks (by what they play) and playing programs, by name. Error: io_error without a daemon. After
// pw_init().
Result<std::vector<pipeline::CaptureDevice>> list_devices();

}  // namespace runnel::pipewire
