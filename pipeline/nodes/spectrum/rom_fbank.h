// The node fbank for programs with a compiled-in front end: its tables are constants
// (features/fbank/fbank_tables.h). Preparing it parses and computes nothing.
#pragma once

#include "features/fbank/rom_fbank.h"
#include "pipeline/nodes/finite_input.h"
#include "pipeline/nodes/spectrum/fbank_blocks.h"

namespace runnel::pipeline {

template <class Blocks>
class RomFbankOf : public Node {
 public:
  std::int64_t reset(std::int64_t first) noexcept override { return blocks_.reset(first); }
  Status process(const Block& in, Output& out) noexcept override { return blocks_.process(in, out); }
  Status flush(Output& out) noexcept override { return blocks_.flush(out); }
  [[nodiscard]] Text note() const noexcept override { return note_of_replaced("fbank", blocks_.replaced()); }

 protected:
  Blocks blocks_;
};

// For any tables.
class RomFbank final : public RomFbankOf<FbankBlocks> {
 public:
  const features::FbankTables* tables = nullptr;  // outlives the node

  Status prepare(NodeContext& context) noexcept override {
    return blocks_.prepare(*tables, context.label, context);
  }
};

// For a Recipe that features::has_rom_form(): only the code that the recipe uses is linked.
template <class Recipe>
class RecipeFbank final : public RomFbankOf<FbankBlocksOf<features::RomFbank<Recipe>>> {
 public:
  Status prepare(NodeContext& context) noexcept override {
    RUNNEL_TRY(check_fbank_input(Recipe::kOptions, context.label, context));
    RUNNEL_TRY(this->blocks_.front_end().emplace().init(context.memory));
    this->blocks_.describe_output(context);
    return {};
  }
};

}  // namespace runnel::pipeline
