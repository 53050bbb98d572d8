#include "inference/host/noise.h"

#include <algorithm>
#include <cstring>

namespace runnel {

void fill_noise(std::span<std::byte> bytes, DType type, std::mt19937& random) {
  if (type == DType::float32) {
    for (std::size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
      const float value = static_cast<float>(random()) * 0x1p-31f - 1;
      std::memcpy(bytes.data() + at, &value, sizeof value);
    }
  } else if (type == DType::int8 || type == DType::int16) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  } else {
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
  }
}

}  // namespace runnel
