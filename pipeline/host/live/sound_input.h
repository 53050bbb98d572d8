// Sound that another program's machinery gives, behind an interface: what implements it is a module
// (base/host/late_library.h), so that its libraries are opened only when they are used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "pipeline/host/live/capture_devices.h"
#include "pipeline/host/live/sample_code.h"

namespace runnel::pipeline {

// Not thread-safe.
class SoundInput {
 public:
  struct Settings {
    std::string what;                         // to open
    std::string name;                         // by which it is known to others, where it has one
    bool monitor = false;                     // what a sink plays
    std::int32_t rate = 0, channels = 0;      // 0: those of the sound
    const std::atomic<bool>* stop = nullptr;  // ends waiting; may be null
  };
  struct Shape {
    std::int32_t rate = 0, channels = 0;
    SampleCode code = SampleCode::float32;
    std::int32_t period = 0;  // frames that come at once; 0: not a device, they come at any time
  };
  // Samples that follow each other. `lost` samples are missing before them.
  struct Piece {
    const std::byte* data = nullptr;  // valid until the next call
    std::int64_t frames = 0;          // 0: nothing yet
    std::int64_t lost = 0;
    bool end = false;  // nothing follows
  };

  virtual ~SoundInput() = default;
  SoundInput(const SoundInput&) = delete;
  SoundInput& operator=(const SoundInput&) = delete;

  // Opens, and waits for the first sound, which decides on the shape. Once. Errors: invalid_argument,
  // not_found, io_error; each names what was opened.
  virtual Result<Shape> open(const Settings& settings) = 0;
  // Waits up to `milliseconds`. Errors: io_error.
  virtual Result<Piece> next(int milliseconds) = 0;
  // Takes no more sound; what has come before waits for next(0), which gives an empty piece when nothing is
  // left, after a bounded number of calls. Once.
  virtual void close() = 0;
  // What could be opened, where there is a list; without open(). Errors: io_error.
  virtual Result<std::vector<CaptureDevice>> devices() { return std::vector<CaptureDevice>{}; }

 protected:
  SoundInput() = default;
};

// The type of the constant function of modules that make one.
std::unique_ptr<SoundInput> make_sound_input();

}  // namespace runnel::pipeline
