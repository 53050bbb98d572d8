// For builds without ALSA.
#include "pipeline/host/live/capture_devices.h"

namespace runnel::pipeline {

Result<std::vector<CaptureDevice>> capture_devices(const std::vector<std::string>&) {
  return Status(Code::unsupported,
                "this program was built without ALSA (RUNNEL_ALSA): it knows no sound devices");
}

}  // namespace runnel::pipeline
