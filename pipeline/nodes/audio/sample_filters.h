// Samples to samples: features/samples/sample_filter.h as nodes. Any number of channels.
#pragma once

#include "features/samples/sample_filter.h"
#include "pipeline/node.h"
#include "pipeline/nodes/finite_input.h"

namespace runnel::pipeline {

class Gain final : public Node {
 public:
  static const NodeType type;

  float db = 0;

  Status prepare(PrepareContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

 private:
  float factor_ = 1;
  std::size_t channels_ = 1;
};

// Over the whole stream, before framing; the front ends have one per frame, which is another thing.
class Preemphasis final : public Node {
 public:
  static const NodeType type;

  float coefficient = 0.97F;
  std::string_view non_finite = "zero";

  Status prepare(PrepareContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override { return input_.note(); }

 private:
  FiniteInput input_;
  features::Preemphasis filter_;
  std::size_t channels_ = 1;
};

class HighPass final : public Node {
 public:
  static const NodeType type;

  float cutoff = 20;  // Hz
  std::int32_t order = 2;
  std::string_view non_finite = "zero";

  Status prepare(PrepareContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override { return input_.note(); }

 private:
  FiniteInput input_;
  features::HighPass filter_;
  std::size_t channels_ = 1;
};

class Dither final : public Node {
 public:
  static const NodeType type;

  float deviation = 0.00003F;  // of samples in [-1, 1)
  std::int32_t seed = 0;

  Status prepare(PrepareContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

 private:
  std::size_t channels_ = 1;
};

}  // namespace runnel::pipeline
