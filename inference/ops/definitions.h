// The list of all operators of this library, by the file that defines them. An application that wants only
// some of them names them in a table of its own.
#pragma once

#include "inference/operator.h"

// clang-format off
#define RUNNEL_OPERATORS(X) \
  /* conv/conv.cpp */ \
  X(kConv) X(kFullyConnected) X(kConvMultipliers) X(kFullyConnectedMultipliers) \
  /* binary/binary.cpp */ \
  X(kAdd) X(kAddExact) X(kSub) X(kSubExact) X(kMul) X(kMulExact) X(kMax) X(kMin) \
  /* unary/unary.cpp */ \
  X(kRelu) X(kClip) X(kRequantize) X(kQuantize) X(kDequantize) X(kLut) \
  /* reduce/pool.cpp */ \
  X(kAveragePool) X(kMaxPool) X(kAveragePoolTflite) X(kMaxPoolTflite) \
  /* movement/movement.cpp */ \
  X(kReshape) X(kTranspose) X(kSlice) \
  /* movement/concat.cpp */ \
  X(kConcat) X(kSplit) \
  /* movement/pad.cpp */ \
  X(kPad) \
  /* reduce/reduce.cpp */ \
  X(kReduceMean) X(kReduceSum) X(kReduceMax) X(kReduceMin) X(kReduceL1) X(kReduceL2) X(kReduceProd) \
  X(kReduceLogSum) X(kReduceLogSumExp) X(kReduceSumSquare) X(kReduceMeanTflite) X(kReduceSumTflite) \
  X(kReduceMaxTflite) X(kReduceMinTflite) \
  /* attention/matmul.cpp */ \
  X(kMatmul) X(kMatmulTflite) \
  /* binary/pair.cpp */ \
  X(kDiv) X(kMod) X(kModFloored) X(kPow) X(kPrelu) X(kEqual) X(kGreater) X(kGreaterOrEqual) X(kLess) \
  X(kLessOrEqual) X(kLogicalAnd) X(kLogicalOr) X(kLogicalXor) \
  /* attention/softmax.cpp */ \
  X(kSoftmax) X(kLogSoftmax) \
  /* unary/function.cpp */ \
  X(kAbs) X(kNeg) X(kExp) X(kLog) X(kSqrt) X(kSigmoid) X(kTanh) X(kSwish) X(kHardSigmoid) X(kHardSwish) \
  X(kGelu) X(kElu) X(kLeakyRelu) X(kMish) X(kSoftplus) X(kErf) X(kSwoosh) \
  /* unary/choice.cpp */ \
  X(kLogicalNot) X(kWhere) X(kCast) X(kArgMax) X(kTopK) \
  /* recurrent/recurrent.cpp */ \
  X(kGru) X(kLstm) \
  /* attention/norm.cpp */ \
  X(kLayerNorm) X(kRmsNorm) X(kLpNorm) \
  /* movement/resize.cpp */ \
  X(kResize) \
  /* movement/rearrange.cpp */ \
  X(kDepthToSpace) X(kSpaceToDepth) X(kExpand) X(kInsertZeros) X(kReverseSequence) \
  /* movement/gather.cpp */ \
  X(kGather) X(kScatterNd) \
  /* conv/transposed_conv.cpp */ \
  X(kTransposedConv) \
  /* recurrent/streaming_cache.cpp */ \
  X(kStreamingCache) \
  /* binary/affine_binary.cpp */ \
  X(kAddTflite) X(kSubTflite) X(kMulTflite) X(kDivTflite) X(kMaxTflite) X(kMinTflite) \
  X(kSquaredDifference) X(kPreluTflite) \
  /* unary/affine_unary.cpp */ \
  X(kReluTflite) X(kRequantizeTflite) X(kSigmoidTflite) X(kTanhTflite) X(kLeakyReluTflite) \
  X(kHardSwishTflite) X(kClipTflite) X(kQuantizeTflite) X(kDequantizeTflite) \
  /* attention/affine_softmax.cpp */ \
  X(kSoftmaxTflite) \
  /* conv/hybrid.cpp */ \
  X(kConvHybrid) X(kFullyConnectedHybrid) \
  /* recurrent/sequence_lstm.cpp */ \
  X(kLstmStatefulTflite) X(kLstmStatefulShifts) \
  /* recurrent/svdf.cpp */ \
  X(kSvdf) X(kSvdfShifts) \
  /* recurrent/variable.cpp */ \
  X(kReadVariable) X(kAssignVariable) \
  /* ../delegate.cpp */ \
  X(kDelegate) \
  /* reduce/window_reduce.cpp */ \
  X(kReduceMeanWindows) X(kReduceSumWindows) X(kReduceMaxWindows) X(kReduceMinWindows) \
  X(kReduceMeanTfliteWindows) X(kReduceMeanPoolWindows) X(kReduceMeanTflitePoolWindows) \
  /* attention/attention.cpp */ \
  X(kAttention)
// clang-format on

namespace runnel::ops {

#define RUNNEL_DECLARE(NAME) extern const OperatorDefinition NAME;
RUNNEL_OPERATORS(RUNNEL_DECLARE)
#undef RUNNEL_DECLARE

}  // namespace runnel::ops
