// Convolutions for AArch64 with dot products of four bytes.
#include "kernels/conv/conv_vector.h"
#include "kernels/conv/neon/conv_dots.h"

namespace runnel::kernels {
namespace {

using Vectors = Neon<4, 4>;
constexpr VectorConv kDots = vector_conv<Vectors, Dots, Dots>();

}  // namespace

const VectorConv& vector_conv_neondot() noexcept { return kDots; }

}  // namespace runnel::kernels
