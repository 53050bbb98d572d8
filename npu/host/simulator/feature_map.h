// Conversion of feature maps between memory and dense arrays [height][width][depth].
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "npu/operation.h"

namespace runnel::npu {

// Raw values, zero point included. `region` holds the map's extent (bounds.h). Elements of up to 32 bits,
// with unsigned ones of 32 bits as their signed counterparts; as std::int64_t every type.
void read_map(const FeatureMap& map, std::span<const std::byte> region, std::vector<std::int32_t>& values);
void read_map(const FeatureMap& map, std::span<const std::byte> region, std::vector<std::int64_t>& values);
// The same as bytes: the elements as they are, elements_of(map) * map.element bytes.
void read_bytes(const FeatureMap& map, std::span<const std::byte> region, std::span<std::byte> elements);
void write_bytes(const FeatureMap& map, std::span<std::byte> region, std::span<const std::byte> elements);
// `count` elements of the map's type that are dense in memory.
void load_elements(const FeatureMap& map, const std::byte* from, std::size_t count, std::int32_t* to);
void load_elements(const FeatureMap& map, const std::byte* from, std::size_t count, std::int64_t* to);
// Writes the low bytes of each value.
void write_map(const FeatureMap& map, std::span<std::byte> region, std::span<const std::int32_t> values);
void write_map(const FeatureMap& map, std::span<std::byte> region, std::span<const std::int64_t> values);

inline std::size_t elements_of(const FeatureMap& map) noexcept {
  return static_cast<std::size_t>(map.height) * static_cast<std::size_t>(map.width) *
         static_cast<std::size_t>(map.depth);
}

}  // namespace runnel::npu
