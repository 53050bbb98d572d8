// Which sound devices there are to listen to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace runnel::pipeline {

struct CaptureDevice {
  std::string name;         // to open it by
  std::string description;  // one line for people; may be empty
  std::string unavailable;  // why it could not be opened just now; empty: it could, and the rest is known
  std::int64_t least_rate = 0, most_rate = 0;  // Hz
  std::int64_t least_channels = 0, most_channels = 0;
  std::vector<std::string> formats;  // as the parameter `format` of the node alsa
};

// `names`: the ones to look at; empty: all that the system names. Error: unsupported in a build without ALSA.
Result<std::vector<CaptureDevice>> capture_devices(const std::vector<std::string>& names);

}  // namespace runnel::pipeline
