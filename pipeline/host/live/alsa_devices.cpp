#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "pipeline/host/live/alsa_library.h"
#include "pipeline/host/live/alsa_open.h"
#include "pipeline/host/live/device_lists.h"

namespace runnel::pipeline {
namespace {

// The text of a hint, copied from memory that alsa-lib allocates; empty: none.
std::string hint_of(const void* hint, const char* id) {
  const std::unique_ptr<char, decltype(&std::free)> text(alsa().snd_device_name_get_hint(hint, id),
                                                         std::free);
  return text == nullptr ? std::string() : std::string(text.get());
}

void look_at(CaptureDevice& device) {
  snd_pcm_t* pcm = nullptr;
  if (const int error =
          alsa().snd_pcm_open(&pcm, device.name.c_str(), SND_PCM_STREAM_CAPTURE, SND_PCM_NONBLOCK);
      error < 0) {
    device.unavailable = alsa().snd_strerror(error);
    return;
  }
  snd_pcm_hw_params_t* params = nullptr;
  RUNNEL_ALSA_ALLOCA(snd_pcm_hw_params, params);
  unsigned least = 0, most = 0;
  if (const int error = alsa().snd_pcm_hw_params_any(pcm, params); error < 0) {
    device.unavailable = alsa().snd_strerror(error);
  } else {
    if (alsa().snd_pcm_hw_params_get_rate_min(params, &least, nullptr) >= 0 &&
        alsa().snd_pcm_hw_params_get_rate_max(params, &most, nullptr) >= 0) {
      device.least_rate = least;
      device.most_rate = most;
    }
    if (alsa().snd_pcm_hw_params_get_channels_min(params, &least) >= 0 &&
        alsa().snd_pcm_hw_params_get_channels_max(params, &most) >= 0) {
      device.least_channels = least;
      device.most_channels = most;
    }
    for (const SampleCode code : kSampleCodes) {
      if (alsa().snd_pcm_hw_params_test_format(pcm, params, alsa_format(code)) == 0)
        device.formats.emplace_back(name_of(code));
    }
  }
  alsa().snd_pcm_close(pcm);
}

}  // namespace

Result<std::vector<CaptureDevice>> alsa_devices(const std::vector<std::string>& names) {
  if (const auto& opened = late<AlsaLibrary>(); !opened.ok()) return opened.status();
  std::vector<CaptureDevice> devices;
  for (const std::string& name : names) devices.emplace_back().name = name;
  silence_alsa();
  if (void** hints = nullptr; names.empty() && alsa().snd_device_name_hint(-1, "pcm", &hints) >= 0) {
    for (void** hint = hints; *hint != nullptr; ++hint) {
      if (hint_of(*hint, "IOID") == "Output") continue;
      CaptureDevice& device = devices.emplace_back();
      device.name = hint_of(*hint, "NAME");
      device.description = hint_of(*hint, "DESC");
      std::replace(device.description.begin(), device.description.end(), '\n', ' ');
    }
    alsa().snd_device_name_free_hint(hints);
  }
  for (CaptureDevice& device : devices) {
    device.node = "alsa";
    look_at(device);
  }
  alsa().snd_lib_error_set_handler(nullptr);
  return devices;
}

}  // namespace runnel::pipeline
