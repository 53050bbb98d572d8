// A front end between blocks, with options given at run time or with ready-made tables.
#pragma once

#include "features/fbank/fbank.h"
#include "pipeline/nodes/spectrum/fbank_blocks_of.h"

namespace runnel::pipeline {

extern template class FbankBlocksOf<features::Fbank>;

class FbankBlocks : public FbankBlocksOf<features::Fbank> {
 public:
  // `who`: name of the node in messages.
  Status prepare(const features::FbankOptions& options, std::string_view who, NodeContext& context) noexcept;
  // With ready-made tables, which outlive this.
  Status prepare(const features::FbankTables& tables, std::string_view who, NodeContext& context) noexcept;
};

}  // namespace runnel::pipeline
