// The source of chance of everything that damages files: the same seed gives the same damage on every
// machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

namespace runnel::test {

using Bytes = std::vector<std::byte>;

class Random {
 public:
  explicit Random(std::uint64_t seed) : random_(seed) {}

  std::uint64_t next() { return random_(); }
  // 0 to count - 1; 0 when there is nothing to choose from.
  std::size_t below(std::size_t count) {
    return count == 0 ? 0 : static_cast<std::size_t>(random_() % count);
  }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class Container>
  auto& pick(Container& from) {
    return from[below(std::size(from))];
  }
  // A number likely to do harm where `now` was: a neighbour, the double, a small one, or the edge of a type.
  std::uint64_t nasty(std::uint64_t now) {
    static constexpr std::int64_t kValues[] = {0,
                                               1,
                                               2,
                                               3,
                                               4,
                                               5,
                                               7,
                                               8,
                                               16,
                                               64,
                                               -1,
                                               -2,
                                               127,
                                               128,
                                               255,
                                               256,
                                               -128,
                                               -129,
                                               32767,
                                               32768,
                                               65535,
                                               65536,
                                               65537,
                                               1 << 20,
                                               1 << 24,
                                               1 << 30,
                                               2147483647,
                                               -2147483647 - 1,
                                               4294967295LL,
                                               1LL << 40,
                                               9223372036854775807LL};
    switch (below(6)) {
      case 0:
        return now + 1;
      case 1:
        return now - 1;
      case 2:
        return now * 2;
      case 3:
        return random_() % 256;
      default:
        return static_cast<std::uint64_t>(kValues[below(std::size(kValues))]);
    }
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace runnel::test
