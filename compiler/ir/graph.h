// The graph that importers make, passes change and the writer turns into a model file. Plain data, host only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "inference/op_code.h"
#include "kernels/arithmetic/requantize.h"

namespace runnel::compiler {

using TensorId = std::int32_t;
inline constexpr TensorId kAbsent = -1;

// value = (integer - zero_point) * scale, scale = 2^exponent or a float; one entry, or one per index of
// channel_axis.
struct Tensor {
  std::string name;
  std::vector<std::int32_t> shape;
  DType dtype = DType::none;
  std::vector<std::int8_t> exponents;
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;
  int channel_axis = -1;
  bool non_negative = false;
  std::optional<std::vector<std::byte>> data;  // constants: dense, little endian
};

// All of a tensor but the values of a constant, which are not copied on the way.
Tensor without_data(const Tensor& tensor);

// Number of elements of a shape, 1 for a scalar.
std::size_t element_count(const std::vector<std::int32_t>& shape) noexcept;

// The options of inference/model/model.fbs as plain structs, with the same members in the same order
// (compiler/ir/file_options.cpp reads and writes them by position).
struct ConvOptions {
  int stride_height = 1, stride_width = 1, dilation_height = 1, dilation_width = 1;
  int pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int groups = 1;
  Activation activation = Activation::none;
};
struct FullyConnectedOptions {
  Activation activation = Activation::none;
};
struct BinaryOptions {
  Activation activation = Activation::none;
};
struct PoolOptions {
  int kernel_height = 1, kernel_width = 1, stride_height = 1, stride_width = 1, dilation_height = 1,
      dilation_width = 1;
  int pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  bool count_padding = true, global = false;
};
struct LutOptions {
  bool linear = false;
};
struct ClipOptions {
  int low = 0, high = 0;
  float low_value = 0, high_value = 0;
};
struct TransposeOptions {
  std::vector<std::uint8_t> perm;
};
struct SliceOptions {
  std::vector<std::int32_t> begin, step;
};
struct AxisOptions {
  int axis = 0;
};
struct PadOptions {
  std::vector<std::int32_t> before, after;
  PadMode mode = PadMode::zero;
  int value = 0;
  float real_value = 0;
};
struct ReduceOptions {
  std::vector<std::uint8_t> axes;
  int window = 0, hop = 1, before = 0, time_axis = 0;  // of windowed arithmetics
};
struct FunctionOptions {
  float alpha = 0, beta = 0;
  bool tanh_form = false;
  float gamma = 0;
};
struct TopKOptions {
  int axis = 0;
  bool smallest = false;
};

// ---- recurrence, normalization, rearrangement
struct RecurrentOptions {
  Direction direction = Direction::forward;
  int gate_exponent = 0;
  int outputs = 1;
};
struct NormOptions {
  int axis = 0;
  float epsilon = 0;
  int p = 2;
};
struct ResizeOptions {
  ResizeMode mode = ResizeMode::nearest;
  ResizeCoordinates coordinates = ResizeCoordinates::asymmetric;
};
struct BlockOptions {
  int size = 1;
  bool channel_major = false;
};
struct ScatterOptions {
  ScatterReduction reduction = ScatterReduction::none;
};
struct ReverseOptions {
  int time_axis = 0, batch_axis = 0;
};
struct InsertZerosOptions {
  int stride_height = 1, stride_width = 1, after_height = 0, after_width = 0;
};
struct StreamingCacheOptions {
  int frames = 1, axis = 1;
};
struct TransposedConvOptions {
  int stride_height = 1, stride_width = 1, dilation_height = 1, dilation_width = 1;
  int crop_top = 0, crop_left = 0, crop_bottom = 0, crop_right = 0;
  int groups = 1;
  Activation activation = Activation::none;
};

struct SequenceLstmOptions {
  bool time_major = false;
  float cell_clip = 0;
  int cell_exponent = 0;
};
struct SvdfOptions {
  int rank = 1;
  Activation activation = Activation::none;
  DType state_dtype = DType::none;
  float state_scale = 0;
  int state_zero_point = 0;
};

struct AttentionOptions {
  int left = 0, right = 0, chunk = 1;
  int score_exponent = 0, scale = 0, scale_exponent = 0, scaled_exponent = 0, weight_exponent = 0;
  float real_scale = 1;
};

struct CustomAttribute {
  std::string name;
  std::variant<std::vector<std::int64_t>, std::vector<float>, std::string> value;
};
struct CustomOptions {
  std::string name;
  std::vector<CustomAttribute> attributes;
};

// The first inputs of the node are constants, one for each of `parts`.
struct DelegateOptions {
  std::string kind;
  std::vector<std::string> parts;
  std::vector<CustomAttribute> attributes;
};
struct VariableOptions {
  int variable = 0;
};

using AnyOptions =
    std::variant<std::monostate, ConvOptions, FullyConnectedOptions, BinaryOptions, PoolOptions, LutOptions,
                 ClipOptions, TransposeOptions, SliceOptions, AxisOptions, PadOptions, ReduceOptions,
                 FunctionOptions, TopKOptions, RecurrentOptions, NormOptions, ResizeOptions, BlockOptions,
                 ScatterOptions, ReverseOptions, InsertZerosOptions, TransposedConvOptions,
                 StreamingCacheOptions, CustomOptions, SequenceLstmOptions, SvdfOptions, DelegateOptions,
                 VariableOptions, AttentionOptions>;

// A node's parameters beside its operands. A class of its own, so that not every file that copies a node
// instantiates what a variant of so many alternatives needs.
struct Options : AnyOptions {
  using AnyOptions::AnyOptions;
  using AnyOptions::operator=;
  Options() noexcept;
  Options(const Options& other);
  Options(Options&& other) noexcept;
  Options& operator=(const Options& other);
  Options& operator=(Options&& other) noexcept;
  ~Options();
};

struct Node {
  std::string name;
  OpCode code = OpCode::none;
  Arithmetic arithmetic = Arithmetic::espdl;
  std::vector<TensorId> inputs, outputs;  // kAbsent: optional input that is not there
  Options options;
  kernels::Rounding rounding = kernels::Rounding::half_up;
};

struct VectorTensor {
  TensorId tensor = kAbsent;
  std::vector<std::int32_t> shape;
  std::vector<std::byte> data;
};
struct VectorCase {
  std::vector<VectorTensor> inputs, outputs;
};

// How the model is used: fields of fb::Pipeline.
struct PipelineSettings {
  UsageKind usage = UsageKind::stream;
  int sample_rate = 0;
  std::string front_end, decision;
  std::vector<std::string> labels;
  int window = 0, hop = 0, context = 0, step = 0, look_ahead = 0, output_frames = 0;
  std::vector<std::pair<TensorId, TensorId>> states;  // output, input
};

struct Graph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;  // in execution order
  std::vector<TensorId> inputs, outputs;
  std::vector<int>
      time_axes;  // of the inputs, where an importer knows them (-1: no stream); empty: the writer chooses
  std::string time_axis_reason;  // how the importer came to them, for messages; empty: the file says so
  std::vector<VectorCase> vectors;
  std::vector<std::pair<std::string, std::string>> metadata;
  PipelineSettings pipeline;
};

}  // namespace runnel::compiler
