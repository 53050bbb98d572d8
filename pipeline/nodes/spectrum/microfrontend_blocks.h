// Shared by the nodes microfrontend and constant microfrontend: features::Microfrontend from blocks of
// samples to blocks of frames.
#pragma once

#include <optional>
#include <string_view>

#include "features/microfrontend/microfrontend.h"
#include "pipeline/node.h"
#include "pipeline/nodes/finite_input.h"
#include "pipeline/nodes/window_grid.h"

namespace runnel::pipeline {

// Frames lie on one grid of frame_shift for the whole recording: after a gap, samples up to the next point
// of it are dropped, and the noise estimate is reset.
class MicrofrontendBlocks {
 public:
  struct Choices {
    std::string_view who;         // name of the node in messages
    DType gives = DType::uint16;  // the library's values; int8, float32: converted from them
    std::string_view non_finite = "zero";
  };
  Status prepare(const features::MicrofrontendOptions& options, const Choices& choices,
                 NodeContext& context) noexcept;
  // With ready-made tables of these options, which outlive this.
  Status prepare(const features::MicrofrontendOptions& options, const features::MicrofrontendTables& tables,
                 const Choices& choices, NodeContext& context) noexcept;
  std::int64_t reset(std::int64_t first) noexcept;
  Status process(const Block& in, Output& out) noexcept;
  [[nodiscard]] Text note() const noexcept { return input_.note(); }
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    input_.state(archive);
    front_end_->state(archive);
    grid_.state(archive);
  }

 private:
  Status take_input(const features::MicrofrontendOptions& options, const Choices& choices,
                    NodeContext& context) noexcept;
  Status describe_output(NodeContext& context) noexcept;

  FiniteInput input_;
  std::optional<features::Microfrontend> front_end_;
  DType out_type_ = DType::uint16;
  std::uint16_t* values_ = nullptr;  // of one process(), when the output has another type
  WindowGrid grid_;
};

}  // namespace runnel::pipeline
