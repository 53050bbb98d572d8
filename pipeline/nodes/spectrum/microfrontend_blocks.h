// What the nodes microfrontend and constant microfrontend share: features::Microfrontend between blocks of
// samples and of frames.
#pragma once

#include <optional>
#include <string_view>

#include "features/microfrontend/microfrontend.h"
#include "pipeline/node.h"
#include "pipeline/nodes/finite_input.h"
#include "pipeline/nodes/window_grid.h"

namespace runnel::pipeline {

// Frames lie on one grid of frame_shift for the whole recording: after a gap, samples up to the next point
// of it are dropped, and the noise estimate starts afresh.
class MicrofrontendBlocks {
 public:
  struct Choices {
    std::string_view who;         // the node as the user knows it
    DType gives = DType::uint16;  // the library's values; int8, float32: made of them
    std::string_view non_finite = "zero";
  };
  Status prepare(const features::MicrofrontendOptions& options, const Choices& choices,
                 PrepareContext& context) noexcept;
  // With tables of these options that are made already, and outlive this.
  Status prepare(const features::MicrofrontendOptions& options, const features::MicrofrontendTables& tables,
                 const Choices& choices, PrepareContext& context) noexcept;
  std::int64_t reset(std::int64_t first) noexcept;
  Status process(const Block& in, Output& out) noexcept;
  [[nodiscard]] Text note() const noexcept { return input_.note(); }

 private:
  Status take_input(const features::MicrofrontendOptions& options, const Choices& choices,
                    PrepareContext& context) noexcept;
  Status describe_output(PrepareContext& context) noexcept;

  FiniteInput input_;
  std::optional<features::Microfrontend> front_end_;
  DType out_type_ = DType::uint16;
  std::uint16_t* values_ = nullptr;  // of one process(), where another type comes out
  WindowGrid grid_;
};

}  // namespace runnel::pipeline
