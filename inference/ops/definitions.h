// The operators of this library, by family. An application that wants only some of them names them in a table
// of its own.
#pragma once

#include "inference/operator.h"

namespace runnel::ops {

extern const OperatorDefinition kConv, kFullyConnected;                                         // conv.cpp
extern const OperatorDefinition kAdd, kAddExact, kSub, kSubExact, kMul, kMulExact, kMax, kMin;  // binary.cpp
extern const OperatorDefinition kRelu, kClip, kRequantize, kQuantize, kDequantize,
    kLut;                                                // unary.cpp
extern const OperatorDefinition kAveragePool, kMaxPool;  // pool.cpp
extern const OperatorDefinition kReshape, kTranspose, kSlice, kConcat, kSplit,
    kPad;  // movement.cpp, concat.cpp, pad.cpp
extern const OperatorDefinition kReduceMean, kReduceSum, kReduceMax, kReduceMin;  // reduce.cpp
extern const OperatorDefinition kReduceMeanWindows, kReduceSumWindows, kReduceMaxWindows, kReduceMinWindows,
    kReduceMeanTfliteWindows;                // window_reduce.cpp
extern const OperatorDefinition kAttention;  // attention.cpp
extern const OperatorDefinition kReduceL1, kReduceL2, kReduceProd, kReduceLogSum, kReduceLogSumExp,
    kReduceSumSquare;
extern const OperatorDefinition kMatmul, kMatmulTflite;                 // matmul.cpp
extern const OperatorDefinition kSoftmax, kLogSoftmax;                  // softmax.cpp
extern const OperatorDefinition kDiv, kMod, kModFloored, kPow, kPrelu;  // pair.cpp
extern const OperatorDefinition kEqual, kGreater, kGreaterOrEqual, kLess, kLessOrEqual;
extern const OperatorDefinition kLogicalAnd, kLogicalOr, kLogicalXor;
extern const OperatorDefinition kWhere, kCast, kLogicalNot, kArgMax, kTopK;  // choice.cpp
extern const OperatorDefinition kAbs, kNeg, kExp, kLog, kSqrt, kSigmoid, kTanh,
    kSwish;  // function.cpp
extern const OperatorDefinition kHardSigmoid, kHardSwish, kGelu, kElu, kLeakyRelu, kMish, kSoftplus, kErf;
// Recurrence, normalization, rearrangement.
extern const OperatorDefinition kGru, kLstm;                    // recurrent.cpp
extern const OperatorDefinition kLayerNorm, kRmsNorm, kLpNorm;  // norm.cpp
extern const OperatorDefinition kResize;                        // resize.cpp
extern const OperatorDefinition kDepthToSpace, kSpaceToDepth, kExpand, kInsertZeros,
    kReverseSequence;                                 // rearrange.cpp
extern const OperatorDefinition kGather, kScatterNd;  // gather.cpp
extern const OperatorDefinition kTransposedConv;      // transposed_conv.cpp
extern const OperatorDefinition kStreamingCache;      // streaming_cache.cpp
// Any scale and zero point.
extern const OperatorDefinition kAddTflite, kSubTflite, kMulTflite, kMaxTflite, kMinTflite,
    kSquaredDifference;  // affine_binary.cpp
extern const OperatorDefinition kReluTflite, kRequantizeTflite, kSigmoidTflite, kTanhTflite, kLeakyReluTflite,
    kHardSwishTflite;  // affine_unary.cpp
extern const OperatorDefinition kClipTflite, kQuantizeTflite, kDequantizeTflite;
extern const OperatorDefinition kSoftmaxTflite;                      // affine_softmax.cpp
extern const OperatorDefinition kAveragePoolTflite, kMaxPoolTflite;  // pool.cpp
extern const OperatorDefinition kReduceMeanTflite, kReduceSumTflite, kReduceMaxTflite,
    kReduceMinTflite;                                                          // reduce.cpp
extern const OperatorDefinition kConvHybrid, kFullyConnectedHybrid;            // hybrid.cpp
extern const OperatorDefinition kLstmStatefulTflite, kLstmStatefulShifts;      // sequence_lstm.cpp
extern const OperatorDefinition kSvdf, kSvdfShifts;                            // svdf.cpp
extern const OperatorDefinition kConvMultipliers, kFullyConnectedMultipliers;  // conv.cpp
extern const OperatorDefinition kReadVariable, kAssignVariable;                // variable.cpp

}  // namespace runnel::ops
