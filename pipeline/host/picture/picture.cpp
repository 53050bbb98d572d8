#include "pipeline/host/picture/picture.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace runnel::pipeline {
namespace {

static_assert(sizeof(Color) == 3, "pixels lie side by side as three bytes");

// Letters of 3 x 5 points, drawn twice as large. A row is an octal digit whose highest bit is the left point.
constexpr std::string_view kLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:+-=/%()[]_";
constexpr std::string_view kPoints =
    "75557"
    "26227"
    "71747"
    "71317"
    "55711"
    "74717"
    "74757"
    "71122"
    "75757"
    "75717"
    "25755"
    "65656"
    "34443"
    "65556"
    "74647"
    "74644"
    "34553"
    "55755"
    "72227"
    "11152"
    "55655"
    "44447"
    "57755"
    "65555"
    "25552"
    "65644"
    "25563"
    "65655"
    "34216"
    "72222"
    "55557"
    "55552"
    "55775"
    "55255"
    "55222"
    "71247"
    "00002"
    "00024"
    "02020"
    "02720"
    "00700"
    "07070"
    "11244"
    "51245"
    "24442"
    "21112"
    "64446"
    "31113"
    "00007";
static_assert(kPoints.size() == 5 * kLetters.size());

}  // namespace

Color heat(double x) noexcept {
  constexpr double kStops[][3] = {{8, 4, 45}, {75, 15, 110}, {185, 50, 85}, {245, 140, 40}, {253, 245, 190}};
  const double at = std::clamp(x, 0.0, 1.0) * (std::size(kStops) - 1);
  const auto below = std::min(static_cast<std::size_t>(at), std::size(kStops) - 2);
  const double part = at - static_cast<double>(below);
  const auto mixed = [&](std::size_t i) {
    return static_cast<std::uint8_t>(
        std::lround(kStops[below][i] + (kStops[below + 1][i] - kStops[below][i]) * part));
  };
  return {mixed(0), mixed(1), mixed(2)};
}

void Picture::fill(int x, int y, int width, int height, Color color) noexcept {
  const int right = std::min(x + width, width_), bottom = std::min(y + height, height_);
  for (int row = std::max(y, 0); row < bottom; ++row) {
    for (int column = std::max(x, 0); column < right; ++column) pixels_[index(column, row)] = color;
  }
}

void Picture::text(int x, int y, std::string_view text, Color color) noexcept {
  for (char letter : text) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    const std::size_t found = kLetters.find(letter);
    for (std::size_t point = 0; found != std::string_view::npos && point < 15; ++point) {
      const int row = kPoints[5 * found + point / 3] - '0';
      const int across = static_cast<int>(point % 3), down = static_cast<int>(point / 3);
      if ((row >> (2 - across) & 1) != 0) fill(x + 2 * across, y + 2 * down, 2, 2, color);
    }
    x += kLetterWidth;
  }
}

}  // namespace runnel::pipeline
