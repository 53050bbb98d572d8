// Saves the state of a search as bytes.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/status.h"

namespace runnel::decoding {

template <class T>
constexpr std::size_t saved_size(std::size_t count) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  return count * sizeof(T);
}

class StateWriter {
 public:
  explicit StateWriter(std::span<std::byte> to) noexcept : to_(to) {}
  template <class T>
  void put(std::span<T> values) noexcept {
    std::memcpy(to_.data(), values.data(), values.size_bytes());
    to_ = to_.subspan(values.size_bytes());
  }

 private:
  std::span<std::byte> to_;
};

class StateReader {
 public:
  explicit StateReader(std::span<const std::byte> from) noexcept : from_(from) {}
  template <class T>
  void get(std::span<T> values) noexcept {
    std::memcpy(static_cast<void*>(values.data()), from_.data(), values.size_bytes());
    from_ = from_.subspan(values.size_bytes());
  }

 private:
  std::span<const std::byte> from_;
};

inline Status another_state(std::size_t found, std::size_t expected) noexcept {
  return Status(Code::mismatch) << "the saved state of a search with other settings: " << found
                                << " bytes, expected " << expected;
}
inline Status damaged_state() noexcept {
  return Status(Code::mismatch, "the saved state of a search is damaged");
}

}  // namespace runnel::decoding
