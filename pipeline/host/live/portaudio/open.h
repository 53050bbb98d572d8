// Opening a device of PortAudio, for capture or playback.
#pragma once

#include <portaudio.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace runnel::pipeline {

struct PortAudioSettings {
  std::string name = "default";             // "API: DEVICE", DEVICE alone (the first one), or default
  std::int32_t rate = 16000, channels = 1;  // requested; capture takes the nearest values of the device
  double period = 10, buffer = 200;         // ms
};

// A stream of float32, interleaved, and the library's initialisation that it needs. Opening, closing and
// listing take turns within the process, because PortAudio's functions do not. Not thread-safe otherwise.
class PortAudioStream {
 public:
  PortAudioStream() = default;
  ~PortAudioStream() { close(); }
  PortAudioStream(const PortAudioStream&) = delete;
  PortAudioStream& operator=(const PortAudioStream&) = delete;

  // Capture calls `callback` with `user` on a thread of PortAudio's, from start() to close(). Errors:
  // not_found for a library or device that is not there, mismatch for one that cannot do it, io_error; each
  // names the device.
  Status open_capture(const PortAudioSettings& settings, PaStreamCallback* callback, void* user) noexcept;
  // Playback is written to. The rate and the channels are those requested, or it fails.
  Status open_playback(const PortAudioSettings& settings) noexcept;
  Status start() noexcept;
  void close() noexcept;

  [[nodiscard]] PaStream* get() const noexcept { return stream_; }
  [[nodiscard]] std::int32_t rate() const noexcept { return rate_; }
  [[nodiscard]] std::int32_t channels() const noexcept { return channels_; }
  [[nodiscard]] std::int64_t period_frames() const noexcept { return period_; }
  // What PortAudio says of its buffers, ms.
  [[nodiscard]] double latency() const noexcept { return latency_; }
  // "device NAME: cannot WHAT: ...".
  [[nodiscard]] Status refused(std::string_view what, PaError error) const noexcept;

 private:
  Status open(const PortAudioSettings& settings, bool capture, PaStreamCallback* callback,
              void* user) noexcept;

  PaStream* stream_ = nullptr;
  bool initialised_ = false;
  std::string name_;
  std::int32_t rate_ = 0, channels_ = 0;
  std::int64_t period_ = 0;
  double latency_ = 0;
};

// Keeps the libraries below PortAudio from printing on stderr that there is no server or card: our messages
// replace theirs.
void silence_portaudio() noexcept;
// "API: DEVICE".
std::string portaudio_name(PaDeviceIndex device);

}  // namespace runnel::pipeline
