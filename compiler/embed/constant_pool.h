// What the constants of a compiled model point into: bytes that come from the model file, and 32-bit numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace runnel::compiler {

class ConstantPool {
 public:
  explicit ConstantPool(std::string array) : array_(std::move(array)) {}

  // Each an expression of C++ for the address; equal pieces are kept once. No bytes: "nullptr".
  std::string bytes(std::span<const std::byte> bytes);
  std::string numbers(std::span<const std::int32_t> numbers);

  [[nodiscard]] const std::vector<std::byte>& all_bytes() const noexcept { return bytes_; }
  [[nodiscard]] const std::vector<std::int32_t>& all_numbers() const noexcept { return numbers_; }

 private:
  std::string array_;
  std::vector<std::byte> bytes_;       // each piece from a multiple of 16
  std::vector<std::int32_t> numbers_;  // kNumbers
};

}  // namespace runnel::compiler
