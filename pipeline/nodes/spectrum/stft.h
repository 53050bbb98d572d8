// Complex spectra and the way back: features/stft.h as nodes.
#pragma once

#include <optional>

#include "features/stft.h"
#include "pipeline/nodes/finite_input.h"
#include "pipeline/nodes/spectrum/fbank_blocks.h"

namespace runnel::pipeline {

// What both directions must agree on; names of torch.stft.
class StftNode : public Node {
 public:
  std::int32_t n_fft = 512, win_length = 0, hop_length = 0;
  std::string_view window_type = "hann";
  bool center = true;
  std::string_view pad_mode = "reflect";
  bool pairs = false;  // real and imaginary part of a bin side by side
  std::string_view non_finite = "zero";

  // The texts have been checked against the choices of their parameters.
  [[nodiscard]] features::StftOptions options() const noexcept;

 protected:
  // Room for one frame, where pairs are made or taken apart.
  Status prepare_pairs(PrepareContext& context, std::size_t values) noexcept;
  float* frame_ = nullptr;
};

// Frames of n_fft/2 + 1 real parts, then as many imaginary parts; with `pairs`, bin for bin both.
class Stft final : public StftNode {
 public:
  static const NodeType type;

  Status prepare(PrepareContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override { return blocks_.reset(first); }
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override {
    return note_of_replaced(type.name, blocks_.replaced());
  }

 private:
  void pair(Output& out) noexcept;

  FbankBlocks blocks_;
  std::size_t bins_ = 0;
};

class InverseStft final : public StftNode {
 public:
  static const NodeType type;

  Status prepare(PrepareContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override { return input_.note(); }

 private:
  FiniteInput input_;
  std::optional<features::InverseStft> inverse_;
  std::int64_t begin_ = 0;  // index of the sample that is number 0 of inverse_
};

// Multiplies a spectrum with a mask. A frame of the input is a spectrum of 2 K values and, after it, a mask
// of K values; what comes out is the spectrum.
class Mask final : public Node {
 public:
  static const NodeType type;

  Status prepare(PrepareContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

 private:
  std::size_t bins_ = 0;
};

}  // namespace runnel::pipeline
