// Lists the sound devices that can capture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace runnel::pipeline {

struct CaptureDevice {
  std::string name;         // to open it by
  std::string description;  // one line for the user; may be empty
  std::string unavailable;  // why it could not be opened now; empty: it was opened, and the rest is valid
  std::int64_t least_rate = 0, most_rate = 0;  // Hz
  std::int64_t least_channels = 0, most_channels = 0;
  std::vector<std::string> formats;  // as the parameter `format` of the node alsa
};

// The nodes that the node `pipewire` can hear, without rates, channels and formats: PipeWire converts.
// Errors: not_found where PipeWire is not installed, io_error where its daemon does not run.
Result<std::vector<CaptureDevice>> pipewire_devices();

// Those of ALSA. `names`: the devices to list; empty: all that the system lists. Error: unsupported in a
// build without ALSA.
Result<std::vector<CaptureDevice>> capture_devices(const std::vector<std::string>& names);

}  // namespace runnel::pipeline
