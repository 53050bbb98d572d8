// What operations of an Ethos-U85 leave inside the accelerator for later ones: chained maps, accumulators.
#pragma once

#include <array>
#include <span>

#include "npu/operation.h"

namespace runnel::npu::u85 {

// Follows a run operation by operation.
class Chains {
 public:
  // Errors: invalid_data when the operation reads what no earlier one has left, or in another shape.
  Status follow(const Operation& op) noexcept;

 private:
  struct Shape {
    std::int32_t height = 0, width = 0, depth = 0;
    [[nodiscard]] bool operator==(const Shape&) const noexcept = default;
  };
  [[nodiscard]] Status read(const FeatureMap& map, const char* name) const noexcept;

  std::array<Shape, kChains> maps_{};
  Shape accumulators_{};
};

// Sets Fields::kept where a later operation of the list starts from an operation's accumulators.
void mark_kept(std::span<Operation> operations) noexcept;

}  // namespace runnel::npu::u85
