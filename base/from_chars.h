// std::from_chars, also where the standard library has it for integers only, as LLVM's has before its
// version 20. There, strtod_l reads what the grammar of from_chars takes.
#pragma once

#include <charconv>

#if defined(_LIBCPP_VERSION) && !defined(__cpp_lib_to_chars)
#define RUNNEL_READS_FLOATS_BY_STRTOD
#include <type_traits>

#include "base/read_floating.h"
#endif

namespace runnel {

// As std::from_chars. Of numbers with more than 511 characters, libraries without it for floating point read
// nothing. Thread-safe.
template <class T>
std::from_chars_result from_chars(const char* first, const char* last, T& value) noexcept {
#ifdef RUNNEL_READS_FLOATS_BY_STRTOD
  if constexpr (std::is_floating_point_v<T>)
    return detail::read_floating(first, last, value);
  else
#endif
    return std::from_chars(first, last, value);
}

}  // namespace runnel
