// Products of two computed matrices: rows of the second map of a U85 are weights of one output each.
#include <algorithm>

#include "compiler/npu/lowering.h"
#include "compiler/npu/scales.h"

namespace runnel::compiler::ethos_u {
namespace {

constexpr std::int64_t kMaxMatrices = 256;

npu::FeatureMap row_of(npu::FeatureMap map, std::int32_t height, std::int32_t width) {
  map.height = map.height0 = map.height1 = height;
  map.width = map.width0 = width;
  return map;
}

}  // namespace

Status Lowering::matmul(const Node& node) {
  const Operand a = input(node, 0), b = input(node, 1), y = output(node);
  if (a.tensor->dtype != DType::int8 || b.tensor->dtype != DType::int8 || y.tensor->dtype != DType::int8)
    return refuse() << "matrices of " << name_of(a.tensor->dtype) << ", expected int8";
  const std::size_t rank = y.shape.size();
  const std::int32_t inner = a.shape.back();
  // Sums of products of differences from zero points, 255 each.
  constexpr std::int64_t kProduct = 255 * 255;
  if (inner * kProduct > INT32_MAX)
    return refuse() << "sums of " << inner << " products, expected at most " << INT32_MAX / kProduct;
  npu::Step step;
  npu::Operation& op = step.op;
  if (y.affine()) {
    RUNNEL_ASSIGN(
        op.ofm_scale,
        scale_of(kernels::multiplier_of(static_cast<double>(a.tensor->scales[0] * b.tensor->scales[0]) /
                                        static_cast<double>(y.tensor->scales[0]))));
    op.rounding = npu::Rounding::tfl;
  } else {
    RUNNEL_ASSIGN(op.ofm_scale, scale_of(y.exponent() - a.exponent() - b.exponent(), node.rounding));
    op.rounding = npu::Rounding::natural;
  }
  const auto* const options = std::get_if<FullyConnectedOptions>(&node.options);
  set_limits(op, y, options == nullptr ? Activation::none : options->activation);
  op.kind = npu::OperationKind::conv;
  op.u85.second_weights = op.has_ifm2 = op.global_scale = true;
  // Leading axes, of which an operand may have one element that is used again.
  Dims batch(y.shape.begin(), y.shape.end() - 2);
  std::int64_t matrices = 1;
  for (const std::int32_t size : batch) matrices *= size;
  if (matrices > kMaxMatrices) return refuse() << matrices << " matrices, expected at most " << kMaxMatrices;
  // The matrix `number` of an operand, with its axes in order or exchanged.
  const auto matrix = [&](const Operand& operand, std::int64_t number, bool exchanged) {
    Operand one{operand.tensor, operand.place, Dims(operand.shape.end() - 2, operand.shape.end())};
    const std::size_t missing = rank - operand.shape.size();
    for (std::size_t axis = batch.size(); axis-- > 0;) {
      const std::int64_t at = number % batch[axis];
      number /= batch[axis];
      if (axis >= missing && operand.shape[axis - missing] != 1)
        one.place.offset += at * operand.place.strides[axis - missing];
    }
    one.place.strides.assign(operand.place.strides.end() - 2, operand.place.strides.end());
    if (exchanged) {
      std::swap(one.shape[0], one.shape[1]);
      std::swap(one.place.strides[0], one.place.strides[1]);
    }
    return one;
  };
  const auto same_matrix = [](const Operand& p, const Operand& q) {
    return p.place.buffer == q.place.buffer && p.place.offset == q.place.offset;
  };
  Operand taken, columns;  // of the second operand: a matrix, and its columns as rows
  for (std::int64_t i = 0; i < matrices; ++i) {
    const Operand left = matrix(a, i, false), out = matrix(y, i, false), right = matrix(b, i, true);
    if (i == 0 || !same_matrix(right, taken)) {
      taken = columns = right;
      if (right.place.strides[1] != 1) {
        columns.place = {program_.buffer(element_count(right.shape)), 0, dense_strides(right.shape, 1)};
        RUNNEL_TRY(copy(right, columns));
      }
    }
    RUNNEL_ASSIGN(const npu::FeatureMap rows, spatial(left));
    RUNNEL_ASSIGN(const npu::FeatureMap weights, spatial(columns));
    RUNNEL_ASSIGN(const npu::FeatureMap result, spatial(out));
    op.ifm = row_of(rows, 1, rows.width);
    op.ifm2 = row_of(weights, 1, weights.width);
    op.ofm = row_of(result, 1, result.width);
    step.ifm = left.place.buffer;
    step.ifm2 = columns.place.buffer;
    step.ofm = out.place.buffer;
    program_.add(step);
  }
  return {};
}

}  // namespace runnel::compiler::ethos_u
