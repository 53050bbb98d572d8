#include <cmath>
#include <mutex>

#include "pipeline/host/live/device_lists.h"
#include "pipeline/host/live/portaudio/library.h"
#include "pipeline/host/live/portaudio/open.h"
#include "pipeline/host/live/portaudio/turn.h"

namespace runnel::pipeline {
namespace {

CaptureDevice describe(PaDeviceIndex index) {
  const PaDeviceInfo& info = *portaudio().Pa_GetDeviceInfo(index);
  CaptureDevice device;
  device.node = "portaudio";
  device.name = portaudio_name(index);
  device.description = index == portaudio().Pa_GetDefaultInputDevice() ? "the default of PortAudio" : "";
  // PortAudio converts rates and formats only where the system does: it names one of each.
  device.least_rate = device.most_rate = std::llround(info.defaultSampleRate);
  device.least_channels = 1;
  device.most_channels = info.maxInputChannels;
  device.formats = {"float"};
  return device;
}

bool is_named(const CaptureDevice& device, std::string_view bare, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name == device.name || name == bare) return true;
  }
  return names.empty();
}

}  // namespace

Result<std::vector<CaptureDevice>> portaudio_devices(const std::vector<std::string>& names) {
  if (const auto& opened = late<PortAudioLibrary>(); !opened.ok()) return opened.status();
  const std::lock_guard lock(portaudio_turn());
  silence_portaudio();
  if (const PaError error = portaudio().Pa_Initialize(); error != paNoError)
    return Status(Code::io_error) << "PortAudio cannot be opened: " << portaudio().Pa_GetErrorText(error);
  std::vector<CaptureDevice> devices;
  const PaDeviceIndex count = portaudio().Pa_GetDeviceCount();
  for (PaDeviceIndex i = 0; i < count; ++i) {
    const PaDeviceInfo& info = *portaudio().Pa_GetDeviceInfo(i);
    if (info.maxInputChannels <= 0) continue;
    CaptureDevice device = describe(i);
    if (is_named(device, info.name, names)) devices.push_back(std::move(device));
  }
  portaudio().Pa_Terminate();
  return devices;
}

}  // namespace runnel::pipeline
