#include "pipeline/host/live/capture_devices.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "pipeline/host/live/device_lists.h"

namespace runnel::pipeline {

Result<std::vector<CaptureDevice>> capture_devices(const std::vector<std::string>& names) {
  using Lister = Result<std::vector<CaptureDevice>> (*)(const std::vector<std::string>&);
  const std::vector<Lister> listers = {
#ifdef RUNNEL_HAVE_PORTAUDIO
      portaudio_devices,
#endif
#ifdef RUNNEL_HAVE_ALSA
      alsa_devices,
#endif
  };
  if (listers.empty())
    return Status(Code::unsupported,
                  "this program was built without ALSA (RUNNEL_ALSA) and without PortAudio "
                  "(RUNNEL_PORTAUDIO): it knows no sound devices");
  std::vector<CaptureDevice> devices;
  Status failure;
  bool listed = false;
  for (const Lister& lister : listers) {
    auto some = lister(names);
    if (!some.ok()) {
      failure = some.status();
      continue;
    }
    listed = true;
    // ALSA's come first, where both are there.
    devices.insert(devices.begin(), std::make_move_iterator(some->begin()),
                   std::make_move_iterator(some->end()));
  }
  if (!listed) return failure;
  for (const std::string& name : names) {
    const auto is_it = [&](const CaptureDevice& device) {
      return device.name == name || device.name.ends_with(": " + name);
    };
    if (std::any_of(devices.begin(), devices.end(), is_it)) continue;
    CaptureDevice& missing = devices.emplace_back();
    missing.node = "portaudio";
    missing.name = name;
    missing.unavailable = "PortAudio lists no such device";
  }
  return devices;
}

}  // namespace runnel::pipeline
