// TensorFlow Lite Micro's fixed-point front end: features::Microfrontend as a node.
#pragma once

#include <optional>

#include "features/microfrontend.h"
#include "pipeline/node.h"
#include "pipeline/nodes/finite_input.h"

namespace runnel::pipeline {

// Frames lie on one grid of frame_shift for the whole recording: behind a gap, samples up to the next point of it are dropped, and the noise
// estimate starts afresh.
class Microfrontend final : public Node {
 public:
  static const NodeType type;

  std::string_view preset = "micro-wake-word";
  features::MicrofrontendOptions options;   // starts as the preset; every option of features/microfrontend_options.h is a parameter
  // uint16: the library's values. int8: as models of its examples and of microWakeWord take them. float32: value * 10/256.
  std::string_view dtype = "uint16";
  std::string_view non_finite = "zero";

  Microfrontend() noexcept;
  Status prepare(PrepareContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override { return input_.note(); }

 private:
  FiniteInput input_;
  std::optional<features::Microfrontend> front_end_;
  DType out_type_ = DType::uint16;
  std::uint16_t* values_ = nullptr;  // of one process(), where another type comes out
  std::int64_t skip_ = 0;            // input still to be dropped
  std::int64_t grid_ = 0;            // index of the next frame that was number 0 of front_end_
};

}  // namespace runnel::pipeline
