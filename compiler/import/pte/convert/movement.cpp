// Kernels that move data, and constants that a program makes.
#include <algorithm>
#include <numeric>

#include "compiler/import/pte/kernels.h"

namespace runnel::compiler::pte_source {
namespace {

std::int64_t count_of(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

// Elements begin, begin + step, .. of one axis.
Result<Operand> part_of(Builder& builder, const Call& call, const Operand& x, int axis, std::int64_t begin,
                        std::int64_t count, std::int64_t step) {
  const Perm perm = x.constant == nullptr ? x.perm : identity_perm(x.dims.size());
  RUNNEL_ASSIGN(const TensorId id, builder.stored(call, x, perm));
  SliceOptions options{std::vector<std::int32_t>(perm.size(), 0), std::vector<std::int32_t>(perm.size(), 1)};
  std::vector<std::int32_t> shape = builder.at(id).shape;
  const auto along = static_cast<std::size_t>(inverse(perm)[static_cast<std::size_t>(axis)]);
  options.begin[along] = static_cast<std::int32_t>(begin);
  options.step[along] = static_cast<std::int32_t>(step);
  shape[along] = static_cast<std::int32_t>(count);
  RUNNEL_ASSIGN(const TensorId y,
                builder.emit(call, OpCode::slice, {id}, options, {shape, DType::none, std::nullopt}));
  return builder.computed(y, perm);
}

template <class T>
void fill(Constant& constant, std::size_t count, double value) {
  const auto number = static_cast<T>(value);
  constant.data.resize(count * sizeof number);
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(constant.data.data() + i * sizeof number, &number, sizeof number);
}

}  // namespace

Status convert_full(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const auto sizes, builder.integers(call, 0));
  RUNNEL_ASSIGN(const double value, builder.number(call, 1));
  RUNNEL_ASSIGN(const Tensor* const out, builder.tensor(call, 2));
  constexpr std::size_t kMax = std::size_t{1} << 20;
  if (!std::ranges::equal(sizes, out->sizes) || out->bytes == 0)
    return call.fail() << "a size that its output does not have";
  if (out->bytes > kMax)
    return call.fail(Code::unsupported) << out->bytes << " bytes of one number, expected at most " << kMax;
  Constant constant{out->dtype, out->sizes, {}};
  const auto count = static_cast<std::size_t>(count_of(out->sizes));
  switch (out->dtype) {
    case DType::float32:
      fill<float>(constant, count, value);
      break;
    case DType::int32:
      if (!(value >= -2147483648.0 && value <= 2147483647.0)) return call.fail() << value << " as int32";
      fill<std::int32_t>(constant, count, value);
      break;
    default:
      return call.fail(Code::unsupported) << "of " << name_of(out->dtype) << ", expected float32 or int32";
  }
  return builder.result(call, constant_operand(std::move(constant)));
}

// The order in memory changes when something asks for it, and not here.
Status convert_copy(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  return builder.result(call, x);
}

Status convert_assign(Builder& builder, const Call& call) {
  RUNNEL_TRY(builder.tensor(call, 0).status());
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 1));
  if (call.name == "aten::copy.out") return builder.result(call, x);
  if (!builder.is_variable(call.args[0]))
    return call.fail(Code::unsupported) << "into value " << call.args[0] << ", which is no mutable buffer";
  RUNNEL_TRY(builder.assign(call, call.args[0], x));
  for (std::size_t i = 3; i < call.args.size(); ++i) {
    if (call.args[i] == call.args[0]) continue;
    RUNNEL_ASSIGN(const Operand held, builder.read(call, call.args[0]));
    RUNNEL_TRY(builder.write(call, call.args[i], held));
  }
  return {};
}

Status convert_permute(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_ASSIGN(const auto order, builder.integers(call, 1));
  const auto rank = static_cast<std::int64_t>(x.dims.size());
  Perm perm;
  for (const std::int64_t axis : order) {
    if (axis < -rank || axis >= rank)
      return call.fail() << "axis " << axis << " of a tensor of rank " << rank;
    perm.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
  }
  Perm sorted = perm;
  std::ranges::sort(sorted);
  if (sorted != identity_perm(x.dims.size()))
    return call.fail() << perm.size() << " axes that do not name each of " << rank << " once";
  if (x.constant != nullptr)
    return builder.result(call, constant_operand(transposed({x.dtype, x.dims, x.constant->data}, perm)));
  Operand y = x;
  const Perm to = inverse(perm);
  y.dims = permuted(x.dims, perm);
  for (std::size_t i = 0; i < y.perm.size(); ++i) y.perm[i] = to[static_cast<std::size_t>(x.perm[i])];
  return builder.result(call, y);
}

Status convert_unsqueeze(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_ASSIGN(const int axis, builder.axis(call, 1, x.dims.size() + 1));
  Dims dims = x.dims;
  dims.insert(dims.begin() + axis, 1);
  RUNNEL_ASSIGN(const Operand y, builder.reshaped(call, x, dims));
  return builder.result(call, y);
}

Status convert_squeeze(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  const auto rank = static_cast<std::int64_t>(x.dims.size());
  std::vector<std::int64_t> axes;
  if (call.name == "aten::squeeze_copy.dim_out") {
    RUNNEL_ASSIGN(const std::int64_t axis, builder.integer(call, 1));
    axes = {axis};
  } else {
    RUNNEL_ASSIGN(axes, builder.integers(call, 1));
  }
  std::vector<bool> gone(x.dims.size(), false);
  for (const std::int64_t axis : axes) {
    if (axis < -rank || axis >= rank)
      return call.fail() << "axis " << axis << " of a tensor of rank " << rank;
    const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
    gone[at] = x.dims[at] == 1;
  }
  Dims dims;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (!gone[i]) dims.push_back(x.dims[i]);
  }
  RUNNEL_ASSIGN(const Operand y, builder.reshaped(call, x, dims));
  return builder.result(call, y);
}

