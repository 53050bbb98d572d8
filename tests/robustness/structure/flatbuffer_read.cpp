#include <algorithm>
#include <cstring>

#include "tests/robustness/structure/flatbuffer.h"

namespace runnel::test::flat {
namespace {

using reflection::BaseType;

std::size_t size_of(BaseType type) {
  switch (type) {
    case BaseType::UType:
    case BaseType::Bool:
    case BaseType::Byte:
    case BaseType::UByte:
      return 1;
    case BaseType::Short:
    case BaseType::UShort:
      return 2;
    case BaseType::Int:
    case BaseType::UInt:
    case BaseType::Float:
      return 4;
    case BaseType::Long:
    case BaseType::ULong:
    case BaseType::Double:
      return 8;
    default:
      return 0;
  }
}

// Every read is checked here: no verifier has seen the bytes.
class Reader {
 public:
  Reader(const Format& format, std::span<const std::byte> file) : format_(format), file_(file) {}

  TablePointer root() {
    std::size_t at = 0;
    return follow(0, at) ? table(*format_.root, at, 0) : nullptr;
  }

 private:
  static constexpr int kDeepest = 24;
  static constexpr std::size_t kMostTables = 4000;

  template <class T>
  bool number(std::size_t at, T& value) const {
    if (at > file_.size() || file_.size() - at < sizeof(T)) return false;
    std::memcpy(&value, file_.data() + at, sizeof(T));
    return true;
  }
  bool follow(std::size_t at, std::size_t& to) const {
    std::uint32_t offset = 0;
    if (!number(at, offset) || offset == 0) return false;
    to = at + offset;
    return to < file_.size();
  }
  const reflection::Object& object(const reflection::Type& type) const {
    return *format_.schema->objects()->Get(static_cast<flatbuffers::uoffset_t>(type.index()));
  }
  bool inline_bytes(std::size_t at, std::size_t size, Bytes& to) const {
    if (at > file_.size() || file_.size() - at < size) return false;
    to.assign(file_.begin() + static_cast<std::ptrdiff_t>(at),
              file_.begin() + static_cast<std::ptrdiff_t>(at + size));
    return true;
  }
  bool numbers(std::size_t at, std::size_t element, Numbers& to) const {
    std::uint32_t count = 0;
    if (!number(at, count) || element == 0 || count > file_.size() / element) return false;
    to.element = element;
    const std::size_t first = at + 4;
    for (to.alignment = 4; to.alignment < 64 && first % (2 * to.alignment) == 0;) to.alignment *= 2;
    return inline_bytes(first, count * element, to.bytes);
  }
  bool text(std::size_t at, Numbers& to) const {
    to.text = true;
    return numbers(at, 1, to);
  }

  // The table that a union's value is, by the byte beside it.
  const reflection::Object* union_type(const reflection::Field& field, const Table& owner) const {
    const auto* const values =
        format_.schema->enums()->Get(static_cast<flatbuffers::uoffset_t>(field.type()->index()))->values();
    for (const Slot& slot : owner.slots) {
      if (slot.field->id() + 1 != field.id() || slot.field->type()->base_type() != BaseType::UType) continue;
      const auto* const kind = std::get_if<Inline>(&slot.value);
      if (kind == nullptr || kind->bytes.empty()) return nullptr;
      for (const reflection::EnumVal* value : *values) {
        if (value->value() == std::to_integer<int>(kind->bytes[0]) && value->union_type() != nullptr &&
            value->union_type()->base_type() == BaseType::Obj)
          return &object(*value->union_type());
      }
    }
    return nullptr;
  }

