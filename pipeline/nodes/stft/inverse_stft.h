// Samples from complex spectra: features::InverseStft as a node.
#pragma once

#include <optional>

#include "pipeline/nodes/stft/stft_node.h"

namespace runnel::pipeline {

class InverseStft final : public StftNode {
 public:
  static const NodeType type;

  Status prepare(NodeContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override { return input_.note(); }
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    input_.state(archive);
    inverse_->state(archive);
    archive.index(begin_);
  }

 private:
  FiniteInput input_;
  std::optional<features::InverseStft> inverse_;
  std::int64_t begin_ = 0;  // index of the sample that is number 0 of inverse_
};

}  // namespace runnel::pipeline
