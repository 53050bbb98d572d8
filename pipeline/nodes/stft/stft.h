// Complex spectra: features/stft.h as a node.
#pragma once

#include "pipeline/nodes/spectrum/fbank_blocks.h"
#include "pipeline/nodes/stft/stft_node.h"

namespace runnel::pipeline {

// Frames of n_fft/2 + 1 real parts, then as many imaginary parts; with `pairs`, the two parts of each bin
// together.
class Stft final : public StftNode {
 public:
  static const NodeType type;

  Status prepare(NodeContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override { return blocks_.reset(first); }
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override {
    return note_of_replaced(type.name, blocks_.replaced());
  }
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    blocks_.state(archive);
  }

 private:
  void pair(Output& out) noexcept;

  FbankBlocks blocks_;
  std::size_t bins_ = 0;
};

}  // namespace runnel::pipeline