  bool vector(const reflection::Field& field, std::size_t at, int depth, Value& to) {
    const reflection::Type& type = *field.type();
    std::uint32_t count = 0;
    if (!number(at, count) || count > file_.size()) return false;
    switch (type.element()) {
      case BaseType::String: {
        Texts texts;
        for (std::uint32_t i = 0; i < count; ++i) {
          std::size_t where = 0;
          if (!follow(at + 4 + 4 * std::size_t{i}, where) || !text(where, texts.items.emplace_back()))
            return false;
          if (++tables_ > kMostTables) return false;
        }
        to = std::move(texts);
        return true;
      }
      case BaseType::Obj: {
        const reflection::Object& element = object(type);
        if (element.is_struct())
          return numbers(at, static_cast<std::size_t>(element.bytesize()), to.emplace<Numbers>());
        Tables tables;
        for (std::uint32_t i = 0; i < count; ++i) {
          std::size_t where = 0;
          if (!follow(at + 4 + 4 * std::size_t{i}, where)) return false;
          tables.items.push_back(table(element, where, depth + 1));
          if (tables.items.back() == nullptr) return false;
        }
        to = std::move(tables);
        return true;
      }
      default:
        return numbers(at, size_of(type.element()), to.emplace<Numbers>());
    }
  }

  // A vector of bytes that is a file itself becomes the tree of that one.
  void open_nested(const Table& owner, Slot& slot) {
    if (format_.nested == nullptr) return;
    const auto* const bytes = std::get_if<Numbers>(&slot.value);
    if (bytes == nullptr || bytes->element != 1 || bytes->text) return;
    const reflection::Object* const type =
        format_.nested(*format_.schema, owner, slot.field->name()->string_view());
    if (type == nullptr) return;
    Format inner = format_;
    inner.root = type;
    TablePointer nested = Reader(inner, bytes->bytes).root();
    if (nested != nullptr) slot.value = std::move(nested);
  }

  bool slot(const reflection::Field& field, std::size_t at, int depth, Table& owner) {
    Slot slot{&field, Inline{}};
    const reflection::Type& type = *field.type();
    std::size_t where = 0;
    switch (type.base_type()) {
      case BaseType::String:
        if (!follow(at, where) || !text(where, slot.value.emplace<Numbers>())) return false;
        break;
      case BaseType::Vector:
        if (!follow(at, where) || !vector(field, where, depth, slot.value)) return false;
        break;
      case BaseType::Obj:
      case BaseType::Union: {
        const reflection::Object* const inner =
            type.base_type() == BaseType::Obj ? &object(type) : union_type(field, owner);
        if (inner == nullptr) return true;  // of a kind that is not known: left out
        if (inner->is_struct()) {
          if (!inline_bytes(at, static_cast<std::size_t>(inner->bytesize()),
                            std::get<Inline>(slot.value).bytes))
            return false;
          break;
        }
        if (!follow(at, where)) return false;
        TablePointer made = table(*inner, where, depth + 1);
        if (made == nullptr) return false;
        slot.value = std::move(made);
        break;
      }
      default:
        if (!inline_bytes(at, size_of(type.base_type()), std::get<Inline>(slot.value).bytes)) return false;
    }
    open_nested(owner, slot);
    owner.slots.push_back(std::move(slot));
    return true;
  }

  TablePointer table(const reflection::Object& type, std::size_t at, int depth) {
    std::int32_t back = 0;
    std::uint16_t length = 0;
    if (depth > kDeepest || ++tables_ > kMostTables || !number(at, back)) return nullptr;
    const std::int64_t vtable = static_cast<std::int64_t>(at) - back;
    if (vtable < 0 || !number(static_cast<std::size_t>(vtable), length)) return nullptr;
    auto made = std::make_unique<Table>();
    made->type = &type;
    // In the order of ids: the kind of a union comes before it.
    std::vector<const reflection::Field*> fields(type.fields()->begin(), type.fields()->end());
    std::sort(fields.begin(), fields.end(), [](const auto* a, const auto* b) { return a->id() < b->id(); });
    for (const reflection::Field* field : fields) {
      if (field->offset() + 2 > length) continue;
      std::uint16_t offset = 0;
      if (!number(static_cast<std::size_t>(vtable) + field->offset(), offset)) return nullptr;
      if (offset != 0 && !slot(*field, at + offset, depth, *made)) return nullptr;
    }
    return made;
  }

  const Format& format_;
  std::span<const std::byte> file_;
  std::size_t tables_ = 0;
};

}  // namespace

TablePointer read(const Format& format, std::span<const std::byte> file) {
  return Reader(format, file).root();
}

}  // namespace runnel::test::flat
