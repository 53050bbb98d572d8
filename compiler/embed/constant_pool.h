// What the constants of a compiled model point into: bytes that come from the model file, and numbers.
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
  std::string shorts(std::span<const std::int16_t> numbers);
  std::string floats(std::span<const float> numbers);
  // Of type std::byte: the constant operands that operators read through RunContext::data, from a multiple of
  // 16.
  std::string operand(std::span<const std::byte> bytes);

  [[nodiscard]] const std::vector<std::byte>& all_bytes() const noexcept { return bytes_; }
  // Definitions of the arrays that all but bytes() point into.
  [[nodiscard]] std::string arrays() const;
  // The constants of a CompiledModel that its checksums cover: a list of CompiledModel::Constants.
  [[nodiscard]] std::string checked() const;

 private:
  std::string array_;
  std::vector<std::byte> bytes_;       // each piece from a multiple of 16
  std::vector<std::int32_t> numbers_;  // kNumbers
  std::vector<std::int16_t> shorts_;   // kShorts
  std::vector<float> floats_;          // kFloats
  std::vector<std::byte> operands_;    // kOperands
};

}  // namespace runnel::compiler
