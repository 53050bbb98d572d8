// Bound operators of attention networks: what they compute with, and the functions that run them for one
// type, which compiled models name one by one (inference/ops/bound.h).
#pragma once

#include "inference/ops/attention/attention_window.h"
#include "inference/ops/support.h"
#include "kernels/affine_softmax.h"
#include "kernels/matmul.h"
#include "kernels/softmax.h"
#include "kernels/transformer/fixed_attention.h"
#include "kernels/transformer/fixed_layer_norm.h"

namespace runnel::ops {

// ---- attention over a window of frames

// In fixed point.
struct BoundFixedAttention : BoundWindow {
  kernels::FixedAttentionSpec spec;
  const std::int32_t* bias = nullptr;  // [1 or heads, distances]; null: none
  const void* distances = nullptr;     // [distances, 1 or heads, distance_size]; null: none
  // Steps of the two tables in elements; 0 from head to head: all heads share it.
  std::int64_t bias_stride = 0, distance_head_stride = 0;
};
// T: std::int8_t or std::int16_t, that of the specification.
template <class T>
void run_fixed_attention(const BoundOperator& self, const RunContext& context) noexcept;

// With the softmax of kernels/softmax.h.
struct BoundAttention : BoundWindow {
  DType dtype = DType::int8;
  kernels::SoftmaxSpec softmax;
  int score_shift = 0, scale = 0, scale_shift = 0, sum_shift = 0;
  float real_scale = 1;
  const float* bias = nullptr;       // [1 or heads, distances]; null: none
  const float* distances = nullptr;  // [distances, 1 or heads, distance_size]; null: none
  // Steps of the two tables; 0 from head to head: all heads share it.
  std::int64_t bias_stride = 0, distance_stride = 0, distance_head_stride = 0;
  kernels::Rounding rounding = kernels::Rounding::half_up;
  std::size_t weights_offset = 0, powers_offset = 0;  // in the scratch memory; scores come first
};
// T: std::int8_t, std::int16_t or float, that of `dtype`.
template <class T>
void run_window_attention(const BoundOperator& self, const RunContext& context) noexcept;

// ---- normalization frame by frame

struct BoundFixedNorm : BoundOperator {
  kernels::FixedLayerNormSpec spec;
  kernels::FixedLayerNorm normalize = nullptr;
  Operand x;
  std::int32_t y = -1;
};

enum class Norm : std::uint8_t { layer, rms, lp };
struct BoundNorm : BoundOperator {
  Operand x;
  std::int32_t y = -1;
  DType from = DType::none, to = DType::none;
  Norm kind = Norm::layer;
  int p = 2;
  std::int64_t outer = 1, count = 1, inner = 1;  // x[outer][count][inner], normalized over `count`
  float x_scale = 1, y_scale = 1, epsilon = 0;   // y_scale: 1 / scale of y
  kernels::Rounding rounding = kernels::Rounding::half_up;
  const float* gain = nullptr;    // [count], or null
  const float* offset = nullptr;  // [count], or null
};
// X, Y: the types of `from` and `to`, each std::int8_t, std::int16_t or float.
template <class X, class Y>
void run_norm_as(const BoundOperator& self, const RunContext& context) noexcept;

// ---- softmax

struct BoundSoftmax : BoundOperator {
  kernels::SoftmaxSpec spec;
  Operand x;
  std::int32_t y = -1;
};
void run_softmax(const BoundOperator& self, const RunContext& context) noexcept;

struct BoundAffineSoftmax : BoundOperator {
  kernels::AffineSoftmaxSpec spec;
  Operand x;
  std::int32_t y = -1;
};

// ---- products of two computed tensors of matrices

struct BoundMatmul : BoundOperator {
  kernels::MatmulSpec spec;
  Operand a, b;
  std::int32_t y = -1;
  int batch_rank = 0;
  kernels::Dims batch{};
  std::int64_t a_stride[kMaxRank] = {},
               b_stride[kMaxRank] = {};  // bytes per step of each batch axis; 0: repeated
  std::size_t y_bytes = 0;               // of one matrix
};
// As kernels::matmul_as().
template <class T, bool kAffine>
void run_matmul_as(const BoundOperator& self, const RunContext& context) noexcept;

}  // namespace runnel::ops
