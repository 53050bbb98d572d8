#include "base/number_text.h"

#include <cstdint>
#include <limits>

#ifdef __linux__
#include "base/from_chars.h"
#endif

namespace runnel {
namespace {

constexpr int kMaxDigits = 17;

// 10^power, in steps that are exact as long as possible.
double scaled(double value, int power) noexcept {
  for (; power >= 22; power -= 22) value *= 1e22;
  for (; power <= -22; power += 22) value /= 1e22;
  double factor = 1;
  for (int i = power < 0 ? -power : power; i > 0; --i) factor *= 10;
  return power < 0 ? value / factor : value * factor;
}

// Writes `digits` (the last one not 0, unless it is the only one) with the first one at 10^exponent.
// Returns the length.
unsigned write(std::uint64_t digits, int exponent, bool negative, char* text) noexcept {
  char reversed[24];
  int count = 0;
  do {
    reversed[count++] = static_cast<char>('0' + digits % 10);
    digits /= 10;
  } while (digits != 0);
  const int size = exponent < 0 ? -exponent : exponent;
  const int scientific = count + (count > 1 ? 1 : 0) + (size >= 100 ? 5 : 4);
  const int fixed = exponent < 0 ? count + 1 - exponent : exponent + 1 >= count ? exponent + 1 : count + 1;
  unsigned length = 0;
  const auto put = [&](char letter) { text[length++] = letter; };
  if (negative) put('-');
  if (fixed <= scientific) {
    for (int place = exponent < 0 ? 0 : exponent; place > exponent - count || place >= 0; --place) {
      if (place == -1) put('.');
      const int digit = exponent - place;
      put(digit >= 0 && digit < count ? reversed[count - 1 - digit] : '0');
    }
    return length;
  }
  put(reversed[count - 1]);
  if (count > 1) put('.');
  for (int i = count - 2; i >= 0; --i) put(reversed[i]);
  put('e');
  put(exponent < 0 ? '-' : '+');
  if (size >= 100) put(static_cast<char>('0' + size / 100));
  put(static_cast<char>('0' + size / 10 % 10));
  put(static_cast<char>('0' + size % 10));
  return length;
}

template <class T>
unsigned shortest(T value, char* text) noexcept {
  const auto copy = [&](std::string_view word) {
    for (std::size_t i = 0; i < word.size(); ++i) text[i] = word[i];
    return static_cast<unsigned>(word.size());
  };
  if (value != value) return copy("nan");
  const bool negative = value < 0;
  const auto size = static_cast<double>(negative ? -value : value);
  if (size > static_cast<double>(std::numeric_limits<T>::max())) return copy(negative ? "-inf" : "inf");
  if (size == 0) return copy("0");
  int exponent = 0;
  for (double at = size; at >= 10; at /= 10) ++exponent;
  for (double at = size; at < 1; at *= 10) --exponent;
  unsigned length = 0;
  for (int count = 1; count <= kMaxDigits; ++count) {
    // Scaling may be slightly off in the last of many digits, more so the farther the number is from 1:
    // neighbours are tried too.
    const auto nearest = static_cast<std::uint64_t>(scaled(size, count - 1 - exponent) + 0.5);
    const int neighbours = count < kMaxDigits - 1 ? 0 : count < kMaxDigits ? 40 : 400;
    for (int i = 0; i <= neighbours; ++i) {
      const std::int64_t step = i % 2 == 0 ? -(i / 2) : i / 2 + 1;
      std::uint64_t digits = nearest + static_cast<std::uint64_t>(step);
      int first = exponent - (count - 1);
      while (digits != 0 && digits % 10 == 0) {
        digits /= 10;
        ++first;
      }
      int places = 0;
      for (std::uint64_t rest = digits; rest >= 10; rest /= 10) ++places;
      length = write(digits, first + places, negative, text);
#ifdef __linux__
      T back = 0;
      const auto read = from_chars(text, text + length, back);
      if (read.ec == std::errc() && back == value) return length;
#else
      // Devices print numbers only in messages: six digits are enough, and parsing them would take 20
      // kB of code.
      if (count == 6) return length;
#endif
    }
  }
  return length;
}

}  // namespace

NumberText shortest_text(double value) noexcept {
  NumberText out;
  out.size_ = shortest(value, out.text_);
  return out;
}
NumberText shortest_text(float value) noexcept {
  NumberText out;
  out.size_ = shortest(value, out.text_);
  return out;
}

}  // namespace runnel
