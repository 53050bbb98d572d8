#include "pipeline/host/live/alsa_open.h"

#include <algorithm>
#include <cerrno>

#include "pipeline/host/live/alsa_library.h"

namespace runnel::pipeline {
namespace {

void say_nothing(const char*, int, const char*, int, const char*, ...) {}

Result<SampleCode> set_format(snd_pcm_t* pcm, snd_pcm_hw_params_t* params, const AlsaSettings& settings,
                              bool capture) noexcept {
  int error = -EINVAL;
  for (const SampleCode code : kSampleCodes) {
    if (settings.format != "auto" && settings.format != name_of(code)) continue;
    error = alsa().snd_pcm_hw_params_set_format(pcm, params, alsa_format(code));
    if (error >= 0) return code;
  }
  Status status(Code::io_error);
  status << "device " << settings.name << (capture ? ": gives" : ": takes") << " no samples of format "
         << (settings.format == "auto" ? "s16, s32, s24, s24_3 or float" : settings.format) << ": "
         << alsa().snd_strerror(error);
  return status;
}

Result<AlsaShape> negotiate(snd_pcm_t* pcm, const AlsaSettings& settings, bool capture) noexcept {
  const auto refused = [&settings](const char* what, int error) {
    return alsa_refuses(settings.name, what, error);
  };
  snd_pcm_hw_params_t* params = nullptr;
  RUNNEL_ALSA_ALLOCA(snd_pcm_hw_params, params);
  AlsaShape shape;
  auto rate = static_cast<unsigned>(settings.rate), channels = static_cast<unsigned>(settings.channels);
  const bool mmap = settings.access == "mmap";
  const snd_pcm_access_t access = mmap ? SND_PCM_ACCESS_MMAP_INTERLEAVED : SND_PCM_ACCESS_RW_INTERLEAVED;
  if (const int error = alsa().snd_pcm_hw_params_any(pcm, params); error < 0)
    return refused("be configured", error);
  if (const int error = alsa().snd_pcm_hw_params_set_access(pcm, params, access); error < 0) {
    return refused(!capture ? "take interleaved samples"
                   : mmap   ? "give interleaved samples through mmap"
                            : "give interleaved samples",
                   error);
  }
  RUNNEL_ASSIGN(shape.code, set_format(pcm, params, settings, capture));
  if (const int error = alsa().snd_pcm_hw_params_set_channels_near(pcm, params, &channels); error < 0)
    return refused("set the channels", error);
  if (const int error = alsa().snd_pcm_hw_params_set_rate_near(pcm, params, &rate, nullptr); error < 0)
    return refused("set the rate", error);
  shape.period =
      std::max<snd_pcm_uframes_t>(1, static_cast<snd_pcm_uframes_t>(settings.period * 1e-3 * rate));
  if (const int error = alsa().snd_pcm_hw_params_set_period_size_near(pcm, params, &shape.period, nullptr);
      error < 0)
    return refused("set the period", error);
  shape.buffer = std::max<snd_pcm_uframes_t>(2 * shape.period,
                                             static_cast<snd_pcm_uframes_t>(settings.buffer * 1e-3 * rate));
  if (const int error = alsa().snd_pcm_hw_params_set_buffer_size_near(pcm, params, &shape.buffer); error < 0)
    return refused("set the buffer", error);
  if (const int error = alsa().snd_pcm_hw_params(pcm, params); error < 0)
    return refused("be configured", error);
  shape.rate = static_cast<std::int32_t>(rate);
  shape.channels = static_cast<std::int32_t>(channels);
  return shape;
}

}  // namespace

const char* const AlsaLibrary::kFile = RUNNEL_ALSA_FILE;

void silence_alsa() noexcept { alsa().snd_lib_error_set_handler(say_nothing); }

snd_pcm_format_t alsa_format(SampleCode code) noexcept {
  switch (code) {
    case SampleCode::s16:
      return SND_PCM_FORMAT_S16_LE;
    case SampleCode::s32:
      return SND_PCM_FORMAT_S32_LE;
    case SampleCode::s24:
      return SND_PCM_FORMAT_S24_LE;
    case SampleCode::s24_3:
      return SND_PCM_FORMAT_S24_3LE;
    case SampleCode::float32:
      break;
  }
  return SND_PCM_FORMAT_FLOAT_LE;
}

Status alsa_refuses(std::string_view name, std::string_view what, int error) noexcept {
  const Code code =
      error == -ENOENT || error == -ENODEV || error == -ENXIO ? Code::not_found : Code::io_error;
  return Status(code) << "device " << name << ": cannot " << what << ": " << alsa().snd_strerror(error);
}

Result<AlsaShape> open_alsa(const AlsaSettings& settings, snd_pcm_stream_t direction,
                            snd_pcm_t*& pcm) noexcept {
  if (const auto& opened = late<AlsaLibrary>(); !opened.ok()) return opened.status();
  silence_alsa();
  const int error = alsa().snd_pcm_open(&pcm, settings.name.c_str(), direction, SND_PCM_NONBLOCK);
  alsa().snd_lib_error_set_handler(nullptr);
  if (error < 0) {
    pcm = nullptr;
    return alsa_refuses(settings.name, "open", error);
  }
  return negotiate(pcm, settings, direction == SND_PCM_STREAM_CAPTURE);
}

}  // namespace runnel::pipeline
