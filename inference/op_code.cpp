#include "inference/op_code.h"

#include "inference/model/model_generated.h"

namespace runnel {
namespace {

template <class A, class B>
constexpr bool same(A a, B b) {
  return static_cast<int>(a) == static_cast<int>(b);
}

static_assert(same(OpCode::none, fb::OpCode::none));
static_assert(same(OpCode::conv, fb::OpCode::conv));
static_assert(same(OpCode::fully_connected, fb::OpCode::fully_connected));
static_assert(same(OpCode::matmul, fb::OpCode::matmul));
static_assert(same(OpCode::add, fb::OpCode::add));
static_assert(same(OpCode::sub, fb::OpCode::sub));
static_assert(same(OpCode::mul, fb::OpCode::mul));
static_assert(same(OpCode::div, fb::OpCode::div));
static_assert(same(OpCode::max, fb::OpCode::max));
static_assert(same(OpCode::min, fb::OpCode::min));
static_assert(same(OpCode::average_pool, fb::OpCode::average_pool));
static_assert(same(OpCode::max_pool, fb::OpCode::max_pool));
static_assert(same(OpCode::lut, fb::OpCode::lut));
static_assert(same(OpCode::relu, fb::OpCode::relu));
static_assert(same(OpCode::clip, fb::OpCode::clip));
static_assert(same(OpCode::prelu, fb::OpCode::prelu));
static_assert(same(OpCode::requantize, fb::OpCode::requantize));
static_assert(same(OpCode::quantize, fb::OpCode::quantize));
static_assert(same(OpCode::dequantize, fb::OpCode::dequantize));
static_assert(same(OpCode::reshape, fb::OpCode::reshape));
static_assert(same(OpCode::transpose, fb::OpCode::transpose));
static_assert(same(OpCode::slice, fb::OpCode::slice));
static_assert(same(OpCode::concat, fb::OpCode::concat));
static_assert(same(OpCode::split, fb::OpCode::split));
static_assert(same(OpCode::pad, fb::OpCode::pad));
static_assert(same(OpCode::reduce_mean, fb::OpCode::reduce_mean));
static_assert(same(OpCode::reduce_sum, fb::OpCode::reduce_sum));
static_assert(same(OpCode::reduce_max, fb::OpCode::reduce_max));
static_assert(same(OpCode::reduce_min, fb::OpCode::reduce_min));
static_assert(same(OpCode::softmax, fb::OpCode::softmax));
static_assert(same(OpCode::log_softmax, fb::OpCode::log_softmax));
static_assert(same(OpCode::mod, fb::OpCode::mod));
static_assert(same(OpCode::pow, fb::OpCode::pow));
static_assert(same(OpCode::abs, fb::OpCode::abs));
static_assert(same(OpCode::neg, fb::OpCode::neg));
static_assert(same(OpCode::exp, fb::OpCode::exp));
static_assert(same(OpCode::log, fb::OpCode::log));
static_assert(same(OpCode::sqrt, fb::OpCode::sqrt));
static_assert(same(OpCode::sigmoid, fb::OpCode::sigmoid));
static_assert(same(OpCode::tanh, fb::OpCode::tanh));
static_assert(same(OpCode::swish, fb::OpCode::swish));
static_assert(same(OpCode::hard_sigmoid, fb::OpCode::hard_sigmoid));
static_assert(same(OpCode::hard_swish, fb::OpCode::hard_swish));
static_assert(same(OpCode::gelu, fb::OpCode::gelu));
static_assert(same(OpCode::elu, fb::OpCode::elu));
static_assert(same(OpCode::leaky_relu, fb::OpCode::leaky_relu));
static_assert(same(OpCode::mish, fb::OpCode::mish));
static_assert(same(OpCode::softplus, fb::OpCode::softplus));
static_assert(same(OpCode::erf, fb::OpCode::erf));
static_assert(same(OpCode::equal, fb::OpCode::equal));
static_assert(same(OpCode::greater, fb::OpCode::greater));
static_assert(same(OpCode::greater_or_equal, fb::OpCode::greater_or_equal));
static_assert(same(OpCode::less, fb::OpCode::less));
static_assert(same(OpCode::less_or_equal, fb::OpCode::less_or_equal));
static_assert(same(OpCode::logical_and, fb::OpCode::logical_and));
static_assert(same(OpCode::logical_or, fb::OpCode::logical_or));
static_assert(same(OpCode::logical_xor, fb::OpCode::logical_xor));
static_assert(same(OpCode::logical_not, fb::OpCode::logical_not));
static_assert(same(OpCode::where, fb::OpCode::where));
static_assert(same(OpCode::cast, fb::OpCode::cast));
static_assert(same(OpCode::arg_max, fb::OpCode::arg_max));
static_assert(same(OpCode::top_k, fb::OpCode::top_k));
static_assert(same(OpCode::reduce_l1, fb::OpCode::reduce_l1));
static_assert(same(OpCode::reduce_l2, fb::OpCode::reduce_l2));
static_assert(same(OpCode::reduce_prod, fb::OpCode::reduce_prod));
static_assert(same(OpCode::reduce_log_sum, fb::OpCode::reduce_log_sum));
static_assert(same(OpCode::reduce_log_sum_exp, fb::OpCode::reduce_log_sum_exp));
static_assert(same(OpCode::reduce_sum_square, fb::OpCode::reduce_sum_square));
static_assert(same(OpCode::gru, fb::OpCode::gru));
static_assert(same(OpCode::lstm, fb::OpCode::lstm));
static_assert(same(OpCode::layer_norm, fb::OpCode::layer_norm));
static_assert(same(OpCode::rms_norm, fb::OpCode::rms_norm));
static_assert(same(OpCode::lp_norm, fb::OpCode::lp_norm));
static_assert(same(OpCode::resize, fb::OpCode::resize));
static_assert(same(OpCode::depth_to_space, fb::OpCode::depth_to_space));
static_assert(same(OpCode::space_to_depth, fb::OpCode::space_to_depth));
static_assert(same(OpCode::gather, fb::OpCode::gather));
static_assert(same(OpCode::scatter_nd, fb::OpCode::scatter_nd));
static_assert(same(OpCode::reverse_sequence, fb::OpCode::reverse_sequence));
static_assert(same(OpCode::insert_zeros, fb::OpCode::insert_zeros));
static_assert(same(OpCode::transposed_conv, fb::OpCode::transposed_conv));
static_assert(same(OpCode::expand, fb::OpCode::expand));
static_assert(same(OpCode::streaming_cache, fb::OpCode::streaming_cache));
static_assert(same(OpCode::custom, fb::OpCode::custom));
static_assert(same(OpCode::svdf, fb::OpCode::svdf));
static_assert(same(OpCode::delegate, fb::OpCode::delegate));
static_assert(same(OpCode::read_variable, fb::OpCode::read_variable));
static_assert(same(OpCode::assign_variable, fb::OpCode::assign_variable));
static_assert(same(OpCode::attention, fb::OpCode::attention));
static_assert(same(OpCode::squared_difference, fb::OpCode::squared_difference));
static_assert(static_cast<int>(OpCode::squared_difference) == static_cast<int>(fb::OpCode::MAX));

static_assert(same(Activation::none, fb::Activation::none));
static_assert(same(Activation::relu, fb::Activation::relu));
static_assert(same(Activation::relu6, fb::Activation::relu6));
static_assert(same(Activation::relu_n1_to_1, fb::Activation::relu_n1_to_1));
static_assert(static_cast<int>(Activation::relu_n1_to_1) == static_cast<int>(fb::Activation::MAX));

static_assert(same(PadMode::zero, fb::PadMode::zero));
static_assert(same(PadMode::reflect, fb::PadMode::reflect));
static_assert(same(PadMode::edge, fb::PadMode::edge));
static_assert(static_cast<int>(PadMode::edge) == static_cast<int>(fb::PadMode::MAX));

static_assert(same(Direction::forward, fb::Direction::forward));
static_assert(same(Direction::reverse, fb::Direction::reverse));
static_assert(same(Direction::bidirectional, fb::Direction::bidirectional));
static_assert(static_cast<int>(Direction::bidirectional) == static_cast<int>(fb::Direction::MAX));

static_assert(same(ResizeMode::nearest, fb::ResizeMode::nearest));
static_assert(same(ResizeMode::linear, fb::ResizeMode::linear));
static_assert(static_cast<int>(ResizeMode::linear) == static_cast<int>(fb::ResizeMode::MAX));

static_assert(same(ResizeCoordinates::asymmetric, fb::ResizeCoordinates::asymmetric));
static_assert(same(ResizeCoordinates::half_pixel, fb::ResizeCoordinates::half_pixel));
static_assert(same(ResizeCoordinates::align_corners, fb::ResizeCoordinates::align_corners));
static_assert(static_cast<int>(ResizeCoordinates::align_corners) ==
              static_cast<int>(fb::ResizeCoordinates::MAX));

static_assert(same(ScatterReduction::none, fb::ScatterReduction::none));
static_assert(same(ScatterReduction::add, fb::ScatterReduction::add));
static_assert(same(ScatterReduction::mul, fb::ScatterReduction::mul));
static_assert(same(ScatterReduction::max, fb::ScatterReduction::max));
static_assert(same(ScatterReduction::min, fb::ScatterReduction::min));
static_assert(static_cast<int>(ScatterReduction::min) == static_cast<int>(fb::ScatterReduction::MAX));

static_assert(same(UsageKind::stream, fb::Usage::stream));
static_assert(same(UsageKind::step, fb::Usage::step));
static_assert(same(UsageKind::window, fb::Usage::window));
static_assert(same(UsageKind::whole, fb::Usage::whole));
static_assert(static_cast<int>(UsageKind::whole) == static_cast<int>(fb::Usage::MAX));
static_assert(kOpCodes == static_cast<int>(fb::OpCode::MAX) + 1);
static_assert(kScatterReductions == static_cast<int>(fb::ScatterReduction::MAX) + 1);

}  // namespace

const char* name_of(OpCode code) noexcept { return fb::EnumNameOpCode(static_cast<fb::OpCode>(code)); }
namespace {

bool is_reduction(OpCode code) noexcept {
  return (code >= OpCode::reduce_mean && code <= OpCode::reduce_min) ||
         (code >= OpCode::reduce_l1 && code <= OpCode::reduce_sum_square);
}

}  // namespace

const char* name_of(OpCode code, Arithmetic arithmetic) noexcept {
  const bool product = code == OpCode::conv || code == OpCode::fully_connected;
  switch (static_cast<int>(arithmetic)) {
    case 1:
      return code == OpCode::squared_difference || code == OpCode::svdf ? "tflite" : "espdl";
    case 2:
      if (code == OpCode::svdf) return "shifts";
      if (code == OpCode::mod) return "floored";
      return is_reduction(code) ? "windows" : "exact";
    case 3:
      if (code == OpCode::lstm) return "stateful_tflite";
      return product ? "hybrid" : "tflite";
    case 4:
      if (code == OpCode::lstm) return "stateful_shifts";
      return product ? "multipliers" : "tflite_windows";
    case 5:
      return "pool_windows";
    case 6:
      return "tflite_pool_windows";
    default:
      return "";
  }
}
const char* name_of(Activation activation) noexcept {
  return fb::EnumNameActivation(static_cast<fb::Activation>(activation));
}
const char* name_of(Direction direction) noexcept {
  return fb::EnumNameDirection(static_cast<fb::Direction>(direction));
}
const char* name_of(ResizeCoordinates coordinates) noexcept {
  return fb::EnumNameResizeCoordinates(static_cast<fb::ResizeCoordinates>(coordinates));
}
const char* name_of(ScatterReduction reduction) noexcept {
  return fb::EnumNameScatterReduction(static_cast<fb::ScatterReduction>(reduction));
}

}  // namespace runnel
