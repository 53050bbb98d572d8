// A quick sign that two sequences of tokens differ.
#pragma once

#include <cstdint>

namespace runnel::decoding {

// The hash of a sequence with one more token; that of none is 0. Equal sequences have equal hashes.
constexpr std::uint32_t hash_with(std::uint32_t hash, std::int32_t token) noexcept {
  return (hash ^ static_cast<std::uint32_t>(token + 1)) * 0x01000193u + 0x9e3779b9u;
}

}  // namespace runnel::decoding
