// A streamed model: frames in, the frames of one of its outputs out.
#pragma once

#include "inference/frames.h"
#include "inference/session.h"
#include "kernels/elementwise.h"
#include "pipeline/node.h"

namespace runnel::pipeline {

// Output frame j has the logical index j of the offline run, whatever the model's delay: look-ahead costs time, not alignment.
class Infer final : public Node {
 public:
  static const NodeType type;

  std::string_view model;
  std::int64_t chunk = 0;            // frames per run of the model; 0: its smallest
  std::string_view output;           // name of the tensor; empty: the only output
  bool dequantize = false;

  Status prepare(PrepareContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;

 private:
  Status choose_output(const Model& loaded) noexcept;
  Status check_input(PrepareContext& context, const Model& loaded) noexcept;
  Status describe_output(PrepareContext& context, const Model& loaded) noexcept;
  void convert_input(const std::byte* from, std::int64_t values, std::byte* to) noexcept;
  void convert_output(const std::byte* from, std::int64_t values, std::byte* to) noexcept;
  void store(const std::byte* frames, std::int64_t count) noexcept;
  void run(Output& out) noexcept;

  const Prepared* prepared_ = nullptr;
  Session session_;
  const kernels::Elementwise* elementwise_ = nullptr;
  TensorView input_, output_;
  kernels::Rounding rounding_ = kernels::Rounding::half_up;
  DType given_ = DType::none;
  int position_ = 0;                 // of the output
  FrameLayout in_layout_, out_layout_;
  std::size_t in_bytes_ = 0, out_bytes_ = 0;        // per frame, in the pipeline
  std::int64_t in_values_ = 0, out_values_ = 0;     // per frame
  std::int64_t out_frames_ = 0;      // of the output's block
  std::int64_t up_ = 1, down_ = 1;

  std::int64_t skip_ = 0;            // input still to be dropped
  std::int64_t grid_ = 0;            // index of the output frame that the session numbers 0
  std::int64_t pending_ = 0;         // frames in the session's input that wait for the block to be full
  bool heard_ = false, ended_ = false;
};

}  // namespace runnel::pipeline
