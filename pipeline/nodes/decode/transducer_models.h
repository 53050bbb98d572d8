// Decoder and joiner of a transducer as models at work.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "decoding/transducer_beam.h"
#include "inference/session.h"
#include "pipeline/node.h"

namespace runnel::pipeline {

// One model that is run as a whole. No allocation after prepare.
class WholeModel {
 public:
  // Errors: those of the loader and of Prepared; mismatch for other than `inputs` inputs or more than one
  // output, or a type that is not float32 or, where `ids` is the position of an input, int64 or int32.
  Status prepare(NodeContext& context, std::string_view name, std::size_t inputs, int ids) noexcept;
  [[nodiscard]] std::int64_t input_values(int position) const noexcept;
  [[nodiscard]] std::int64_t output_values() const noexcept;
  void set(int position, std::span<const float> values) noexcept;
  void set_ids(int position, std::span<const std::int32_t> values) noexcept;
  std::span<const float> run() noexcept;

 private:
  const Prepared* prepared_ = nullptr;
  Session session_;
};

// From two files, or from one joiner that has the decoder within: then its second input takes tokens.
class TransducerModels final : public decoding::TransducerModel {
 public:
  // `frame_values`: of a frame of the encoder. `decoder`: empty when the joiner has it within. Errors: those
  // of WholeModel; mismatch when the parts do not fit together.
  Status prepare(NodeContext& context, std::string_view decoder, std::string_view joiner,
                 std::int64_t frame_values) noexcept;

  [[nodiscard]] std::int32_t classes() const noexcept { return classes_; }
  [[nodiscard]] std::int32_t context() const noexcept { return context_; }
  [[nodiscard]] std::int32_t predicted() const noexcept { return predicted_; }

  void predict(std::span<const std::int32_t> context, std::span<float> to) noexcept override;
  std::span<const float> join(std::span<const float> frame,
                              std::span<const float> predicted) noexcept override;

 private:
  bool apart_ = true;  // the decoder is a model of its own
  WholeModel decoder_, joiner_;
  std::int32_t classes_ = 0, context_ = 0, predicted_ = 0;
};

}  // namespace runnel::pipeline
