// Convolutions for AArch64 with dot products of four bytes.
#include "kernels/conv/conv_vector.h"
#include "kernels/conv/neon/conv_dots.h"
#include "kernels/conv/neon/conv_rows.h"

namespace runnel::kernels {
namespace {

using Vectors = Neon<4, 4>;
constexpr VectorConv kPairs = {dense_kernels<Vectors, Dots>(), dense_kernels<Vectors, Dots>(),
                               depthwise_kernels<Vectors, Rows<true>>(),
                               depthwise_kernels<Vectors, Rows<true>>()};
constexpr VectorConv kSingles = {dense_kernels<Vectors, Dots>(), dense_kernels<Vectors, Dots>(),
                                 depthwise_kernels<Vectors, Rows<true>>(),
                                 depthwise_kernels<Vectors, Rows<false>>()};

}  // namespace

const VectorConv& vector_conv_neondot(bool weights_pair) noexcept { return weights_pair ? kPairs : kSingles; }

}  // namespace runnel::kernels
