// The node microfrontend for programs with a compiled-in front end: its tables are constants
// (features/microfrontend/microfrontend_tables.h). Preparing it parses and computes nothing.
#pragma once

#include "pipeline/nodes/spectrum/microfrontend_blocks.h"

namespace runnel::pipeline {

class RomMicrofrontend final : public Node {
 public:
  const features::MicrofrontendOptions* options =
      nullptr;  // this and the next outlive the node, and must match
  const features::MicrofrontendTables* tables = nullptr;
  DType gives = DType::uint16;
  std::string_view non_finite = "zero";

  Status prepare(NodeContext& context) noexcept override {
    return blocks_.prepare(*options, *tables, {context.label, gives, non_finite}, context);
  }
  std::int64_t reset(std::int64_t first) noexcept override { return blocks_.reset(first); }
  Status process(const Block& in, Output& out) noexcept override { return blocks_.process(in, out); }
  [[nodiscard]] Text note() const noexcept override { return blocks_.note(); }

 private:
  MicrofrontendBlocks blocks_;
};

}  // namespace runnel::pipeline
