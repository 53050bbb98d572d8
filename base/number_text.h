// Decimal numbers for people, on devices: std::to_chars without the library's formatting code and buffers.
#pragma once

#include <string_view>

namespace runnel {

// A short text, kept inside the object.
class NumberText {
 public:
  [[nodiscard]] std::string_view view() const noexcept { return {text_, size_}; }

 private:
  friend NumberText shortest_text(double value) noexcept;
  friend NumberText shortest_text(float value) noexcept;
  char text_[32] = {};
  unsigned size_ = 0;
};

// The fewest digits that std::from_chars reads back as the same number, as 0.001 or 1e-10, whichever is
// shorter; "inf", "-inf", "nan".
NumberText shortest_text(double value) noexcept;
NumberText shortest_text(float value) noexcept;

}  // namespace runnel
