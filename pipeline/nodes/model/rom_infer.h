// The node infer for programs with a compiled-in streaming model (compiler/embed). All tables are constants:
// no model file is read and nothing is planned.
#pragma once

#include <span>
#include <string_view>

#include "inference/prepared.h"
#include "kernels/arithmetic/requantize.h"
#include "kernels/elementwise/affine.h"
#include "pipeline/node.h"
#include "pipeline/nodes/model/model_stream.h"

namespace runnel::pipeline {

// The constants of a model. All of it lies in ROM.
struct CompiledModel {
  Prepared prepared;
  ModelStreamShape shape;
  DType given = DType::float32;           // type of the input frames, of shape.in_values values
  ValueConverter input, output;           // `self`: this object
  int in_exponent = 0, out_exponent = 0;  // of the tensors
  kernels::Rounding rounding = kernels::Rounding::half_up;
  DType gives = DType::float32;  // type of the output frames
  int given_exponent = 0;        // of integer output frames
  std::span<const std::string_view> labels;
  // Everything that operators read: weights, biases, constants. prepare() verifies the checksum.
  struct Constants {
    const void* data = nullptr;
    std::size_t bytes = 0;
    std::uint32_t crc = 0;  // CRC-32C
  };
  std::span<const Constants> constants;
  kernels::Affine in_affine, out_affine;  // of tensors whose scale is no power of two
};

// Converters of a CompiledModel.
void copy_values(const void* self, const std::byte* from, std::int64_t values,
                 std::byte* to) noexcept;  // of one byte
void copy_wide_values(const void* self, const std::byte* from, std::int64_t values,
                      std::byte* to) noexcept;  // of two bytes
void copy_floats(const void* self, const std::byte* from, std::int64_t values, std::byte* to) noexcept;
void quantize_int8(const void* self, const std::byte* from, std::int64_t values, std::byte* to) noexcept;
void quantize_int16(const void* self, const std::byte* from, std::int64_t values, std::byte* to) noexcept;
void quantize_affine(const void* self, const std::byte* from, std::int64_t values, std::byte* to) noexcept;
void dequantize_affine(const void* self, const std::byte* from, std::int64_t values, std::byte* to) noexcept;
void dequantize_int8(const void* self, const std::byte* from, std::int64_t values, std::byte* to) noexcept;
void dequantize_int16(const void* self, const std::byte* from, std::int64_t values, std::byte* to) noexcept;

class RomInfer : public Node {
 public:
  const CompiledModel* model = nullptr;  // outlives the node

  // Errors: invalid_data when the model's constants are damaged; mismatch when the input has another format
  // than the model takes; out_of_memory.
  Status prepare(NodeContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override { return stream_.reset(first); }
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;

 protected:
  // For nodes that run the model in their own way.
  [[nodiscard]] ModelStream& stream() noexcept { return stream_; }
  [[nodiscard]] const Prepared& prepared() const noexcept { return model->prepared; }
  [[nodiscard]] std::size_t frame_bytes() const noexcept { return stream_.frame_bytes(); }
  // Sets `made`, which is null, to what takes the part of frames that passes by the model: PassingBy
  // (passed_frames.h) has one. No Result, which would take stack while the session is made.
  virtual Status make_bypass(const NodeContext& context, const Prepared& prepared,
                             const ModelStreamShape& shape, std::int64_t largest_block,
                             Bypass*& made) noexcept;

 private:
  ModelStream stream_;
};

}  // namespace runnel::pipeline
