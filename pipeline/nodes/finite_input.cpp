#include "pipeline/nodes/finite_input.h"

#include <algorithm>
#include <cmath>

namespace runnel::pipeline {

Status FiniteInput::prepare(std::string_view name, std::string_view choice, std::size_t most,
                            NodeContext& context) noexcept {
  name_ = name;
  kernels_ = &features::kernels_for(context.isa);
  refuse_ = choice == "error";
  replaced_ = 0;
  if (most == 0) return {};
  auto* const room = context.memory.array<float>(most);
  if (room == nullptr) return out_of_memory("the values of a block");
  room_ = {room, most};
  return {};
}

Status FiniteInput::copy_to(float* to, std::span<const float> from, std::int64_t frame,
                            std::size_t values) noexcept {
  if (refuse_) {
    const auto bad =
        std::find_if_not(from.begin(), from.end(), [](float value) { return std::isfinite(value); });
    if (bad != from.end()) {
      const auto at = static_cast<std::size_t>(bad - from.begin());
      return Status(Code::invalid_data)
             << "value " << at % values << " of frame " << frame + static_cast<std::int64_t>(at / values)
             << " is " << (std::isnan(*bad) ? "not a number" : "infinite")
             << " (non_finite=zero reads such values as 0)";
    }
  }
  replaced_ += static_cast<std::int64_t>(kernels_->copy_finite(from.data(), from.size(), 1.0F, to));
  return {};
}

Result<std::span<const float>> FiniteInput::copy(std::span<const float> from, std::int64_t frame,
                                                 std::size_t values) noexcept {
  RUNNEL_TRY(copy_to(room_.data(), from, frame, values));
  return std::span<const float>(room_.first(from.size()));
}

Text FiniteInput::note() const noexcept { return note_of_replaced(name_, replaced_); }

Text note_of_replaced(std::string_view name, std::int64_t count) noexcept {
  Text text;
  if (count > 0)
    text << name << ": " << count
         << (count == 1 ? " value was not finite and was read as 0"
                        : " values were not finite and were read as 0");
  return text;
}

}  // namespace runnel::pipeline
