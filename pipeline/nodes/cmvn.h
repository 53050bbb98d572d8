// Mean and variance normalisation with fixed statistics: features::Cmvn as a node.
#pragma once

#include "features/cmvn.h"
#include "pipeline/node.h"

namespace runnel::pipeline {

// Frames, or samples of several channels.
class Cmvn final : public Node {
 public:
  static const NodeType type;

  // One number for all dimensions, or one for each, with commas between them.
  std::string_view mean = "0";
  std::string_view deviation = "1";

  Status prepare(PrepareContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

 private:
  features::Cmvn cmvn_;
};

}  // namespace runnel::pipeline
