// "Did you mean ...?" for names that users type.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace runnel {

// Edits (insert, delete, replace a letter, swap two neighbours) from one name to the other, case ignored; names are compared in
// their first 64 letters.
std::size_t edit_distance(std::string_view a, std::string_view b) noexcept;

// The known name nearest to `name`, or an empty view when none is near (more than a third of its letters, and at least 2, differ).
// A name that `name` begins or that begins with `name` counts as near.
class Suggestion {
 public:
  explicit Suggestion(std::string_view name) noexcept : name_(name) {}
  void consider(std::string_view known) noexcept;
  [[nodiscard]] std::string_view best() const noexcept { return best_; }

 private:
  std::string_view name_, best_;
  std::size_t distance_ = static_cast<std::size_t>(-1);
};

std::string_view suggest(std::string_view name, std::span<const std::string_view> known) noexcept;

}  // namespace runnel
