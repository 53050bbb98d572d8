#include "base/host/late_library.h"
#include "pipeline/host/live/capture_devices.h"
#include "pipeline/host/live/sound_input.h"

namespace runnel::pipeline {

Result<std::vector<CaptureDevice>> pipewire_devices() {
  RUNNEL_ASSIGN(const auto* const module,
                open_module<decltype(make_sound_input)>("pipewire", "the nodes of PipeWire"));
  return module->function()->devices();
}

}  // namespace runnel::pipeline
