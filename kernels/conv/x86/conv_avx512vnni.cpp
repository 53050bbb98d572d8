#include "kernels/conv/conv_vector.h"
#include "kernels/conv/x86/conv_vnni.h"

namespace runnel::kernels {
namespace {

constexpr VectorConv kConv = vector_conv<Avx512, Unsigned, Signed>();

}  // namespace

const VectorConv& vector_conv_avx512vnni() noexcept { return kConv; }

}  // namespace runnel::kernels
