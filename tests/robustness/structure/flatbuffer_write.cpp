#include <algorithm>
#include <cstring>

#include "tests/robustness/structure/flatbuffer.h"

namespace runnel::test::flat {
namespace {

// Owners before what they own, as the format wants it: offsets point forward.
class Writer {
 public:
  Bytes file(const Table& root, std::span<const std::byte> identifier) {
    out_.assign(4, std::byte{0});
    out_.insert(out_.end(), identifier.begin(), identifier.end());
    point(0, table(root));
    align(16, 0);
    return std::move(out_);
  }

 private:
  // So that what follows `head` more bytes is aligned.
  void align(std::size_t to, std::size_t head) {
    while ((out_.size() + head) % to != 0) out_.push_back(std::byte{0});
  }
  template <class T>
  void append(T value) {
    const std::size_t at = out_.size();
    out_.resize(at + sizeof value);
    std::memcpy(out_.data() + at, &value, sizeof value);
  }
  void point(std::size_t from, std::size_t to) {
    const auto offset = static_cast<std::uint32_t>(to - from);
    std::memcpy(out_.data() + from, &offset, 4);
  }

  std::size_t numbers(const Numbers& value) {
    align(std::max<std::size_t>(value.alignment, 4), 4);
    const std::size_t at = out_.size();
    append(static_cast<std::uint32_t>(value.bytes.size() / value.element));
    out_.insert(out_.end(), value.bytes.begin(), value.bytes.end());
    if (value.text) out_.push_back(std::byte{0});
    return at;
  }
  template <class Items, class Write>
  std::size_t offsets(const Items& items, Write write) {
    align(4, 0);
    const std::size_t at = out_.size();
    append(static_cast<std::uint32_t>(items.size()));
    out_.resize(out_.size() + 4 * items.size());
    for (std::size_t i = 0; i < items.size(); ++i) point(at + 4 + 4 * i, write(items[i]));
    return at;
  }
  // Its own file, where the schema has bytes.
  std::size_t nested(const Table& inner) {
    Numbers bytes;
    bytes.bytes = Writer().file(inner, {});
    bytes.alignment = 16;
    return numbers(bytes);
  }

  std::size_t value_of(const Slot& slot) {
    if (const auto* some = std::get_if<Numbers>(&slot.value)) return numbers(*some);
    if (const auto* some = std::get_if<Tables>(&slot.value))
      return offsets(some->items, [&](const TablePointer& item) { return table(*item); });
    if (const auto* some = std::get_if<Texts>(&slot.value))
      return offsets(some->items, [&](const Numbers& item) { return numbers(item); });
    const Table& inner = *std::get<TablePointer>(slot.value);
    return slot.field->type()->base_type() == reflection::BaseType::Vector ? nested(inner) : table(inner);
  }

  std::size_t table(const Table& from) {
    // Places of the fields in the table, the widest first.
    std::vector<std::pair<std::size_t, const Slot*>> order;
    std::uint16_t length = 4;
    for (const Slot& slot : from.slots) {
      const auto* some = std::get_if<Inline>(&slot.value);
      order.emplace_back(some == nullptr ? 4 : some->bytes.size(), &slot);
      length = std::max<std::uint16_t>(length, static_cast<std::uint16_t>(slot.field->offset() + 2));
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::size_t size = 4;
    std::vector<std::pair<std::size_t, const Slot*>> places;
    for (const auto& [bytes, slot] : order) {
      const std::size_t alignment = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
      size = (size + alignment - 1) / alignment * alignment;
      places.emplace_back(size, slot);
      size += bytes;
    }
    align(8, length);  // the table starts where the table of its fields ends
    const std::size_t fields = out_.size();
    out_.resize(fields + length, std::byte{0});
    const auto total = static_cast<std::uint16_t>(size);
    std::memcpy(out_.data() + fields, &length, 2);
    std::memcpy(out_.data() + fields + 2, &total, 2);
    const std::size_t at = out_.size();
    append(static_cast<std::int32_t>(at - fields));
    out_.resize(at + size, std::byte{0});
    for (const auto& [place, slot] : places) {
      const auto offset = static_cast<std::uint16_t>(place);
      std::memcpy(out_.data() + fields + slot->field->offset(), &offset, 2);
      if (const auto* some = std::get_if<Inline>(&slot->value)) {
        if (!some->bytes.empty())
          std::memcpy(out_.data() + at + place, some->bytes.data(), some->bytes.size());
      }
    }
    for (const auto& [place, slot] : places) {
      if (std::holds_alternative<Inline>(slot->value)) continue;
      const std::size_t target = value_of(*slot);
      point(at + place, target);
    }
    return at;
  }

  Bytes out_;
};

}  // namespace

Bytes write(const Table& root, std::span<const std::byte> identifier) {
  return Writer().file(root, identifier);
}

}  // namespace runnel::test::flat
