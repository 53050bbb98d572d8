// The door of nodes that remember what they have heard: a value that is infinite or not a number would stay
// in their sums and filters, and spoil everything after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "features/simd/kernels.h"
#include "pipeline/node.h"

namespace runnel::pipeline {

// Reads such values as 0 and counts them, or refuses them. One node's, one thread.
class FiniteInput {
 public:
  // What a node offers its user: text_parameter<&N::non_finite>("non_finite", kChoices, kHelp), "zero" when
  // not given.
  static constexpr std::string_view kChoices = "zero|error";
  static constexpr std::string_view kHelp =
      "values that are infinite or not a number: read as 0 and counted, or refused";

  // `name`: of the node's type, which outlives this. `choice`: of kChoices. `most`: values of one copy(), for
  // which it takes memory; 0 when only copy_to() is used. Error: out_of_memory.
  Status prepare(std::string_view name, std::string_view choice, std::size_t most,
                 PrepareContext& context) noexcept;

  // Finite values at `to`, which has room for them and may be where they are. `frame` is the index of the
  // first frame, `values` how many a frame has, for the message. Error: invalid_data that names the first bad
  // one.
  Status copy_to(float* to, std::span<const float> from, std::int64_t frame, std::size_t values) noexcept;
  // The same at a place of its own, valid until the next call.
  Result<std::span<const float>> copy(std::span<const float> from, std::int64_t frame,
                                      std::size_t values) noexcept;

  // What the user should know, for Node::note().
  [[nodiscard]] Text note() const noexcept;

 private:
  std::string_view name_;
  const features::Kernels* kernels_ = nullptr;
  bool refuse_ = false;
  std::span<float> room_;
  std::int64_t replaced_ = 0;
};

// The same sentence for nodes whose front end replaces and counts by itself.
Text note_of_replaced(std::string_view name, std::int64_t count) noexcept;

}  // namespace runnel::pipeline
