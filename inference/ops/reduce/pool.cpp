// Average and maximum pooling over windows, or over everything (global).
#include "kernels/pool.h"

#include <algorithm>

#include "inference/ops/affine.h"
#include "inference/ops/definitions.h"
#include "inference/ops/support.h"
#include "streaming/validity.h"

namespace runnel::ops {
namespace {

struct BoundPool : BoundOperator {
  kernels::PoolSpec spec;
  Operand x;
  std::int32_t x_tensor = -1, y = -1;
  Isa isa = Isa::generic;
  std::int32_t batch = 1;
  std::size_t x_bytes = 0, y_bytes = 0;  // of one batch entry
  std::int64_t back_frames = 0;          // of the window before the block
  bool streamed = false, time_is_height = false;
};

void run_pool(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundPool&>(self);
  const kernels::PoolSpec& spec = op.spec;
  kernels::PoolRange data{0, spec.in_height, 0, spec.in_width};
  if (op.streamed) {
    const FrameIndex& index = context.index[op.x_tensor];
    const std::int64_t start = index.first - op.back_frames;  // logical index of the window's first frame
    const std::int64_t frames = op.time_is_height ? spec.in_height : spec.in_width;
    const streaming::Range is_data = streaming::data_range(start, index.length, frames);
    (op.time_is_height ? data.first_row : data.first_column) = static_cast<std::int32_t>(is_data.from);
    (op.time_is_height ? data.last_row : data.last_column) = static_cast<std::int32_t>(is_data.to);
  }
  const std::byte* x = op.x.at(context);
  std::byte* y = context.data[op.y];
  for (std::int32_t b = 0; b < op.batch; ++b, x += op.x_bytes, y += op.y_bytes)
    kernels::pool(spec, data, x, y, op.isa);
}

struct Sizes {
  std::int32_t height, width, kernel_height, kernel_width, stride_height, stride_width;
};

// One-dimensional tensors [.., time, channels] have height 1; a global pool over rank 3 covers the width
// only.
Sizes sizes_of(const fb::PoolOptions& o, const Shape& x) noexcept {
  const std::int32_t height = x.rank > 3 ? x[x.rank - 3] : 1, width = x[x.rank - 2];
  if (o.global()) return {height, width, height, width, 1, 1};
  return {height, width, o.kernel_height(), o.kernel_width(), o.stride_height(), o.stride_width()};
}

// Any scale and zero point, the same on both sides.
Status check_same_scale(const TensorView& x, const TensorView& y) noexcept {
  RUNNEL_TRY(check_affine(x, false, "the input"));
  RUNNEL_TRY(check_affine(y, false, "the output"));
  if (x.scales[0] == y.scales[0] && x.zero_point() == y.zero_point()) return {};
  return Status(Code::unsupported) << "input and output of different scales or zero points";
}

Status check_pool(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  RUNNEL_ASSIGN(const fb::PoolOptions* const o, options<fb::PoolOptions>(op));
  const TensorView x = input(model, op, 0), y = output(model, op);
  if (arithmetic_of(op) == Arithmetic::tflite) {
    RUNNEL_TRY(check_same_scale(x, y));
  } else {
    RUNNEL_TRY(check_number(x, "the input"));
    RUNNEL_TRY(check_number(y, "the output"));
  }
  if (x.dtype != y.dtype)
    return Status(Code::unsupported) << "input " << name_of(x.dtype) << ", output " << name_of(y.dtype)
                                     << ", expected one type";
  if (x.shape.rank != 3 && x.shape.rank != 4)
    return Status(Code::unsupported) << "input rank " << x.shape.rank << ", expected 3 or 4";
  constexpr std::int32_t kMax = 1 << 16;
  for (const std::int32_t v : {o->kernel_height(), o->kernel_width(), o->stride_height(), o->stride_width(),
                               o->dilation_height(), o->dilation_width()}) {
    if (v < 1 || v > kMax)
      return Status(Code::invalid_data)
             << "a kernel, stride or dilation of " << v << ", expected 1 to " << kMax;
  }
  for (const std::int32_t v : {o->pad_top(), o->pad_left(), o->pad_bottom(), o->pad_right()}) {
    if (v < 0 || v > kMax)
      return Status(Code::invalid_data) << "padding of " << v << ", expected 0 to " << kMax;
  }
  const Sizes s = sizes_of(*o, x.shape);
  const auto size = [](std::int64_t in, std::int64_t pads, std::int64_t kernel, std::int64_t dilation,
                       std::int64_t stride) {
    const std::int64_t room = in + pads - ((kernel - 1) * dilation + 1);
    return static_cast<std::int32_t>(room < 0 ? 0 : room / stride + 1);
  };
  const bool g = o->global();
  Shape expected = x.shape;
  if (x.shape.rank > 3) {
    expected[x.shape.rank - 3] = size(s.height, g ? 0 : o->pad_top() + o->pad_bottom(), s.kernel_height,
                                      g ? 1 : o->dilation_height(), s.stride_height);
  }
  expected[x.shape.rank - 2] = size(s.width, g ? 0 : o->pad_left() + o->pad_right(), s.kernel_width,
                                    g ? 1 : o->dilation_width(), s.stride_width);
  return expect_shape(y.shape, expected, "the output");
}

Status stream_pool(const Model& model, const fb::Operator& op, TimeAxes axes,
                   streaming::NodeRule& rule) noexcept {
  const fb::PoolOptions& o = *op.options_as_PoolOptions();
  const int rank = input(model, op, 0).shape.rank, axis = axes[0];
  const bool width = axis == rank - 2, height = rank > 3 && axis == rank - 3;
  if (!width && !height)
    return Status(Code::unsupported) << "pools with time on axis " << axis << " of " << rank;
  if (o.global()) {
    return Status(Code::unsupported) << "pools over the whole recording; give it a window of frames (import "
                                        "--pool-window N), or run the model in usage `window`";
  }
  rule.kind = streaming::Kind::window;
  rule.padding = streaming::Padding::skipped;
  rule.kernel = width ? o.kernel_width() : o.kernel_height();
  rule.stride = width ? o.stride_width() : o.stride_height();
  rule.dilation = width ? o.dilation_width() : o.dilation_height();
  rule.left = width ? o.pad_left() : o.pad_top();
  rule.right = width ? o.pad_right() : o.pad_bottom();
  axes.back() = static_cast<std::int8_t>(axis);
  return {};
}

template <kernels::PoolOp kOp>
Result<const BoundOperator*> prepare_pool(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const fb::PoolOptions& o = *op.options_as_PoolOptions();
  const std::int32_t x_tensor = input_index(op, 0);
  const TensorView in = input(context.model(), op, 0), out = output(context.model(), op);
  const Shape x = context.shape(x_tensor), y = context.shape(output_index(op));
  const Sizes s = sizes_of(o, x);
  RUNNEL_ASSIGN(BoundPool* const bound, allocate<BoundPool>(context, run_pool));
  kernels::PoolSpec& spec = bound->spec;
  spec.op = kOp;
  spec.dtype = in.dtype;
  spec.in_height = s.height;
  spec.in_width = s.width;
  spec.channels = x[x.rank - 1];
  spec.out_height = y.rank > 3 ? y[y.rank - 3] : 1;
  spec.out_width = y[y.rank - 2];
  spec.kernel_height = s.kernel_height;
  spec.kernel_width = s.kernel_width;
  spec.stride_height = s.stride_height;
  spec.stride_width = s.stride_width;
  spec.dilation_height = o.global() ? 1 : o.dilation_height();
  spec.dilation_width = o.global() ? 1 : o.dilation_width();
  spec.pad_top = o.global() ? 0 : o.pad_top();
  spec.pad_left = o.global() ? 0 : o.pad_left();
  spec.x_exponent = in.exponent();
  spec.y_exponent = out.exponent();
  spec.rounding = rounding_of(op);
  spec.count_padding = o.count_padding();
  spec.integer_mean = arithmetic_of(op) == Arithmetic::tflite;
  const TimeWindow window = context.window(0);
  const int axis = context.time_axis(x_tensor);
  if (axis >= 0) {
    bound->time_is_height = axis != x.rank - 2;
    (bound->time_is_height ? spec.in_height : spec.in_width) = static_cast<std::int32_t>(window.frames);
    (bound->time_is_height ? spec.pad_top : spec.pad_left) = static_cast<std::int32_t>(window.pad);
    // Whole clips have their padding outside the data anyway; streamed windows hold it.
    bound->streamed = context.streamed();
    if (bound->streamed) context.use_frame_index();
  }
  bound->back_frames = window.back_frames;
  bound->x = operand(context, 0);
  bound->x_tensor = x_tensor;
  bound->y = output_index(op);
  bound->isa = context.isa();
  context.chose_kernel({vector_level(context.isa()), "pool"});
  const int leading = std::max(0, x.rank - 3);
  bound->batch = static_cast<std::int32_t>(x.rank > 3 ? x.product(0, leading) : x[0]);
  bound->x_bytes = static_cast<std::size_t>(x.product(x.rank > 3 ? leading : 1, x.rank)) * size_of(in.dtype);
  bound->y_bytes = static_cast<std::size_t>(y.product(y.rank > 3 ? leading : 1, y.rank)) * size_of(in.dtype);
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kAveragePool{OpCode::average_pool, Arithmetic::espdl,
                                      "average_pool",       check_pool,
                                      stream_pool,          prepare_pool<kernels::PoolOp::average>};
const OperatorDefinition kMaxPool{OpCode::max_pool, Arithmetic::espdl, "max_pool",
                                  check_pool,       stream_pool,       prepare_pool<kernels::PoolOp::max>};
// Any scale and zero point, padding not counted.
const OperatorDefinition kAveragePoolTflite{OpCode::average_pool, Arithmetic::tflite,
                                            "average_pool",       check_pool,
                                            stream_pool,          prepare_pool<kernels::PoolOp::average>};
const OperatorDefinition kMaxPoolTflite{OpCode::max_pool, Arithmetic::tflite,
                                        "max_pool",       check_pool,
                                        stream_pool,      prepare_pool<kernels::PoolOp::max>};

}  // namespace runnel::ops
