// Opening an ALSA device, for capture or playback.
#pragma once

#include <alsa/asoundlib.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "pipeline/host/live/sample_code.h"

namespace runnel::pipeline {

// The format in alsa-lib's terms.
snd_pcm_format_t alsa_format(SampleCode code) noexcept;

struct AlsaSettings {
  std::string name = "default";
  std::int32_t rate = 16000, channels = 1;  // requested; the nearest values of the device are used
  double period = 10, buffer = 200;         // ms
  std::string format = "auto";              // or the name of a SampleCode
  std::string access = "read";              // or mmap
  double replug = 0;                        // s to wait until an unplugged device is plugged in again
};

// What a device agreed to.
struct AlsaShape {
  SampleCode code = SampleCode::s16;
  std::int32_t rate = 0, channels = 0;
  snd_pcm_uframes_t period = 0, buffer = 0;  // frames
};

// Keeps alsa-lib from printing its internal errors on stderr: our messages replace them.
void silence_alsa() noexcept;

// "device NAME: cannot WHAT: ...", not_found or io_error.
Status alsa_refuses(std::string_view name, std::string_view what, int error) noexcept;

// Opens without blocking and negotiates. The caller closes `pcm`, also after a failure if it is not null.
Result<AlsaShape> open_alsa(const AlsaSettings& settings, snd_pcm_stream_t direction,
                            snd_pcm_t*& pcm) noexcept;

}  // namespace runnel::pipeline
