// Checks the input of nodes with state: an infinity or NaN would stay in their sums and filters and spoil all
// later output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "features/simd/kernels.h"
#include "pipeline/node.h"

namespace runnel::pipeline {

// Replaces such values by 0 and counts them, or refuses them. Belongs to one node and one thread.
class FiniteInput {
 public:
  // The parameter that such a node declares: text_parameter<&N::non_finite>("non_finite", kChoices, kHelp),
  // "zero" when not given.
  static constexpr std::string_view kChoices = "zero|error";
  static constexpr std::string_view kHelp =
      "values that are infinite or not a number: read as 0 and counted, or refused";

  // `name`: of the node's type, outlives this. `choice`: one of kChoices. `most`: the most values of one
  // copy(), which needs memory; 0 when only copy_to() is used. Error: out_of_memory.
  Status prepare(std::string_view name, std::string_view choice, std::size_t most,
                 NodeContext& context) noexcept;

  // Copies the values to `to`, which may be the input itself, and makes them finite. For the message, `frame`
  // is the index of the first frame and `values` the number of values per frame. Error: invalid_data that
  // names the first bad one.
  Status copy_to(float* to, std::span<const float> from, std::int64_t frame, std::size_t values) noexcept;
  // The same into its own buffer, valid until the next call.
  Result<std::span<const float>> copy(std::span<const float> from, std::int64_t frame,
                                      std::size_t values) noexcept;

  // The sentence for Node::note().
  [[nodiscard]] Text note() const noexcept;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    archive.index(replaced_);
  }

 private:
  std::string_view name_;
  const features::Kernels* kernels_ = nullptr;
  bool refuse_ = false;
  std::span<float> room_;
  std::int64_t replaced_ = 0;
};

// The same sentence for nodes whose front end replaces and counts such values itself.
Text note_of_replaced(std::string_view name, std::int64_t count) noexcept;

}  // namespace runnel::pipeline
