// Pairs of tensors, functions of one value, products of matrices, softmax, means.
#include <algorithm>
#include <limits>

#include "base/number_text.h"
#include "compiler/import/pte/kernels.h"

namespace runnel::compiler::pte_source {
namespace {

Status expect_float(const Call& call, const Operand& x) {
  if (x.dtype == DType::float32) return {};
  return call.fail(Code::unsupported) << "of " << name_of(x.dtype) << ", expected float32";
}

Result<Operand> widened(Builder& builder, const Call& call, const Operand& x, std::size_t rank) {
  if (x.dims.size() >= rank) return x;
  Dims dims(rank - x.dims.size(), 1);
  dims.insert(dims.end(), x.dims.begin(), x.dims.end());
  return builder.reshaped(call, x, dims);
}

OpCode code_of(const Call& call) {
  constexpr std::pair<std::string_view, OpCode> kCodes[] = {
      {"aten::add.out", OpCode::add},          {"aten::sub.out", OpCode::sub},
      {"aten::mul.out", OpCode::mul},          {"aten::div.out", OpCode::div},
      {"aten::maximum.out", OpCode::max},      {"aten::minimum.out", OpCode::min},
      {"aten::relu.out", OpCode::relu},        {"aten::sigmoid.out", OpCode::sigmoid},
      {"aten::tanh.out", OpCode::tanh},        {"aten::exp.out", OpCode::exp},
      {"aten::log.out", OpCode::log},          {"aten::sqrt.out", OpCode::sqrt},
      {"aten::abs.out", OpCode::abs},          {"aten::neg.out", OpCode::neg},
      {"aten::_softmax.out", OpCode::softmax}, {"aten::_log_softmax.out", OpCode::log_softmax}};
  const auto* const found =
      std::ranges::find(kCodes, std::string_view(call.name), &std::pair<std::string_view, OpCode>::first);
  return found == std::end(kCodes) ? OpCode::none : found->second;
}

}  // namespace

Operand scalar(float value) { return constant_operand(floats({1}, std::span(&value, 1))); }

Result<Operand> binary(Builder& builder, const Call& call, OpCode code, const Operand& a, const Operand& b) {
  if (a.dtype != b.dtype || (a.dtype != DType::float32 && (a.dtype != DType::int32 || code == OpCode::div))) {
    return call.fail(Code::unsupported) << "of " << name_of(a.dtype) << " and " << name_of(b.dtype)
                                        << ", expected float32 or int32 on both sides";
  }
  const std::size_t rank = std::max(a.dims.size(), b.dims.size());
  RUNNEL_ASSIGN(const Operand left, widened(builder, call, a, rank));
  RUNNEL_ASSIGN(const Operand right, widened(builder, call, b, rank));
  const Perm perm = left.constant == nullptr    ? left.perm
                    : right.constant == nullptr ? right.perm
                                                : identity_perm(rank);
  RUNNEL_ASSIGN(const TensorId x, builder.stored(call, left, perm));
  RUNNEL_ASSIGN(const TensorId y, builder.stored(call, right, perm));
  RUNNEL_ASSIGN(const TensorId out, builder.emit(call, code, {x, y}, BinaryOptions{}, {}));
  return builder.computed(out, perm);
}

Status convert_binary(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand a, builder.operand(call, 0));
  RUNNEL_ASSIGN(Operand b, builder.operand(call, 1));
  if (call.args.size() == 5) {
    RUNNEL_ASSIGN(const double alpha, builder.number(call, 2));
    if (alpha != 1) {
      RUNNEL_TRY(expect_float(call, b));
      RUNNEL_ASSIGN(b, binary(builder, call, OpCode::mul, b, scalar(static_cast<float>(alpha))));
    }
  }
  RUNNEL_ASSIGN(const Operand y, binary(builder, call, code_of(call), a, b));
  return builder.result(call, y);
}

Status convert_function(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_TRY(expect_float(call, x));
  const Perm perm = x.constant == nullptr ? x.perm : identity_perm(x.dims.size());
  RUNNEL_ASSIGN(const TensorId id, builder.stored(call, x, perm));
  RUNNEL_ASSIGN(const TensorId y, builder.emit(call, code_of(call), {id}, {}, {}));
  return builder.result(call, builder.computed(y, perm));
}

Status convert_clip(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_TRY(expect_float(call, x));
  ClipOptions options;
  options.low_value = std::numeric_limits<float>::lowest();
  options.high_value = std::numeric_limits<float>::max();
  if (!builder.is_none(call, 1)) {
    RUNNEL_ASSIGN(const double low, builder.number(call, 1));
    options.low_value = std::max(options.low_value, static_cast<float>(low));
  }
  if (!builder.is_none(call, 2)) {
    RUNNEL_ASSIGN(const double high, builder.number(call, 2));
    options.high_value = std::min(options.high_value, static_cast<float>(high));
  }
  // Where the limits cross, ExecuTorch gives the higher one, as min(max(x, low), high) does.
  options.low_value = std::min(options.low_value, options.high_value);
  const Perm perm = x.constant == nullptr ? x.perm : identity_perm(x.dims.size());
  RUNNEL_ASSIGN(const TensorId id, builder.stored(call, x, perm));
  RUNNEL_ASSIGN(const TensorId y, builder.emit(call, OpCode::clip, {id}, options, {}));
  return builder.result(call, builder.computed(y, perm));
}

