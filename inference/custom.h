// Operators that an application brings: how their definitions read what a model file says about them
// (docs/custom-operators.md).
//
// A definition has the code `custom`, a name and a version, and is in the OperatorTable that the
// application passes in; files name it. Its functions are those of every operator (inference/operator.h),
// with the same duties: check() refuses what the others could not bear, prepare() takes memory from its
// context only, run() neither allocates nor fails.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "inference/model/model.h"

namespace runnel {

// The attributes of one custom operator or delegate. A view into the model, which has been verified;
// allocates nothing.
class CustomAttributes {
 public:
  // Without attributes when `op` is another operator.
  explicit CustomAttributes(const fb::Operator& op) noexcept;

  [[nodiscard]] bool has(std::string_view name) const noexcept { return find(name) != nullptr; }
  // One integer, one number; the fallback when the file does not say. Errors: invalid_data naming the
  // attribute when it has another type or another count than one.
  [[nodiscard]] Result<std::int64_t> integer(std::string_view name, std::int64_t fallback) const noexcept;
  [[nodiscard]] Result<float> number(std::string_view name, float fallback) const noexcept;
  // Empty when the file does not say, or says something of another type.
  [[nodiscard]] std::span<const std::int64_t> integers(std::string_view name) const noexcept;
  [[nodiscard]] std::span<const float> numbers(std::string_view name) const noexcept;
  [[nodiscard]] std::string_view text(std::string_view name) const noexcept;

 private:
  [[nodiscard]] const fb::CustomAttribute* find(std::string_view name) const noexcept;
  const flatbuffers::Vector<flatbuffers::Offset<fb::CustomAttribute>>* attributes_ = nullptr;
};

}  // namespace runnel
