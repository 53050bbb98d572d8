// Reading and writing by index: gather picks slices along an axis, scatter_nd puts updates into a copy.
// Indices are int32 or int64; negative ones count from the end. Constant indices are checked when the model
// is opened; computed ones are clamped (gather) or skipped (scatter_nd) when they lie outside.
#include <algorithm>
#include <cstring>

#include "inference/ops/definitions.h"
#include "inference/ops/rescale.h"
#include "inference/ops/support.h"

namespace runnel::ops {
namespace {

std::int64_t index_at(DType type, const std::byte* indices, std::int64_t i) noexcept {
  return type == DType::int64 ? reinterpret_cast<const std::int64_t*>(indices)[i]
                              : std::int64_t{reinterpret_cast<const std::int32_t*>(indices)[i]};
}
bool is_index(DType type) noexcept { return type == DType::int32 || type == DType::int64; }

// ---- gather: y = x[.., indices, ..]
// --------------------------------------------------------------------------------------

struct BoundGather : BoundOperator {
  Operand x, indices;
  std::int32_t y = -1;
  DType index_type = DType::int64;
  std::int64_t outer = 1, length = 1, count = 1;  // x[outer][length][bytes], y[outer][count][bytes]
  std::size_t bytes = 0, elements = 0;
  Rescale rescale;
};

void run_gather(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundGather&>(self);
  const std::byte* x = op.x.at(context);
  const std::byte* indices = op.indices.at(context);
  std::byte* y = context.data[op.y];
  std::byte* to = y;
  for (std::int64_t row = 0; row < op.outer; ++row, x += static_cast<std::size_t>(op.length) * op.bytes) {
    for (std::int64_t i = 0; i < op.count; ++i, to += op.bytes) {
      std::int64_t index = index_at(op.index_type, indices, i);
      if (index < 0) index += op.length;
      std::memcpy(to,
                  x + static_cast<std::size_t>(std::clamp<std::int64_t>(index, 0, op.length - 1)) * op.bytes,
                  op.bytes);
    }
  }
  if (op.rescale.needed()) op.rescale(op.elements, y, y);
}

Status check_gather(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, 2));
  RUNNEL_ASSIGN(const fb::AxisOptions* const o, options<fb::AxisOptions>(op));
  const TensorView x = input(model, op, 0), indices = input(model, op, 1), y = output(model, op);
  RUNNEL_TRY(check_moved(x, y));
  if (o->axis() < 0 || o->axis() >= x.shape.rank)
    return Status(Code::invalid_data) << "axis " << o->axis() << ", expected 0 to " << x.shape.rank - 1;
  if (!is_index(indices.dtype))
    return Status(Code::unsupported) << "indices of " << name_of(indices.dtype)
                                     << ", expected int32 or int64";
  Shape expected;
  if (x.shape.rank - 1 + indices.shape.rank > kMaxRank)
    return Status(Code::unsupported) << "a result of more than " << kMaxRank << " axes";
  for (int i = 0; i < o->axis(); ++i) expected[expected.rank++] = x.shape[i];
  for (int i = 0; i < indices.shape.rank; ++i) expected[expected.rank++] = indices.shape[i];
  for (int i = o->axis() + 1; i < x.shape.rank; ++i) expected[expected.rank++] = x.shape[i];
  RUNNEL_TRY(expect_shape(y.shape, expected, "the output"));
  const std::int64_t length = x.shape[o->axis()];
  for (std::int64_t i = 0; indices.constant && i < indices.shape.elements(); ++i) {
    const std::int64_t index = index_at(indices.dtype, indices.data.data(), i);
    if (index < -length || index >= length)
      return Status(Code::invalid_data)
             << "index " << index << ", expected " << -length << " to " << length - 1;
  }
  return {};
}

// Slices of each frame (constant indices beside time), or a table that frames of indices look into.
Status stream_gather(const Model& model, const fb::Operator& op, TimeAxes axes,
                     streaming::NodeRule&) noexcept {
  const int axis = op.options_as_AxisOptions()->axis(), indices_rank = input(model, op, 1).shape.rank;
  if (axes[0] >= 0 && axes[1] >= 0)
    return Status(Code::unsupported) << "picks from a stream by indices that are a stream";
  if (axes[1] >= 0) {
    axes.back() = static_cast<std::int8_t>(axis + axes[1]);
    return {};
  }
  if (axes[0] == axis)
    return Status(Code::unsupported) << "picks frames of the recording by index; use a slice in time, or run "
                                        "the model in usage `window`";
  axes.back() = static_cast<std::int8_t>(axes[0] < axis ? axes[0] : axes[0] - 1 + indices_rank);
  return {};
}

