// std::from_chars for floating point by strtod_l, for libraries that have it for integers only
// (from_chars.h).
#pragma once

#ifndef __EMSCRIPTEN__
#include <locale.h>
#endif
#include <stdlib.h>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace runnel {
namespace detail {

// The end of the longest start of [first, last) that is a decimal number, `inf`, `infinity` or `nan`; `first`
// without one.
inline const char* end_of_number(const char* first, const char* last) noexcept {
  const char* at = first;
  const auto digits = [&] {
    const char* const begin = at;
    while (at != last && *at >= '0' && *at <= '9') ++at;
    return at - begin;
  };
  if (at != last && *at == '-') ++at;
  for (const char* const word : {"infinity", "inf", "nan"}) {
    const std::size_t size = std::strlen(word);
    bool same = static_cast<std::size_t>(last - at) >= size;
    for (std::size_t i = 0; same && i < size; ++i) same = (at[i] | 0x20) == word[i];
    if (same) return at + size;
  }
  std::ptrdiff_t count = digits();
  if (at != last && *at == '.') {
    ++at;
    count += digits();
  }
  if (count == 0) return first;
  const char* const mantissa = at;
  if (at == last || (*at | 0x20) != 'e') return mantissa;
  ++at;
  if (at != last && (*at == '+' || *at == '-')) ++at;
  return digits() > 0 ? at : mantissa;
}

// As std::from_chars; numbers with more than 511 characters are not read.
template <class T>
std::from_chars_result read_floating(const char* first, const char* last, T& value) noexcept {
  const char* const end = end_of_number(first, last);
  char text[512];
  const auto size = static_cast<std::size_t>(end - first);
  if (size == 0 || size >= sizeof text) return {first, std::errc::invalid_argument};
  std::memcpy(text, first, size);
  text[size] = '\0';
  T read = 0;
#ifdef __EMSCRIPTEN__  // whose C library has no other locale, and whose modules have no heap for one
  if constexpr (std::is_same_v<T, float>)
    read = strtof(text, nullptr);
  else
    read = strtod(text, nullptr);
#else
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  if constexpr (std::is_same_v<T, float>)
    read = strtof_l(text, nullptr, plain);
  else
    read = strtod_l(text, nullptr, plain);
#endif
  // Too large, or so small that nothing is left of it.
  const bool word = (end[-1] | 0x20) == 'f' || (end[-1] | 0x20) == 'y';
  if (std::isinf(read) && !word) return {end, std::errc::result_out_of_range};
  if (read == 0) {
    for (const char* at = text; *at != '\0' && (*at | 0x20) != 'e'; ++at)
      if (*at >= '1' && *at <= '9') return {end, std::errc::result_out_of_range};
  }
  value = read;
  return {end, std::errc()};
}

}  // namespace detail

}  // namespace runnel
