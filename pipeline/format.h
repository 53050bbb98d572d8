// The format of an edge of a graph: the kind of data, its layout, and its clock.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "base/status.h"

namespace runnel::pipeline {

// The values are bits, so that a port can accept several kinds.
enum class Kind : std::uint8_t { none = 0, audio = 1, frames = 2, events = 4 };
std::string_view name_of(Kind kind) noexcept;

using Kinds = std::uint8_t;
constexpr Kinds operator|(Kind a, Kind b) noexcept {
  return static_cast<Kinds>(static_cast<Kinds>(a) | static_cast<Kinds>(b));
}
constexpr Kinds operator|(Kinds a, Kind b) noexcept { return static_cast<Kinds>(a | static_cast<Kinds>(b)); }
constexpr bool takes(Kinds kinds, Kind kind) noexcept { return (kinds & static_cast<Kinds>(kind)) != 0; }

// The positions of frames in the recording, as exact rational numbers: frame i covers the source samples
//     [ (begin + i * hop) / denominator, (begin + i * hop + span) / denominator ).
// Sample i itself covers [i, i + 1). Indices count from the start of the recording and never restart, not
// even at a gap. A source with a fractional rate counts in finer units: 12.5 Hz is 25 units per second with 2
// units per sample (hop = span = 2).
struct Clock {
  std::int64_t sample_rate = 0;  // of the source, in Hz; units per second where its rate is a fraction
  std::int64_t hop = 1;          // from frame to frame
  std::int64_t begin = 0;        // of frame 0; negative for centred windows
  std::int64_t span = 1;         // length that one frame covers
  std::int64_t denominator = 1;  // of the three above, in source samples; > 0

  // The source samples that frame i overlaps: the first one, and one past the last one.
  [[nodiscard]] std::int64_t first_sample(std::int64_t frame) const noexcept;
  [[nodiscard]] std::int64_t end_sample(std::int64_t frame) const noexcept;
  // Frames per second, when that is a whole number; else 0.
  [[nodiscard]] std::int64_t rate() const noexcept;
  [[nodiscard]] double hz() const noexcept;

  // The clock of windows over frames of this clock: window j starts at frame first + j * step and is `length`
  // frames long.
  [[nodiscard]] Clock windows(std::int64_t step, std::int64_t first, std::int64_t length) const noexcept;
  // The clock of a stream with `up` frames for every `down` of this one. A frame covers what the frame at the
  // same position covered.
  [[nodiscard]] Clock every(std::int64_t up, std::int64_t down) const noexcept;
  // The same for samples, each of which is as long as its distance to the next one.
  [[nodiscard]] Clock resampled(std::int64_t up, std::int64_t down) const noexcept;

  friend bool operator==(const Clock&, const Clock&) = default;
};

// Milliseconds of a source sample, rounded half up.
std::int64_t milliseconds(std::int64_t sample, std::int64_t sample_rate) noexcept;

struct Format {
  Kind kind = Kind::none;
  DType dtype = DType::none;  // of the values; none for events
  std::int32_t channels = 0;  // values per frame: channels of audio, dimensions of frames; 0 for events
  std::int32_t exponent = 0;  // integer frames: value = integer * 2^exponent
  bool non_negative = false;
  bool codes = false;  // a front end's own integer codes without a scale; models take them unchanged
  // Frames: so many first values of each are not for a model. The node infer passes them by it and gives them
  // before the model's output for the same frame. Set by the node that makes such frames; a node that does
  // not know of them gives frames without.
  std::int32_t beside = 0;
  Clock clock;
  std::string_view source;  // name of the recording or device; owned by the source node
  // Time of source sample 0, in nanoseconds on a clock that sources share (since 1970 if they know the date).
  static constexpr std::int64_t kNoOrigin = std::numeric_limits<std::int64_t>::min();
  std::int64_t origin = kNoOrigin;
  // Names of the channels if the model has them; owned by the node that sets them.
  std::span<const std::string_view> labels;

  // Bytes of one frame; for events, of one Event.
  [[nodiscard]] std::size_t frame_bytes() const noexcept;
};

// "audio 16000 Hz, 1 channel, float32", "frames of 40 float32 values, 100 per second", "events".
Text describe(const Format& format) noexcept;

}  // namespace runnel::pipeline
