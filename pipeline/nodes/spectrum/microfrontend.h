// TensorFlow Lite Micro's fixed-point front end: features::Microfrontend as a node.
#pragma once

#include "pipeline/nodes/spectrum/microfrontend_blocks.h"

namespace runnel::pipeline {

class Microfrontend final : public Node {
 public:
  static const NodeType type;

  std::string_view preset = "micro-wake-word";
  features::MicrofrontendOptions options;  // starts as the preset; every option of
                                           // features/microfrontend/microfrontend_options.h is a parameter
  // uint16: the library's values. int8: as models of its examples and of microWakeWord take them. float32:
  // value * 10/256.
  std::string_view dtype = "uint16";
  std::string_view non_finite = "zero";

  Microfrontend() noexcept;
  Status prepare(NodeContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override { return blocks_.reset(first); }
  Status process(const Block& in, Output& out) noexcept override { return blocks_.process(in, out); }
  [[nodiscard]] Text note() const noexcept override { return blocks_.note(); }
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    blocks_.state(archive);
  }

 private:
  MicrofrontendBlocks blocks_;
};

}  // namespace runnel::pipeline
