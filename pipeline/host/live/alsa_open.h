// Opening a device of ALSA, for capture or playing.
#pragma once

#include <alsa/asoundlib.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "pipeline/host/live/sample_code.h"

namespace runnel::pipeline {

// What alsa-lib calls it.
snd_pcm_format_t alsa_format(SampleCode code) noexcept;

struct AlsaSettings {
  std::string name = "default";
  std::int32_t rate = 16000, channels = 1;  // wanted; the nearest that the device has are taken
  double period = 10, buffer = 200;         // ms
  std::string format = "auto";              // or the name of a SampleCode
  std::string access = "read";              // or mmap
  double replug = 0;                        // s to wait for a device that was unplugged to come back
};

// What a device agreed to.
struct AlsaShape {
  SampleCode code = SampleCode::s16;
  std::int32_t rate = 0, channels = 0;
  snd_pcm_uframes_t period = 0, buffer = 0;  // frames
};

// "device NAME: cannot WHAT: ...", not_found or io_error.
Status alsa_refuses(std::string_view name, std::string_view what, int error) noexcept;

// Opens without blocking and negotiates. `pcm` is the caller's to close, also after a failure, unless it is
// null then.
Result<AlsaShape> open_alsa(const AlsaSettings& settings, snd_pcm_stream_t direction,
                            snd_pcm_t*& pcm) noexcept;

}  // namespace runnel::pipeline
