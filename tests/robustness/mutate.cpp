#include "tests/robustness/mutate.h"

#include <algorithm>
#include <cstring>

namespace runnel::test {

Mutator::Mutator(std::span<const std::byte> original, std::uint64_t seed)
    : original_(original.begin(), original.end()), random_(seed) {
  for (std::size_t at = 0; at + 4 <= original_.size(); at += 4) {
    std::int32_t word = 0;
    std::memcpy(&word, original_.data() + at, 4);
    if (word > -65536 && word < 65536) structure_.push_back(at);
  }
}

std::size_t Mutator::position(std::size_t room) {
  if (structure_.empty() || below(4) == 0) return below(room);
  return std::min(structure_[below(structure_.size())], room - 1);
}

void Mutator::change(std::vector<std::byte>& bytes) {
  if (bytes.empty()) return;
  const std::size_t at = position(bytes.size()), left = bytes.size() - at;
  switch (below(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4: {  // bytes
      const std::size_t count = std::min(left, 1 + below(4));
      for (std::size_t i = 0; i < count; ++i) bytes[at + i] = static_cast<std::byte>(random_.next());
      break;
    }
    case 5:
      bytes[at] ^= static_cast<std::byte>(1u << below(8));
      break;
    case 6:
    case 7:
    case 8:
    case 9:
    case 10:
    case 11: {  // a word
      const std::size_t size = std::min(left, std::size_t{1} << below(4));
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, size);
      word = random_.nasty(word);
      std::memcpy(bytes.data() + at, &word, size);
      break;
    }
    case 12:
    case 13: {  // a copy from elsewhere
      const std::size_t count = std::min(left, 1 + below(64)), from = below(bytes.size() - count + 1);
      std::memmove(bytes.data() + at, bytes.data() + from, count);
      break;
    }
    case 14:
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::min(left, 1 + below(256)),
                  std::byte{0});
      break;
    default:  // a truncation, a deletion or an insertion
      if (below(4) == 0) {
        bytes.resize(at);
      } else if (below(2) == 0) {
        bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    bytes.begin() + static_cast<std::ptrdiff_t>(at + std::min(left, 1 + below(16))));
      } else {
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), 1 + below(16),
                     static_cast<std::byte>(random_.next()));
      }
  }
}

std::vector<std::byte> Mutator::next() {
  std::vector<std::byte> bytes = original_;
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) change(bytes);
  return bytes;
}

std::vector<std::byte> Mutator::next(std::span<const Spot> spots) {
  std::vector<std::byte> bytes = original_;
  for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
    const Spot& spot = spots[below(spots.size())];
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + spot.offset, spot.bytes);
    value = random_.nasty(value);
    if (below(4) == 0) {  // another spot's value
      const Spot& other = spots[below(spots.size())];
      value = 0;
      std::memcpy(&value, bytes.data() + other.offset, std::min(other.bytes, spot.bytes));
    }
    std::memcpy(bytes.data() + spot.offset, &value, spot.bytes);
  }
  return bytes;
}

}  // namespace runnel::test
