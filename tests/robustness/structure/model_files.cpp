// The files around FlatBuffers: headers that state lengths, and segments after them.
#include <cstring>
#include <string_view>

#include "tests/robustness/structure/flatbuffer.h"
#include "tests/robustness/structure/schemas.h"
#include "tests/robustness/structure/structure.h"

namespace runnel::test {
namespace {

using Span = std::span<const std::byte>;

bool has(Span file, std::size_t at, std::string_view magic) {
  return file.size() >= at + magic.size() && std::memcmp(file.data() + at, magic.data(), magic.size()) == 0;
}
template <class T>
void put(Bytes& file, std::size_t at, T value) {
  if (file.size() >= at + sizeof value) std::memcpy(file.data() + at, &value, sizeof value);
}
template <class T>
T get(Span file, std::size_t at) {
  T value{};
  if (file.size() >= at + sizeof value) std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

// The tree after one to four changes.
flat::TablePointer changed(const flat::Format& format, Span file, Span other, Random& random) {
  flat::TablePointer root = flat::read(format, file);
  if (root == nullptr) return nullptr;
  const flat::TablePointer second = other.empty() ? nullptr : flat::read(format, other);
  for (std::size_t changes = 1 + random.below(4); changes > 0; --changes)
    flat::change(format, *root, random.one_in(4) ? second.get() : nullptr, random);
  return root;
}

std::optional<Bytes> with_identifier(const flat::Format& format, Span file, Span other, Random& random) {
  if (file.size() < 8) return std::nullopt;
  const flat::TablePointer root = changed(format, file, other, random);
  if (root == nullptr) return std::nullopt;
  return flat::write(*root, file.subspan(4, 4));
}

}  // namespace

std::optional<Bytes> change_rnl(Span file, Span other, Random& random) {
  if (!has(file, 4, "RNL1")) return std::nullopt;
  const flat::TablePointer root = changed(flat::rnl_format(), file, other, random);
  if (root == nullptr) return std::nullopt;
  Bytes made = flat::write(*root, file.subspan(4, 4));
  // The file states its size: nearly always the right one.
  if (random.one_in(20)) return made;
  for (flat::Slot& slot : root->slots) {
    auto* const number = std::get_if<flat::Inline>(&slot.value);
    if (number != nullptr && slot.field->name()->string_view() == "bytes")
      put(number->bytes, 0, std::uint64_t{made.size()});
  }
  return flat::write(*root, file.subspan(4, 4));
}

std::optional<Bytes> change_tflite(Span file, Span other, Random& random) {
  if (!has(file, 4, "TFL3")) return std::nullopt;
  return with_identifier(flat::tflite_format(), file, other, random);
}

std::optional<Bytes> change_espdl(Span file, Span other, Random& random) {
  const bool first = has(file, 0, "EDL1");
  if (!first && !has(file, 0, "EDL2")) return std::nullopt;
  const std::size_t head = first ? 12 : 16;
  if (file.size() < head) return std::nullopt;
  const flat::TablePointer root = changed(flat::espdl_format(), file.subspan(head),
                                          other.size() < head ? Span() : other.subspan(head), random);
  if (root == nullptr) return std::nullopt;
  const Bytes payload = flat::write(*root, {});
  Bytes made(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(head));
  auto length = static_cast<std::uint32_t>(payload.size());
  if (random.one_in(30)) length = static_cast<std::uint32_t>(random.nasty(length));
  put(made, 8, length);
  if (random.one_in(60)) put(made, 4, static_cast<std::uint32_t>(random.nasty(0)));
  made.insert(made.end(), payload.begin(), payload.end());
  return made;
}

namespace {

constexpr std::size_t kExtended = 8;  // "eh00", its length, the sizes of program and segments

// The FlatBuffer begins at byte 0 and leaves room for the extended header: all offsets in it move by as much.
std::optional<Bytes> change_program(Span file, Span other, Random& random) {
  const bool extended = has(file, kExtended, "eh00");
  const auto length = get<std::uint32_t>(file, 12);
  const auto program = extended ? get<std::uint64_t>(file, 16) : file.size();
  const auto base = extended ? get<std::uint64_t>(file, 24) : 0;
  if (program > file.size() || base > file.size() || (extended && (length < 24 || length > 64)))
    return std::nullopt;
  const flat::TablePointer root =
      changed(flat::pte_format(), file.first(static_cast<std::size_t>(program)), other, random);
  if (root == nullptr) return std::nullopt;
  Bytes head(file.begin() + 4, file.begin() + 8);
  if (extended)
    head.insert(head.end(), file.begin() + 8, file.begin() + 8 + static_cast<std::ptrdiff_t>(length));
  while ((head.size() + 4) % 8 != 0) head.push_back(std::byte{0});
  Bytes made = flat::write(*root, head);
  if (!extended) return made;
  std::uint64_t stated = made.size();
  if (random.one_in(30)) stated = random.nasty(stated);
  put(made, 16, stated);
  if (base == 0) return made;
  while (made.size() % 16 != 0) made.push_back(std::byte{0});
  std::uint64_t start = made.size();
  if (random.one_in(30)) start = random.nasty(start);
  put(made, 24, start);
  if (length >= 32 && random.one_in(30)) put(made, 32, random.nasty(get<std::uint64_t>(file, 32)));
  made.insert(made.end(), file.begin() + static_cast<std::ptrdiff_t>(base), file.end());
  return made;
}

}  // namespace

std::optional<Bytes> change_pte(Span file, Span other, Random& random) {
  if (has(file, 4, "ET12")) return change_program(file, other, random);
  if (!has(file, 4, "BP08")) return std::nullopt;
  flat::TablePointer root = flat::read(flat::bundle_format(), file);
  if (root == nullptr) return std::nullopt;
  for (flat::Slot& slot : root->slots) {
    auto* const bytes = std::get_if<flat::Numbers>(&slot.value);
    if (bytes == nullptr || slot.field->name()->string_view() != "program" || !random.one_in(2)) continue;
    if (const auto inner = change_program(bytes->bytes, {}, random)) bytes->bytes = *inner;
    return flat::write(*root, file.subspan(4, 4));
  }
  for (std::size_t changes = 1 + random.below(3); changes > 0; --changes)
    flat::change(flat::bundle_format(), *root, nullptr, random);
  return flat::write(*root, file.subspan(4, 4));
}

}  // namespace runnel::test