// et_view has one output, and its place in memory is that of its input.
Status convert_view(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_ASSIGN(const auto wanted, builder.integers(call, 1));
  const std::int64_t count = count_of(x.dims);
  std::int64_t known = 1;
  for (const std::int64_t dim : wanted) {
    if (dim != -1 && (dim < 1 || dim > count))
      return call.fail() << "a dimension of " << dim << " for " << count << " elements";
    if (dim > 0 && (known *= dim) > count)
      return call.fail() << "more than the " << count << " elements there are";
  }
  Dims dims;
  for (const std::int64_t dim : wanted)
    dims.push_back(static_cast<std::int32_t>(dim == -1 ? count / known : dim));
  if (std::ranges::count(wanted, -1) > 1 || count_of(dims) != count)
    return call.fail() << "a shape of another size than " << count << " elements";
  RUNNEL_ASSIGN(const Operand y, builder.reshaped(call, x, dims));
  return call.args.size() == 3 ? builder.write(call, call.args[2], y) : builder.result(call, y);
}

Status convert_select(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_ASSIGN(const int axis, builder.axis(call, 1, x.dims.size()));
  const std::int64_t size = x.dims[static_cast<std::size_t>(axis)];
  RUNNEL_ASSIGN(const std::int64_t index, builder.integer(call, 2, -size, size - 1));
  RUNNEL_ASSIGN(const Operand part, part_of(builder, call, x, axis, index < 0 ? index + size : index, 1, 1));
  Dims dims = x.dims;
  dims.erase(dims.begin() + axis);
  RUNNEL_ASSIGN(const Operand y, builder.reshaped(call, part, dims));
  return builder.result(call, y);
}

Status convert_slice(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_ASSIGN(const int axis, builder.axis(call, 1, x.dims.size()));
  const std::int64_t size = x.dims[static_cast<std::size_t>(axis)];
  const auto bound = [&](std::size_t position, std::int64_t otherwise) -> Result<std::int64_t> {
    if (builder.is_none(call, position)) return otherwise;
    RUNNEL_ASSIGN(const std::int64_t given, builder.integer(call, position));
    return std::clamp<std::int64_t>(given < 0 ? std::max(given, -size) + size : given, 0, size);
  };
  RUNNEL_ASSIGN(const std::int64_t begin, bound(2, 0));
  RUNNEL_ASSIGN(const std::int64_t end, bound(3, size));
  RUNNEL_ASSIGN(const std::int64_t step, builder.integer(call, 4, 1, 1 << 24));
  if (begin >= end) return call.fail(Code::unsupported) << "nothing of " << size << " elements";
  RUNNEL_ASSIGN(const Operand y,
                part_of(builder, call, x, axis, begin, (end - begin + step - 1) / step, step));
  return builder.result(call, y);
}

Status convert_cat(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const auto values, builder.tensors(call, 0));
  std::vector<Operand> parts;
  for (const std::int32_t value : values) {
    if (value < 0) return call.fail() << "a missing part";
    RUNNEL_ASSIGN(Operand part, builder.read(call, value));
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return call.fail() << "no parts";
  const std::size_t rank = parts[0].dims.size();
  RUNNEL_ASSIGN(const int axis, builder.axis(call, 1, rank));
  Perm perm = identity_perm(rank);
  for (const Operand& part : parts) {
    if (part.dims.size() != rank || part.dtype != parts[0].dtype)
      return call.fail() << "parts of different ranks or types";
    if (part.constant == nullptr) perm = part.perm;
  }
  std::vector<TensorId> inputs;
  for (const Operand& part : parts) {
    RUNNEL_ASSIGN(const TensorId id, builder.stored(call, part, perm));
    inputs.push_back(id);
  }
  const AxisOptions options{inverse(perm)[static_cast<std::size_t>(axis)]};
  RUNNEL_ASSIGN(const TensorId y, builder.emit(call, OpCode::concat, inputs, options, {}));
  return builder.result(call, builder.computed(y, perm));
}

Status convert_split(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_ASSIGN(const auto sizes, builder.integers(call, 1));
  RUNNEL_ASSIGN(const int axis, builder.axis(call, 2, x.dims.size()));
  RUNNEL_ASSIGN(const auto outputs, builder.tensors(call, 3));
  if (outputs.size() != sizes.size() || sizes.empty())
    return call.fail() << sizes.size() << " sizes for " << outputs.size() << " outputs";
  const Perm perm = x.constant == nullptr ? x.perm : identity_perm(x.dims.size());
  RUNNEL_ASSIGN(const TensorId id, builder.stored(call, x, perm));
  const int along = inverse(perm)[static_cast<std::size_t>(axis)];
  std::vector<Builder::Made> made;
  for (const std::int64_t size : sizes) {
    if (size < 1 || size > x.dims[static_cast<std::size_t>(axis)])
      return call.fail() << "a part of " << size << " of " << x.dims[static_cast<std::size_t>(axis)];
    std::vector<std::int32_t> shape = builder.at(id).shape;
    shape[static_cast<std::size_t>(along)] = static_cast<std::int32_t>(size);
    made.push_back({shape, DType::none, std::nullopt});
  }
  RUNNEL_ASSIGN(const auto parts, builder.emit_all(call, OpCode::split, {id}, AxisOptions{along}, made));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (outputs[i] < 0) return call.fail() << "output " << i << " is none";
    RUNNEL_TRY(builder.write(call, outputs[i], builder.computed(parts[i], perm)));
  }
  return {};
}

}  // namespace runnel::compiler::pte_source