Result<const BoundOperator*> prepare_gather(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  RUNNEL_ASSIGN(BoundGather* const bound, allocate<BoundGather>(context, run_gather));
  const int axis = op.options_as_AxisOptions()->axis();
  const TensorView from = input(context.model(), op, 0);
  const Shape x = context.shape(input_index(op, 0));
  bound->x = operand(context, 0);
  bound->indices = operand(context, 1);
  bound->y = output_index(op);
  bound->index_type = input(context.model(), op, 1).dtype;
  bound->outer = x.product(0, axis);
  bound->length = x[axis];
  bound->count = context.shape(input_index(op, 1)).elements();
  bound->bytes = static_cast<std::size_t>(x.product(axis + 1, x.rank)) * size_of(from.dtype);
  bound->elements = static_cast<std::size_t>(context.shape(bound->y).elements());
  bound->rescale = rescale(context, from, output(context.model(), op));
  return static_cast<const BoundOperator*>(bound);
}

// ---- scatter_nd: y = x, then y[indices[.., :]] = (or +, *, max, min) updates
// ------------------------------------------------

// Neighbouring elements of the updates that go to neighbouring elements of the output.
struct ScatterRun {
  std::int64_t to = 0, count = 0;
};

struct BoundScatter : BoundOperator {
  std::int32_t x = -1, indices = -1, updates = -1, y = -1;
  DType dtype = DType::none, index_type = DType::int64;
  ScatterReduction reduction = ScatterReduction::none;
  int depth = 0;                        // indices per update
  std::int32_t dims[kMaxRank] = {};     // of the indexed axes
  std::int64_t strides[kMaxRank] = {};  // in elements
  std::int64_t count = 0, slice = 1;    // updates, elements of each
  std::size_t elements = 0;
  const ScatterRun* runs =
      nullptr;  // constant indices and floats that are only moved: in the order of the updates
  std::size_t run_count = 0;
  Rescale rescale;  // x to y
  int update_shift = 0, product_shift = 0;
  kernels::Rounding rounding = kernels::Rounding::half_up;
};

template <class T>
T reduced(const BoundScatter& op, T old, T update) noexcept {
  if constexpr (std::is_integral_v<T> && sizeof(T) <= 2) {
    // Updates come to the output's exponent first; a product is rounded once.
    if (op.reduction == ScatterReduction::mul)
      return kernels::saturate<T>(
          kernels::round_shift(std::int64_t{old} * update, op.product_shift, op.rounding));
    update = kernels::saturate<T>(kernels::round_shift(update, op.update_shift, op.rounding));
    if (op.reduction == ScatterReduction::add) return kernels::saturate<T>(std::int64_t{old} + update);
  } else {
    if (op.reduction == ScatterReduction::mul) return old * update;
    if (op.reduction == ScatterReduction::add) return old + update;
  }
  if (op.reduction == ScatterReduction::max) return std::max(old, update);
  if (op.reduction == ScatterReduction::min) return std::min(old, update);
  return update;
}

// Where update `i` goes, in elements; -1: nowhere.
std::int64_t place_of(const BoundScatter& op, const std::byte* indices, std::int64_t i) noexcept {
  std::int64_t offset = 0;
  for (int k = 0; k < op.depth; ++k) {
    std::int64_t index = index_at(op.index_type, indices, i * op.depth + k);
    if (index < 0) index += op.dims[k];
    if (index < 0 || index >= op.dims[k]) return -1;
    offset += index * op.strides[k];
  }
  return offset;
}

template <class T>
void scatter(const BoundScatter& op, const std::byte* indices, const T* updates, T* y) noexcept {
  for (std::int64_t i = 0; i < op.count; ++i, updates += op.slice) {
    const std::int64_t offset = place_of(op, indices, i);
    for (std::int64_t e = 0; offset >= 0 && e < op.slice; ++e)
      y[offset + e] = reduced(op, y[offset + e], updates[e]);
  }
}

// f(run) for each run of updates. Constant indices have been checked: all are inside.
template <class F>
void each_run(const BoundScatter& op, const std::byte* indices, F f) noexcept {
  ScatterRun run;
  for (std::int64_t i = 0; i < op.count; ++i) {
    const std::int64_t to = place_of(op, indices, i);
    if (run.count > 0 && to == run.to + run.count) {
      run.count += op.slice;
      continue;
    }
    if (run.count > 0) f(run);
    run = {to, op.slice};
  }
  if (run.count > 0) f(run);
}

void run_scatter(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundScatter&>(self);
  std::byte* y = context.data[op.y];
  if (op.rescale.needed())
    op.rescale(op.elements, context.data[op.x], y);
  else if (y != context.data[op.x])
    std::memcpy(y, context.data[op.x], op.elements * size_of(op.dtype));
  const std::byte* indices = context.data[op.indices];
  const std::byte* updates = context.data[op.updates];
  if (op.runs != nullptr) {
    const auto* from = reinterpret_cast<const float*>(updates);
    for (std::size_t i = 0; i < op.run_count; from += op.runs[i++].count) {
      std::memcpy(reinterpret_cast<float*>(y) + op.runs[i].to, from,
                  static_cast<std::size_t>(op.runs[i].count) * sizeof(float));
    }
    return;
  }
  if (op.dtype == DType::int8)
    scatter(op, indices, reinterpret_cast<const std::int8_t*>(updates), reinterpret_cast<std::int8_t*>(y));
  else if (op.dtype == DType::int16)
    scatter(op, indices, reinterpret_cast<const std::int16_t*>(updates), reinterpret_cast<std::int16_t*>(y));
  else
    scatter(op, indices, reinterpret_cast<const float*>(updates), reinterpret_cast<float*>(y));
}

