// Sound that another program's machinery plays, behind an interface: what implements it is a module
// (base/host/late_library.h), so that its libraries are opened only when they are used.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace runnel::pipeline {

// Not thread-safe.
class SoundOutput {
 public:
  struct Settings {
    std::string what;                         // to play to
    std::string name;                         // by which it is known to others
    std::int32_t rate = 0, channels = 0;      // of the samples
    const std::atomic<bool>* stop = nullptr;  // ends waiting; may be null
  };

  virtual ~SoundOutput() = default;
  SoundOutput(const SoundOutput&) = delete;
  SoundOutput& operator=(const SoundOutput&) = delete;

  // Once. Does not wait for somebody who plays it. Errors: io_error, which names what was opened.
  virtual Status open(const Settings& settings) = 0;
  // Takes float32 frames, channels interleaved, and waits for room for all of them. Once `stop` is set, it
  // waits only while somebody plays, and some seconds at most: then the rest is dropped. Errors: io_error;
  // not_found when nobody ever took a sample.
  virtual Status write(const float* samples, std::int64_t frames) = 0;
  // Waits until all frames were played, after `stop` as above. Errors: as above.
  virtual Status drain() = 0;
  // Cycles in which the player had to be given silence because samples were late, or which it has lost.
  [[nodiscard]] virtual std::int64_t underruns() const noexcept = 0;

 protected:
  SoundOutput() = default;
};

// The type of the constant function of modules that make one.
std::unique_ptr<SoundOutput> make_sound_output();

}  // namespace runnel::pipeline
