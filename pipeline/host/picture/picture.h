// Pictures with labels: a raster of pixels, rectangles, and text in a small font.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace runnel::pipeline {

struct Color {
  std::uint8_t red = 0, green = 0, blue = 0;
  friend bool operator==(const Color&, const Color&) = default;
};

inline constexpr Color kWhite{255, 255, 255}, kBlack{0, 0, 0}, kNoData{200, 200, 200};

// From dark blue over red to pale yellow, brighter with every step; x from 0 to 1.
Color heat(double x) noexcept;

class Picture {
 public:
  // Pixels per letter, including the space around it.
  static constexpr int kLetterWidth = 8, kLetterHeight = 10;

  Picture(int width, int height, Color color = kWhite)
      : width_(width),
        height_(height),
        pixels_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), color) {}

  [[nodiscard]] int width() const noexcept { return width_; }
  [[nodiscard]] int height() const noexcept { return height_; }
  [[nodiscard]] Color at(int x, int y) const noexcept { return pixels_[index(x, y)]; }
  // Rows from the top, red, green and blue of every pixel.
  [[nodiscard]] const std::uint8_t* bytes() const noexcept { return &pixels_.data()->red; }

  // Clipped to the picture.
  void fill(int x, int y, int width, int height, Color color) noexcept;
  // Its upper left corner at (x, y); letters without case, digits and . , : + - = / % ( ) [ ] _; anything
  // else is drawn as a space.
  void text(int x, int y, std::string_view text, Color color = kBlack) noexcept;
  static int text_width(std::string_view text) noexcept {
    return static_cast<int>(text.size()) * kLetterWidth;
  }

 private:
  [[nodiscard]] std::size_t index(int x, int y) const noexcept {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x);
  }
  int width_, height_;
  std::vector<Color> pixels_;
};

}  // namespace runnel::pipeline