Status check_scatter(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 3, 3));
  RUNNEL_ASSIGN(const fb::ScatterOptions* const o, options<fb::ScatterOptions>(op));
  if (o->reduction() > fb::ScatterReduction::MAX)
    return Status(Code::invalid_data) << "unknown reduction " << static_cast<int>(o->reduction());
  const TensorView x = input(model, op, 0), indices = input(model, op, 1), updates = input(model, op, 2),
                   y = output(model, op);
  RUNNEL_TRY(check_moved(x, y));
  RUNNEL_TRY(check_moved(updates, y));
  if (x.dtype != DType::float32) RUNNEL_TRY(check_quantized(x, "the input"));
  if (!is_index(indices.dtype))
    return Status(Code::unsupported) << "indices of " << name_of(indices.dtype)
                                     << ", expected int32 or int64";
  RUNNEL_TRY(expect_shape(y.shape, x.shape, "the output"));
  const int depth = indices.shape.rank < 1 ? 0 : indices.shape[indices.shape.rank - 1];
  if (depth < 1 || depth > x.shape.rank)
    return Status(Code::invalid_data) << depth << " indices per update for an input of rank " << x.shape.rank;
  Shape expected;
  if (indices.shape.rank - 1 + x.shape.rank - depth > kMaxRank)
    return Status(Code::unsupported) << "updates of more than " << kMaxRank << " axes";
  for (int i = 0; i + 1 < indices.shape.rank; ++i) expected[expected.rank++] = indices.shape[i];
  for (int i = depth; i < x.shape.rank; ++i) expected[expected.rank++] = x.shape[i];
  if (expected.rank == 0) {  // a single element
    if (updates.shape.elements() != 1)
      return Status(Code::invalid_data) << updates.shape.elements() << " updates, expected 1";
  } else {
    RUNNEL_TRY(expect_shape(updates.shape, expected, "the updates"));
  }
  for (std::int64_t i = 0; indices.constant && i < indices.shape.elements(); ++i) {
    const std::int64_t index = index_at(indices.dtype, indices.data.data(), i),
                       length = x.shape[static_cast<int>(i % depth)];
    if (index < -length || index >= length)
      return Status(Code::invalid_data)
             << "index " << index << ", expected " << -length << " to " << length - 1;
  }
  return {};
}

Status stream_scatter(const Model&, const fb::Operator&, TimeAxes, streaming::NodeRule&) noexcept {
  return Status(Code::unsupported) << "writes to frames by index, which needs the whole recording; run the "
                                      "model in usage `window` or `whole`";
}

Result<const BoundOperator*> prepare_scatter(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  RUNNEL_ASSIGN(BoundScatter* const bound, allocate<BoundScatter>(context, run_scatter));
  const TensorView x = input(context.model(), op, 0), indices = input(context.model(), op, 1),
                   updates = input(context.model(), op, 2);
  const TensorView y = output(context.model(), op);
  for (const int position : {0, 2}) context.read_constant(input_index(op, position));
  bound->x = input_index(op, 0);
  bound->indices = input_index(op, 1);
  bound->updates = input_index(op, 2);
  bound->y = output_index(op);
  bound->dtype = x.dtype;
  bound->index_type = indices.dtype;
  bound->reduction = native(op.options_as_ScatterOptions()->reduction());
  bound->depth = indices.shape[indices.shape.rank - 1];
  for (int k = 0; k < bound->depth; ++k) {
    bound->dims[k] = x.shape[k];
    bound->strides[k] = x.shape.product(k + 1, x.shape.rank);
  }
  bound->count = indices.shape.elements() / bound->depth;
  bound->slice = x.shape.product(bound->depth, x.shape.rank);
  bound->elements = static_cast<std::size_t>(x.shape.elements());
  bound->rescale = rescale(context, x, y);
  bound->rounding = rounding_of(op);
  if (indices.constant && x.dtype == DType::float32 && bound->reduction == ScatterReduction::none) {
    each_run(*bound, indices.data.data(), [&](const ScatterRun&) { ++bound->run_count; });
    auto* runs = context.memory().array<ScatterRun>(bound->run_count);
    if (runs == nullptr)
      return Status(Code::out_of_memory) << "no memory for " << bound->run_count << " pieces of updates";
    bound->runs = runs;
    each_run(*bound, indices.data.data(), [&](const ScatterRun& run) { *runs++ = run; });
  } else {
    context.read_constant(input_index(op, 1));
  }
  if (is_integer(x.dtype)) {
    bound->update_shift = y.exponent() - updates.exponent();
    bound->product_shift = -updates.exponent();
  }
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kGather{OpCode::gather, Arithmetic::espdl, "gather",
                                 check_gather,   stream_gather,     prepare_gather};
const OperatorDefinition kScatterNd{OpCode::scatter_nd, Arithmetic::espdl, "scatter_nd",  check_scatter,
                                    stream_scatter,     prepare_scatter,   InPlace::first};

}  // namespace runnel::ops
