// Lists the sound devices that can capture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace runnel::pipeline {

struct CaptureDevice {
  std::string node;                            // that opens it: alsa, portaudio or pipewire
  std::string name;                            // to open it by
  std::string description;                     // one line for the user; may be empty
  std::string unavailable;                     // why it could not be opened now; empty: the rest is valid
  std::int64_t least_rate = 0, most_rate = 0;  // Hz
  std::int64_t least_channels = 0, most_channels = 0;
  std::vector<std::string> formats;  // as the parameter `format` of the node alsa; PortAudio's are float
};

// The nodes that the node `pipewire` can hear, without rates, channels and formats: PipeWire converts.
// Errors: not_found where PipeWire is not installed, io_error where its daemon does not run.
Result<std::vector<CaptureDevice>> pipewire_devices();

// Those of ALSA and PortAudio. `names`: the devices to list; empty: all that the system lists. Errors:
// unsupported in a build without both; not_found when none of their libraries can be opened.
Result<std::vector<CaptureDevice>> capture_devices(const std::vector<std::string>& names);

}  // namespace runnel::pipeline
