#include "base/suggest.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace runnel {
namespace {

constexpr std::size_t kLongest = 64;

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool begins_with(std::string_view text, std::string_view start) noexcept {
  if (start.size() > text.size()) return false;
  for (std::size_t i = 0; i < start.size(); ++i) {
    if (lower(text[i]) != lower(start[i])) return false;
  }
  return true;
}

// A bit for each letter that occurs, some letters sharing one.
std::uint32_t letters_of(std::string_view text) noexcept {
  std::uint32_t letters = 0;
  for (const char letter : text)
    letters |= std::uint32_t{1} << (static_cast<unsigned char>(lower(letter)) & 31);
  return letters;
}

// A fast lower bound of edit_distance(): every letter that only one of them has is an edit, and so is
// every surplus letter.
std::size_t least_distance(std::string_view a, std::string_view b) noexcept {
  a = {a.data(), std::min<std::size_t>(a.size(), kLongest)};
  b = {b.data(), std::min<std::size_t>(b.size(), kLongest)};
  const std::uint32_t in_a = letters_of(a), in_b = letters_of(b);
  const auto alone =
      static_cast<std::size_t>(std::max(std::popcount(in_a & ~in_b), std::popcount(in_b & ~in_a)));
  return std::max({alone, a.size() - std::min(a.size(), b.size()), b.size() - std::min(a.size(), b.size())});
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) noexcept {
  // Not substr(), which can throw.
  a = {a.data(), std::min<std::size_t>(a.size(), kLongest)};
  b = {b.data(), std::min<std::size_t>(b.size(), kLongest)};
  // Rows i-2, i-1 and i of the table of distances between prefixes (optimal string alignment).
  std::uint8_t rows[3][kLongest + 1];
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<std::uint8_t>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const std::uint8_t *before = rows[(i - 1) % 3], *earlier = rows[(i + 1) % 3];
    std::uint8_t* row = rows[i % 3];
    row[0] = static_cast<std::uint8_t>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = before[j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      int least = std::min({before[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        least = std::min(least, earlier[j - 2] + 1);
      }
      row[j] = static_cast<std::uint8_t>(least);
    }
  }
  return rows[a.size() % 3][b.size()];
}

void Suggestion::consider(std::string_view known) noexcept {
  const bool extends =
      name_.size() >= 3 && (begins_with(known, name_) || (known.size() >= 3 && begins_with(name_, known)));
  const std::size_t most = std::max<std::size_t>(2, name_.size() / 3);
  // This rejects most known names: every lookup of an option prepares a suggestion.
  if (!extends && least_distance(name_, known) > most) return;
  std::size_t distance = edit_distance(name_, known);
  if (!extends && distance > most) return;
  if (!extends && distance >= std::max(name_.size(), known.size())) return;  // nothing in common
  if (extends) distance = std::min<std::size_t>(distance, 2);
  if (distance < distance_) {
    distance_ = distance;
    best_ = known;
  }
}

std::string_view suggest(std::string_view name, std::span<const std::string_view> known) noexcept {
  Suggestion suggestion(name);
  for (const std::string_view one : known) suggestion.consider(one);
  return suggestion.best();
}

}  // namespace runnel
