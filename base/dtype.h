// Element types of tensors and of the buffers between pipeline nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace runnel {

// The numbers are part of the model file.
enum class DType : std::uint8_t {
  none = 0,
  float32,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  int64,
  boolean,
  float64
};

// Bytes of one element; 0 for none.
constexpr std::size_t size_of(DType type) noexcept {
  switch (type) {
    case DType::int8:
    case DType::uint8:
    case DType::boolean:
      return 1;
    case DType::int16:
    case DType::uint16:
      return 2;
    case DType::float32:
    case DType::int32:
      return 4;
    case DType::int64:
    case DType::float64:
      return 8;
    case DType::none:
      break;
  }
  return 0;
}

constexpr std::string_view name_of(DType type) noexcept {
  switch (type) {
    case DType::float32:
      return "float32";
    case DType::int8:
      return "int8";
    case DType::uint8:
      return "uint8";
    case DType::int16:
      return "int16";
    case DType::uint16:
      return "uint16";
    case DType::int32:
      return "int32";
    case DType::int64:
      return "int64";
    case DType::boolean:
      return "bool";
    case DType::float64:
      return "float64";
    case DType::none:
      break;
  }
  return "none";
}

}  // namespace runnel
