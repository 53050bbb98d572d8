// Values on their way between frames of a pipeline and tensors of a model.
#pragma once

#include "inference/model/model.h"
#include "kernels/elementwise/elementwise.h"
#include "pipeline/node.h"
#include "pipeline/nodes/model/model_stream.h"

namespace runnel::pipeline {

// "'name'" of a tensor, or "#<index>" where names were stripped.
Text name_of_tensor(const Model& model, int tensor) noexcept;

// Frames as they come, made what the model's input takes.
class InputValues {
 public:
  // `values`: of a frame of the model. `path`: the model's, for messages. Error: mismatch, naming both ends.
  Status prepare(const PrepareContext& context, const Model& model, std::string_view path, int tensor,
                 std::int64_t values) noexcept;
  void convert(const std::byte* from, std::int64_t values, std::byte* to) const noexcept;
  // convert(), as ModelStream calls it.
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

// Values of an output, as they are or made float32.
class OutputValues {
 public:
  // Sets type and scale of the frames. Scales that are no powers of two do not travel with frames: such
  // values become float32. Error: unsupported, for types that cannot.
  Status prepare(PrepareContext& context, const Model& model, std::string_view path, int tensor,
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
