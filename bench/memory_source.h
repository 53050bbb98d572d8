// A source of samples in memory, for graphs whose speed is measured.
#pragma once

#include <cstdint>

#include "pipeline/node.h"

namespace runnel::bench {

// `memory seconds=20`: a voice-like sound of 16 kHz with noise, the same in every run. At its end it begins
// again, so that its graph can be restarted.
class MemorySource final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;
  static constexpr std::int64_t kRate = 16000;

  std::int64_t seconds = 20;

  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;

 private:
  std::int64_t position_ = 0;
};

}  // namespace runnel::bench
