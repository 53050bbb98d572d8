// The node fbank for programs whose front end is known when they are compiled: its tables are constants (features/fbank_tables.h),
// nothing is computed to prepare it, and no option is read by name.
#pragma once

#include "pipeline/nodes/fbank_blocks.h"
#include "pipeline/nodes/finite_input.h"

namespace runnel::pipeline {

class ConstantFbank final : public Node {
 public:
  const features::FbankTables* tables = nullptr;   // outlives the node

  Status prepare(PrepareContext& context) noexcept override { return blocks_.prepare(*tables, context.label, context); }
  std::int64_t reset(std::int64_t first) noexcept override { return blocks_.reset(first); }
  Status process(const Block& in, Output& out) noexcept override { return blocks_.process(in, out); }
  Status flush(Output& out) noexcept override { return blocks_.flush(out); }
  [[nodiscard]] Text note() const noexcept override { return note_of_replaced("fbank", blocks_.replaced()); }

 private:
  FbankBlocks blocks_;
};

}  // namespace runnel::pipeline
