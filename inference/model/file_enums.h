// Converts the enumerations of a model file to the program's (inference/op_code.h): the same numbers.
#pragma once

#include "inference/model/model_generated.h"
#include "inference/op_code.h"

namespace runnel {

constexpr OpCode native(fb::OpCode value) noexcept { return static_cast<OpCode>(value); }
constexpr fb::OpCode to_file(OpCode value) noexcept { return static_cast<fb::OpCode>(value); }
constexpr Activation native(fb::Activation value) noexcept { return static_cast<Activation>(value); }
constexpr fb::Activation to_file(Activation value) noexcept { return static_cast<fb::Activation>(value); }
constexpr PadMode native(fb::PadMode value) noexcept { return static_cast<PadMode>(value); }
constexpr fb::PadMode to_file(PadMode value) noexcept { return static_cast<fb::PadMode>(value); }
constexpr Direction native(fb::Direction value) noexcept { return static_cast<Direction>(value); }
constexpr fb::Direction to_file(Direction value) noexcept { return static_cast<fb::Direction>(value); }
constexpr ResizeMode native(fb::ResizeMode value) noexcept { return static_cast<ResizeMode>(value); }
constexpr fb::ResizeMode to_file(ResizeMode value) noexcept { return static_cast<fb::ResizeMode>(value); }
constexpr ResizeCoordinates native(fb::ResizeCoordinates value) noexcept {
  return static_cast<ResizeCoordinates>(value);
}
constexpr fb::ResizeCoordinates to_file(ResizeCoordinates value) noexcept {
  return static_cast<fb::ResizeCoordinates>(value);
}
constexpr ScatterReduction native(fb::ScatterReduction value) noexcept {
  return static_cast<ScatterReduction>(value);
}
constexpr fb::ScatterReduction to_file(ScatterReduction value) noexcept {
  return static_cast<fb::ScatterReduction>(value);
}
constexpr UsageKind native(fb::Usage value) noexcept { return static_cast<UsageKind>(value); }
constexpr fb::Usage to_file(UsageKind value) noexcept { return static_cast<fb::Usage>(value); }

inline Arithmetic arithmetic_of(const fb::Operator& op) noexcept {
  return static_cast<Arithmetic>(op.version());
}
inline OpCode code_of(const fb::Operator& op) noexcept { return native(op.code()); }

}  // namespace runnel
