// What runs streams on a worker: graphs with models, or, in simulations, something that costs less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "services/serve/stream.h"

namespace runnel::fleet {

// One stream. Results depend on its samples alone, not on how they are cut or when they come.
class Run {
 public:
  virtual ~Run() = default;
  // The next samples come after a gap.
  virtual void lose(std::int64_t samples) = 0;
  // The stream ends: what is left of its results.
  virtual Status end() = 0;
  // The state between two steps; another process goes on from it, bit for bit. After an error of restore()
  // the run is at its start.
  virtual Result<std::vector<std::byte>> save() = 0;
  virtual Status restore(std::span<const std::byte> from) = 0;
  // Lines of results, each with a newline, since the last take.
  virtual std::string take() = 0;
};

class Runner {
 public:
  virtual ~Runner() = default;
  // Of graph, models and version: states of one identity can be restored under it.
  [[nodiscard]] virtual std::uint32_t identity() const noexcept = 0;
  // A run at its start. `name`: the source in its records. `first`: the index in the stream of the
  // first sample that it hears; it makes the results of a run that begins there, at their places.
  virtual Result<std::unique_ptr<Run>> start(std::string_view name, const serve::SampleFormat& format,
                                             std::int64_t first) = 0;
  struct Turn {
    Run* run = nullptr;
    std::span<const std::byte> samples;  // whole frames
    Status status;
  };
  // Each run hears all of its samples.
  virtual void hear(std::span<Turn> turns) = 0;
};

// The runners that a worker has, by their identities.
class Runners {
 public:
  // Null: it is not here, and may come later. What was found stays as long as somebody runs it.
  virtual Runner* find(std::uint32_t identity) = 0;

 protected:
  ~Runners() = default;
};

}  // namespace runnel::fleet
