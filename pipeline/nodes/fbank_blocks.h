// What the nodes fbank and stft share: features::Fbank between blocks of samples and of frames.
#pragma once

#include <optional>

#include "features/fbank.h"
#include "pipeline/node.h"

namespace runnel::pipeline {

// Frames lie on one grid of the shift for the whole recording: behind a gap, samples up to the next point of it are dropped.
class FbankBlocks {
 public:
  // `who`: the node as the user knows it.
  Status prepare(const features::FbankOptions& options, std::string_view who, PrepareContext& context) noexcept;
  // With tables that are made already, and outlive this.
  Status prepare(const features::FbankTables& tables, std::string_view who, PrepareContext& context) noexcept;
  std::int64_t reset(std::int64_t first) noexcept;
  Status process(const Block& in, Output& out) noexcept;
  Status flush(Output& out) noexcept;
  // Samples that were not finite and were read as 0, since prepare().
  [[nodiscard]] std::int64_t replaced() const noexcept { return replaced_ + (fbank_ ? fbank_->non_finite_samples() : 0); }

 private:
  static Status check_input(const features::FbankOptions& options, std::string_view who, PrepareContext& context) noexcept;
  void describe_output(PrepareContext& context) noexcept;
  [[nodiscard]] std::span<float> room(const Output& out) const noexcept;

  std::optional<features::Fbank> fbank_;
  std::int64_t shift_ = 1;
  std::size_t dims_ = 0;
  std::int64_t replaced_ = 0;        // before the last reset
  std::int64_t skip_ = 0;            // input still to be dropped
  std::int64_t grid_ = 0;            // index of the next frame that was number 0 of fbank_
};

}  // namespace runnel::pipeline
