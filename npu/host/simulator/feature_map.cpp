#include "npu/host/simulator/feature_map.h"

#include <algorithm>
#include <cstring>

namespace runnel::npu {
namespace {

template <class T, class V>
void load(const std::byte* from, std::size_t count, V* to) {
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    to[i] = static_cast<V>(value);
  }
}
template <class T, class V>
void store(std::byte* to, std::size_t count, const V* from) {
  for (std::size_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(from[i]);
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

template <class V>
void load_run(const FeatureMap& map, const std::byte* from, std::size_t count, V* to) {
  if (map.element == 1)
    return map.is_signed ? load<std::int8_t>(from, count, to) : load<std::uint8_t>(from, count, to);
  if (map.element == 2)
    return map.is_signed ? load<std::int16_t>(from, count, to) : load<std::uint16_t>(from, count, to);
  if (map.element == 8) return load<std::int64_t>(from, count, to);
  return map.is_signed ? load<std::int32_t>(from, count, to) : load<std::uint32_t>(from, count, to);
}
template <class V>
void store_run(const FeatureMap& map, std::byte* to, std::size_t count, const V* from) {
  if (map.element == 1) return store<std::uint8_t>(to, count, from);
  if (map.element == 2) return store<std::uint16_t>(to, count, from);
  if (map.element == 8) return store<std::int64_t>(to, count, from);
  store<std::int32_t>(to, count, from);
}

// Whether each row of the map is one run of elements.
bool dense_rows(const FeatureMap& map) {
  return map.storage == Storage::tiles_2x2 && map.layout == Layout::nhwc && map.width0 >= map.width &&
         map.height0 >= map.height && map.stride_x == std::int64_t{map.depth} * map.element;
}

// visit(address, first dense index, count) for each contiguous run of elements.
template <class Visit>
void for_each_run(const FeatureMap& map, const Visit& visit) {
  std::size_t at = 0;
  if (dense_rows(map)) {
    const std::size_t row = static_cast<std::size_t>(map.width) * static_cast<std::size_t>(map.depth);
    const bool dense = map.stride_y == static_cast<std::int64_t>(row) * map.element;
    if (dense) return visit(static_cast<std::size_t>(map.base[0]), at, elements_of(map));
    for (std::int32_t y = 0; y < map.height; ++y, at += row)
      visit(static_cast<std::size_t>(address_of(map, y, 0)), at, row);
    return;
  }
  const std::int32_t run = map.layout == Layout::nhwc ? map.depth : 16;
  const std::int64_t step = map.layout == Layout::nhwc ? 0 : map.stride_c;
  for (std::int32_t y = 0; y < map.height; ++y) {
    for (std::int32_t x = 0; x < map.width; ++x) {
      std::int64_t address = address_of(map, y, x);
      for (std::int32_t c = 0; c < map.depth; c += run, address += step) {
        const auto count = static_cast<std::size_t>(std::min(run, map.depth - c));
        visit(static_cast<std::size_t>(address), at, count);
        at += count;
      }
    }
  }
}

template <class V>
void read(const FeatureMap& map, std::span<const std::byte> region, std::vector<V>& values) {
  values.resize(elements_of(map));
  for_each_run(map, [&](std::size_t address, std::size_t at, std::size_t count) {
    load_run(map, region.data() + address, count, values.data() + at);
  });
}
template <class V>
void write(const FeatureMap& map, std::span<std::byte> region, std::span<const V> values) {
  for_each_run(map, [&](std::size_t address, std::size_t at, std::size_t count) {
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
void read_bytes(const FeatureMap& map, std::span<const std::byte> region, std::span<std::byte> elements) {
  for_each_run(map, [&](std::size_t address, std::size_t at, std::size_t count) {
    std::memcpy(elements.data() + at * map.element, region.data() + address, count * map.element);
  });
}
void write_bytes(const FeatureMap& map, std::span<std::byte> region, std::span<const std::byte> elements) {
  for_each_run(map, [&](std::size_t address, std::size_t at, std::size_t count) {
    std::memcpy(region.data() + address, elements.data() + at * map.element, count * map.element);
  });
}
void load_elements(const FeatureMap& map, const std::byte* from, std::size_t count, std::int32_t* to) {
  load_run(map, from, count, to);
}
void load_elements(const FeatureMap& map, const std::byte* from, std::size_t count, std::int64_t* to) {
  load_run(map, from, count, to);
}
void write_map(const FeatureMap& map, std::span<std::byte> region, std::span<const std::int32_t> values) {
  write(map, region, values);
}
void write_map(const FeatureMap& map, std::span<std::byte> region, std::span<const std::int64_t> values) {
  write(map, region, values);
}

}  // namespace runnel::npu
