// High-pass filter: features::HighPass as a node.
#pragma once

#include "features/samples/sample_filter.h"
#include "pipeline/node.h"
#include "pipeline/nodes/finite_input.h"

namespace runnel::pipeline {

class HighPass final : public Node {
 public:
  static const NodeType type;

  float cutoff = 20;  // Hz
  std::int32_t order = 2;
  std::string_view non_finite = "zero";

  Status prepare(NodeContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override { return input_.note(); }
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    input_.state(archive);
    filter_.state(archive);
  }

 private:
  FiniteInput input_;
  features::HighPass filter_;
  std::size_t channels_ = 1;
};

}  // namespace runnel::pipeline
