// Blocks of a front end whose options come while the program runs, or with tables that are made already.
#pragma once

#include "features/fbank/fbank.h"
#include "pipeline/nodes/spectrum/fbank_blocks_of.h"

namespace runnel::pipeline {

extern template class FbankBlocksOf<features::Fbank>;

class FbankBlocks : public FbankBlocksOf<features::Fbank> {
 public:
  // `who`: the node as the user knows it.
  Status prepare(const features::FbankOptions& options, std::string_view who,
                 PrepareContext& context) noexcept;
  // With tables that are made already, and outlive this.
  Status prepare(const features::FbankTables& tables, std::string_view who, PrepareContext& context) noexcept;
};

}  // namespace runnel::pipeline
