#include "npu/host/simulator/feature_map.h"

#include <algorithm>
#include <cstring>

namespace runnel::npu {
namespace {

template <class T, class V>
void load(const std::byte* from, std::int32_t count, V* to) {
  for (std::int32_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    to[i] = static_cast<V>(value);
  }
}
template <class T, class V>
void store(std::byte* to, std::int32_t count, const V* from) {
  for (std::int32_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(from[i]);
    std::memcpy(to + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
  }
}

template <class V>
void load_run(const FeatureMap& map, const std::byte* from, std::int32_t count, V* to) {
  if (map.element == 1)
    return map.is_signed ? load<std::int8_t>(from, count, to) : load<std::uint8_t>(from, count, to);
  if (map.element == 2)
    return map.is_signed ? load<std::int16_t>(from, count, to) : load<std::uint16_t>(from, count, to);
  if (map.element == 8) return load<std::int64_t>(from, count, to);
  return map.is_signed ? load<std::int32_t>(from, count, to) : load<std::uint32_t>(from, count, to);
}
template <class V>
void store_run(const FeatureMap& map, std::byte* to, std::int32_t count, const V* from) {
  if (map.element == 1) return store<std::uint8_t>(to, count, from);
  if (map.element == 2) return store<std::uint16_t>(to, count, from);
  if (map.element == 8) return store<std::int64_t>(to, count, from);
  store<std::int32_t>(to, count, from);
}

// visit(address, first dense index, count) for each contiguous run of channels.
template <class Visit>
void for_each_run(const FeatureMap& map, const Visit& visit) {
  std::size_t at = 0;
  for (std::int32_t y = 0; y < map.height; ++y) {
    for (std::int32_t x = 0; x < map.width; ++x) {
      const std::int64_t address = address_of(map, y, x);
      const std::int32_t run = map.layout == Layout::nhwc ? map.depth : 16;
      for (std::int32_t c = 0; c < map.depth; c += run) {
        const std::int32_t count = std::min(run, map.depth - c);
        visit(static_cast<std::size_t>(address + c / 16 * (map.layout == Layout::nhwc ? 0 : map.stride_c)),
              at, count);
        at += static_cast<std::size_t>(count);
      }
    }
  }
}

template <class V>
void read(const FeatureMap& map, std::span<const std::byte> region, std::vector<V>& values) {
  values.resize(elements_of(map));
  for_each_run(map, [&](std::size_t address, std::size_t at, std::int32_t count) {
    load_run(map, region.data() + address, count, values.data() + at);
  });
}
template <class V>
void write(const FeatureMap& map, std::span<std::byte> region, std::span<const V> values) {
  for_each_run(map, [&](std::size_t address, std::size_t at, std::int32_t count) {
    store_run(map, region.data() + address, count, values.data() + at);
  });
}

}  // namespace

void read_map(const FeatureMap& map, std::span<const std::byte> region, std::vector<std::int32_t>& values) {
  read(map, region, values);
}
void read_map(const FeatureMap& map, std::span<const std::byte> region, std::vector<std::int64_t>& values) {
  read(map, region, values);
}
void read_bytes(const FeatureMap& map, std::span<const std::byte> region, std::span<std::byte> values) {
  for_each_run(map, [&](std::size_t address, std::size_t at, std::int32_t count) {
    std::memcpy(values.data() + at, region.data() + address, static_cast<std::size_t>(count));
  });
}
void write_map(const FeatureMap& map, std::span<std::byte> region, std::span<const std::int32_t> values) {
  write(map, region, values);
}
void write_map(const FeatureMap& map, std::span<std::byte> region, std::span<const std::int64_t> values) {
  write(map, region, values);
}

}  // namespace runnel::npu
