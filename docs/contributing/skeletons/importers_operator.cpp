// A foreign operator that existing operators express: NAME(a, b) = |a - b| of float32 as sub, then abs.
//
// Copy the function into compiler/import/FORMAT/convert/FAMILY.cpp and give the importer its row.
#include "compiler/import/tflite/builder.h"

namespace runnel::compiler::tflite_source {

Status convert_distance(Builder& builder, const Operator& op);

Status convert_distance(Builder& builder, const Operator& op) {
  RUNNEL_ASSIGN(const TensorId a, builder.operand(op, 0));
  RUNNEL_ASSIGN(const TensorId b, builder.operand(op, 1));
  RUNNEL_ASSIGN(const TensorId y, builder.result(op));
  // Refuse by name what the operators cannot do; the message gets the operator and its place in the file.
  if (!builder.is_float(y)) return Builder::fail(op, Code::unsupported) << "of integers, expected float32";
  const TensorId difference = builder.intermediate(y, op);
  RUNNEL_TRY(builder.emit(op, OpCode::sub, {a, b}, {difference}, BinaryOptions{}));
  return builder.emit(op, OpCode::abs, {difference}, {y}, {});
}

}  // namespace runnel::compiler::tflite_source
