// What the fuzzers have in common: a failure must come with a sentence.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "base/status.h"
#include "tests/robustness/feed.h"

namespace runnel::test {

inline void insist_on_a_sentence(const Status& status) {
  if (status.ok() || !status.text().empty()) return;
  std::fputs("a failure without text\n", stderr);
  std::abort();
}

inline std::span<const std::byte> as_input(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

}  // namespace runnel::test