Status convert_softmax(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_TRY(expect_float(call, x));
  RUNNEL_ASSIGN(const int axis, builder.axis(call, 1, x.dims.size()));
  const Perm perm = x.constant == nullptr ? x.perm : identity_perm(x.dims.size());
  RUNNEL_ASSIGN(const TensorId id, builder.stored(call, x, perm));
  const AxisOptions options{inverse(perm)[static_cast<std::size_t>(axis)]};
  RUNNEL_ASSIGN(const TensorId y, builder.emit(call, code_of(call), {id}, options, {}));
  return builder.result(call, builder.computed(y, perm));
}

Status convert_mean(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_TRY(expect_float(call, x));
  RUNNEL_ASSIGN(const bool keep, builder.boolean(call, 2));
  const auto rank = static_cast<std::int64_t>(x.dims.size());
  std::vector<bool> gone(x.dims.size(), false);
  std::vector<std::int64_t> axes;
  if (!builder.is_none(call, 1)) {
    RUNNEL_ASSIGN(axes, builder.integers(call, 1));
  }
  for (const std::int64_t axis : axes) {
    if (axis < -rank || axis >= rank)
      return call.fail() << "axis " << axis << " of a tensor of rank " << rank;
    gone[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  if (axes.empty()) gone.assign(x.dims.size(), true);  // over everything
  if (gone.empty()) return call.fail(Code::unsupported) << "over a single number";
  const Perm perm = x.constant == nullptr ? x.perm : identity_perm(x.dims.size());
  ReduceOptions options;
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (gone[static_cast<std::size_t>(perm[i])]) options.axes.push_back(static_cast<std::uint8_t>(i));
  }
  RUNNEL_ASSIGN(const TensorId id, builder.stored(call, x, perm));
  RUNNEL_ASSIGN(const TensorId y, builder.emit(call, OpCode::reduce_mean, {id}, options, {}));
  Operand mean = builder.computed(y, perm);
  if (keep) return builder.result(call, mean);
  Dims kept;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (!gone[i]) kept.push_back(x.dims[i]);
  }
  RUNNEL_ASSIGN(mean, builder.reshaped(call, mean, kept));
  return builder.result(call, mean);
}

// a [.., M, K] times b [.., K, N], plus a summand: with a constant b of rank 2 a fully connected layer.
Status convert_product(Builder& builder, const Call& call) {
  const bool sum = call.name == "aten::addmm.out";
  const std::size_t first = sum ? 1 : 0, rank = call.name == "aten::bmm.out" ? 3 : 2;
  RUNNEL_ASSIGN(const Operand a, builder.operand(call, first));
  RUNNEL_ASSIGN(const Operand b, builder.operand(call, first + 1));
  RUNNEL_TRY(expect_float(call, a));
  RUNNEL_TRY(expect_float(call, b));
  if (a.dims.size() != rank || b.dims.size() != rank || a.dims[rank - 1] != b.dims[rank - 2]) {
    return call.fail() << "matrices of rank " << a.dims.size() << " and " << b.dims.size()
                       << " that do not fit, expected rank " << rank;
  }
  if (sum) {
    RUNNEL_ASSIGN(const double beta, builder.number(call, 3));
    RUNNEL_ASSIGN(const double alpha, builder.number(call, 4));
    if (beta != 1 || alpha != 1)
      return call.fail(Code::unsupported) << "factors of " << shortest_text(beta).view() << " and "
                                          << shortest_text(alpha).view() << ", expected 1";
  }
  RUNNEL_ASSIGN(const TensorId x, builder.plain(call, a));
  const Perm perm = identity_perm(rank);
  std::vector<TensorId> inputs{x};
  bool added = !sum;
  if (b.constant != nullptr && rank == 2) {
    RUNNEL_ASSIGN(const TensorId weights, builder.stored(call, b, {1, 0}));
    inputs.push_back(weights);
    if (sum && !builder.is_none(call, 0)) {
      RUNNEL_ASSIGN(const Operand bias, builder.operand(call, 0));
      if (bias.constant != nullptr && bias.dtype == DType::float32 && bias.dims == Dims{b.dims[1]}) {
        RUNNEL_ASSIGN(const TensorId id, builder.plain(call, bias));
        inputs.push_back(id);
        added = true;
      }
    }
  } else {
    RUNNEL_ASSIGN(const TensorId y, builder.plain(call, b));
    inputs.push_back(y);
  }
  const bool dense = b.constant != nullptr && rank == 2;
  RUNNEL_ASSIGN(const TensorId product,
                builder.emit(call, dense ? OpCode::fully_connected : OpCode::matmul, inputs,
                             dense ? Options(FullyConnectedOptions{}) : Options(), {}));
  Operand y = builder.computed(product, perm);
  if (!added) {
    RUNNEL_ASSIGN(const Operand summand, builder.operand(call, 0));
    RUNNEL_ASSIGN(y, binary(builder, call, OpCode::add, y, summand));
  }
  return builder.result(call, y);
}

}  // namespace runnel::compiler::pte_source
