// Driver payload of an Ethos-U: the actions of one run, the command stream among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/status.h"

namespace runnel::npu {

// Little-endian 32-bit words that need not be aligned. A view.
class Words {
 public:
  Words() noexcept = default;
  // Ignores bytes after the last whole word.
  explicit Words(std::span<const std::byte> bytes) noexcept : bytes_(bytes.first(bytes.size() / 4 * 4)) {}

  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() / 4; }
  [[nodiscard]] std::uint32_t operator[](std::size_t index) const noexcept {
    std::uint32_t word;
    std::memcpy(&word, bytes_.data() + 4 * index, 4);
    return word;
  }
  [[nodiscard]] Words part(std::size_t first, std::size_t count) const noexcept {
    return Words(bytes_.subspan(4 * first, 4 * count));
  }

 private:
  std::span<const std::byte> bytes_;
};

struct Payload {
  std::uint32_t config = 0, id = 0;  // of the device that it was made for
  Words commands;
  std::size_t first_command = 0;  // word of the payload
};

// Of either kind, COP1 or COP2. Errors: invalid_data naming the word of the payload, what was expected and
// what was found; unsupported for a newer version. The words point into `bytes`.
Result<Payload> read_payload(std::span<const std::byte> bytes) noexcept;

}  // namespace runnel::npu
