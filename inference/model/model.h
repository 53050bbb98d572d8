// A model file in memory, verified and used in place (format: inference/model/model.fbs, docs/model-file.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "base/status.h"
#include "inference/model/file_enums.h"
#include "kernels/arithmetic/requantize.h"

namespace runnel {

inline constexpr int kMaxRank = 6;

// How an encrypted model file starts. Only hosts read these (inference/host/encrypted_model.h); Model::open
// refuses them by name.
inline constexpr std::string_view kEncryptedMagic = "RNLE";

// Dimensions of a tensor, outermost first; time first or after leading ones, channels last after
// channels-last operators.
struct Shape {
  int rank = 0;
  std::array<std::int32_t, kMaxRank> dims{};

  [[nodiscard]] std::int32_t operator[](int axis) const noexcept {
    return dims[static_cast<std::size_t>(axis)];
  }
  [[nodiscard]] std::int32_t& operator[](int axis) noexcept { return dims[static_cast<std::size_t>(axis)]; }
  // Product of the dimensions [first, last).
  [[nodiscard]] std::int64_t product(int first, int last) const noexcept {
    std::int64_t count = 1;
    for (int axis = first; axis < last; ++axis) count *= dims[static_cast<std::size_t>(axis)];
    return count;
  }
  [[nodiscard]] std::int64_t elements() const noexcept { return product(0, rank); }
  friend bool operator==(const Shape&, const Shape&) = default;
};

// A tensor of the graph, decoded from the file. Views point into the file.
struct TensorView {
  Shape shape;  // at the reference length
  DType dtype = DType::none;
  std::span<const std::int8_t>
      exponents;                  // scale = 2^exponent: one, or one per channel; empty: not this kind
  std::span<const float> scales;  // one, or one per channel; empty: not this kind
  std::span<const std::int32_t> zero_points;  // as scales; empty: 0
  int channel_axis = -1;
  bool constant = false;
  bool non_negative = false;
  std::span<const std::byte> data;  // constants only

  [[nodiscard]] std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(shape.elements()) * size_of(dtype);
  }
  // The exponent of a tensor with one scale for all; 0 when there is none.
  [[nodiscard]] int exponent() const noexcept { return exponents.empty() ? 0 : exponents[0]; }
  [[nodiscard]] std::int32_t zero_point() const noexcept { return zero_points.empty() ? 0 : zero_points[0]; }
};

struct ModelOptions {
  // Checksums guard against damage, not malice; tests of the structural checks switch them off.
  bool check_crc = true;
};

// Immutable and thread-safe. Holds views only: the bytes must stay as long as the Model and all that is made
// from it.
class Model {
 public:
  // Verifies everything that can be verified without the operators: container, checksums, sizes, indices,
  // ranges, shapes, quantization, order of execution. `bytes` starts 16-byte aligned. Errors: invalid_data
  // with the place (section, tensor or operator), what was expected and what was found; unsupported for a
  // newer format version.
  static Result<Model> open(std::span<const std::byte> bytes, const ModelOptions& options = {}) noexcept;

  [[nodiscard]] int tensor_count() const noexcept { return tensor_count_; }
  [[nodiscard]] int operator_count() const noexcept { return operator_count_; }
  [[nodiscard]] TensorView tensor(int index) const noexcept;
  [[nodiscard]] const fb::Operator& op(int index) const noexcept {
    return *graph_->operators()->Get(static_cast<flatbuffers::uoffset_t>(index));
  }
  // Tensor indices of the graph's inputs and outputs.
  [[nodiscard]] std::span<const std::int32_t> inputs() const noexcept { return inputs_; }
  [[nodiscard]] std::span<const std::int32_t> outputs() const noexcept { return outputs_; }

  // Names; "#<index>" style names are the caller's business when the side table was stripped (then empty).
  [[nodiscard]] std::string_view name() const noexcept;
  [[nodiscard]] std::string_view tensor_name(int index) const noexcept;
  [[nodiscard]] std::string_view operator_name(int index) const noexcept;
  // -1 when there is none of that name.
  [[nodiscard]] int find_tensor(std::string_view name) const noexcept;

  // Sections; null when absent. The plan, when present, has one entry per tensor.
  [[nodiscard]] const fb::StreamPlan* plan() const noexcept { return plan_; }
  [[nodiscard]] const fb::Pipeline* pipeline() const noexcept { return pipeline_; }
  [[nodiscard]] const fb::Vectors* vectors() const noexcept { return vectors_; }
  [[nodiscard]] const fb::Metadata* metadata() const noexcept { return metadata_; }
  [[nodiscard]] const fb::Arenas* arenas() const noexcept { return arenas_; }
  // Value of a metadata key; empty when absent.
  [[nodiscard]] std::string_view metadata(std::string_view key) const noexcept;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t weight_bytes() const noexcept { return weights_.size(); }

 private:
  std::span<const std::byte> bytes_, weights_;
  const fb::Graph* graph_ = nullptr;
  const fb::StreamPlan* plan_ = nullptr;
  const fb::Names* names_ = nullptr;
  const fb::Pipeline* pipeline_ = nullptr;
  const fb::Vectors* vectors_ = nullptr;
  const fb::Metadata* metadata_ = nullptr;
  const fb::Arenas* arenas_ = nullptr;
  std::span<const std::int32_t> inputs_, outputs_;
  int tensor_count_ = 0, operator_count_ = 0;
};

}  // namespace runnel
