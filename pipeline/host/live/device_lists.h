// The devices of each library that this build may have.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "pipeline/host/live/capture_devices.h"

namespace runnel::pipeline {

// Error: not_found for a library that is not installed. ALSA opens any name and says why it could not;
// PortAudio knows those of its list.
Result<std::vector<CaptureDevice>> alsa_devices(const std::vector<std::string>& names);
Result<std::vector<CaptureDevice>> portaudio_devices(const std::vector<std::string>& names);

}  // namespace runnel::pipeline
