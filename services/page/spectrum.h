// Columns of a live spectrogram from sound of any rate.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "features/fbank/fbank.h"
#include "pipeline/format.h"

namespace runnel::page {

// At most 25 columns a second, each the loudest of its frames of 25 ms in mel bands, from quiet (0) to full
// scale (255).
class Spectrum {
 public:
  // For sound of at least 2 kHz. Error: unsupported for anything else.
  static Result<Spectrum> make(const pipeline::Format& format);

  struct Column {
    std::int64_t sample = 0;          // end of the column, in source samples
    float peak = 0;                   // largest |sample| since the last one, 1: full scale
    std::vector<std::uint8_t> bands;  // from low to high
  };
  // Takes interleaved samples; calls give(Column) for every complete column.
  template <class Give>
  void push(std::span<const float> samples, const Give& give) {
    while (!samples.empty()) {
      samples = samples.subspan(take(samples));
      if (complete_) give(next());
    }
  }
  // Samples were lost: the next one has this index.
  void restart(std::int64_t first);

  [[nodiscard]] std::size_t bands() const { return fbank_->dims(); }

 private:
  Spectrum() = default;
  // Processes a block; sets complete_.
  std::size_t take(std::span<const float> samples);
  Column next();

  std::unique_ptr<HeapMemory> memory_;
  std::optional<features::Fbank> fbank_;
  std::size_t channels_ = 1;
  std::int64_t frames_ = 4;     // of a column
  std::int64_t collected_ = 0;  // frames in the current column
  std::int64_t samples_ = 0;    // index of the next sample
  bool complete_ = false;
  float peak_ = 0;
  std::vector<float> mono_, loudest_, frame_;
};

}  // namespace runnel::page
