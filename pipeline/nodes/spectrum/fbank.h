// Log-mel filter banks, cepstral coefficients or spectrograms: features::Fbank as a node.
#pragma once

#include "pipeline/nodes/finite_input.h"
#include "pipeline/nodes/spectrum/fbank_blocks.h"

namespace runnel::pipeline {

class Fbank final : public Node {
 public:
  static const NodeType type;

  std::string_view preset = "kaldi";
  features::FbankOptions
      options;  // starts as the preset; every option of features/fbank/fbank_parameters.h is a parameter

  Fbank() noexcept;
  Status prepare(NodeContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override { return blocks_.reset(first); }
  Status process(const Block& in, Output& out) noexcept override { return blocks_.process(in, out); }
  Status flush(Output& out) noexcept override { return blocks_.flush(out); }
  [[nodiscard]] Text note() const noexcept override {
    return note_of_replaced(type.name, blocks_.replaced());
  }
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    blocks_.state(archive);
  }

 private:
  FbankBlocks blocks_;
};

}  // namespace runnel::pipeline
