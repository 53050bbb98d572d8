// Converts values between frames of a pipeline and tensors of a model.
#pragma once

#include "inference/model/model.h"
#include "kernels/elementwise/elementwise.h"
#include "pipeline/node.h"
#include "pipeline/nodes/model/model_stream.h"

namespace runnel::pipeline {

// "'name'" of a tensor, or "#<index>" where names were stripped.
Text name_of_tensor(const Model& model, int tensor) noexcept;

// Converts input frames to the type and scale of the model's input.
class InputValues {
 public:
  // `values`: per frame of the model. `path`: of the model, for messages. Error: mismatch, naming both ends.
  Status prepare(const NodeContext& context, const Model& model, std::string_view path, int tensor,
                 std::int64_t values) noexcept;
  void convert(const std::byte* from, std::int64_t values, std::byte* to) const noexcept;
  // convert() as a callback of ModelStream.
  [[nodiscard]] ValueConverter converter() const noexcept {
    return {[](const void* self, const std::byte* from, std::int64_t values, std::byte* to) noexcept {
              static_cast<const InputValues*>(self)->convert(from, values, to);
            },
            this};
  }
  [[nodiscard]] DType given() const noexcept { return given_; }

 private:
  const kernels::Elementwise* elementwise_ = nullptr;
  TensorView tensor_;
  kernels::Rounding rounding_ = kernels::Rounding::half_up;
  DType given_ = DType::none;
};

// Converts the values of an output, to float32 if asked.
class OutputValues {
 public:
  // Sets type and scale of the frames. Frames only carry scales that are powers of two: values with other
  // scales become float32. Error: unsupported for types that cannot be converted.
  Status prepare(NodeContext& context, const Model& model, std::string_view path, int tensor,
                 bool dequantize) noexcept;
  void convert(const std::byte* from, std::int64_t values, std::byte* to) const noexcept;
  [[nodiscard]] ValueConverter converter() const noexcept {
    return {[](const void* self, const std::byte* from, std::int64_t values, std::byte* to) noexcept {
              static_cast<const OutputValues*>(self)->convert(from, values, to);
            },
            this};
  }

 private:
  const kernels::Elementwise* elementwise_ = nullptr;
  TensorView tensor_;
  bool dequantize_ = false;
};

}  // namespace runnel::pipeline
