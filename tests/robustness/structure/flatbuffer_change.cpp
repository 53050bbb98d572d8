#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

#include "tests/robustness/structure/flatbuffer.h"

namespace runnel::test::flat {
namespace {

using reflection::BaseType;

TablePointer copy_of(const Table& from);

Value copy_of(const Value& from) {
  if (const auto* some = std::get_if<Inline>(&from)) return *some;
  if (const auto* some = std::get_if<Numbers>(&from)) return *some;
  if (const auto* some = std::get_if<Texts>(&from)) return *some;
  if (const auto* some = std::get_if<TablePointer>(&from)) return copy_of(**some);
  Tables tables;
  for (const TablePointer& item : std::get<Tables>(from).items) tables.items.push_back(copy_of(*item));
  return tables;
}

TablePointer copy_of(const Table& from) {
  auto made = std::make_unique<Table>();
  made->type = from.type;
  for (const Slot& slot : from.slots) made->slots.push_back({slot.field, copy_of(slot.value)});
  return made;
}

// All tables below this one, itself first.
void collect(const Table& table, std::vector<const Table*>& to) {
  to.push_back(&table);
  for (const Slot& slot : table.slots) {
    if (const auto* inner = std::get_if<TablePointer>(&slot.value)) collect(**inner, to);
    if (const auto* list = std::get_if<Tables>(&slot.value)) {
      for (const TablePointer& item : list->items) collect(*item, to);
    }
  }
}
void collect(Table& table, std::vector<Table*>& to) {
  to.push_back(&table);
  for (Slot& slot : table.slots) {
    if (auto* inner = std::get_if<TablePointer>(&slot.value)) collect(**inner, to);
    if (auto* list = std::get_if<Tables>(&slot.value)) {
      for (const TablePointer& item : list->items) collect(*item, to);
    }
  }
}

bool is_real(BaseType type) { return type == BaseType::Float || type == BaseType::Double; }

class Change {
 public:
  Change(const Format& format, Table& root, const Table* other, Random& random)
      : format_(format), root_(root), other_(other == nullptr ? root : *other), random_(random) {}

  void make() {
    std::vector<Table*> tables;
    collect(root_, tables);
    Table& table = *random_.pick(tables);
    if (table.slots.empty() || random_.one_in(10)) {
      add_field(table);
      return;
    }
    const std::size_t at = random_.below(table.slots.size());
    Slot& slot = table.slots[at];
    if (random_.one_in(16)) {
      table.slots.erase(table.slots.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (random_.one_in(12)) {
      take_over(table, slot);
    } else if (auto* number = std::get_if<Inline>(&slot.value)) {
      change_number(*slot.field->type(), *number);
    } else if (auto* numbers = std::get_if<Numbers>(&slot.value)) {
      numbers->text ? change_text(*numbers) : change_numbers(*slot.field->type(), *numbers);
    } else if (auto* texts = std::get_if<Texts>(&slot.value)) {
      change_list(texts->items, [](const Numbers& text) { return text; });
      if (!texts->items.empty() && random_.one_in(2)) change_text(random_.pick(texts->items));
    } else if (auto* list = std::get_if<Tables>(&slot.value)) {
      change_tables(*list);
    } else {
      replace(std::get<TablePointer>(slot.value));
    }
  }

 private:
  void set_word(std::byte* at, std::size_t bytes, bool real) {
    if (real && !random_.one_in(4)) {
      static constexpr double kValues[] = {0,
                                           -0.0,
                                           1,
                                           -1,
                                           0.5,
                                           1e-45,
                                           1e-38,
                                           3.4e38,
                                           -3.4e38,
                                           1e300,
                                           65536,
                                           std::numeric_limits<double>::infinity(),
                                           std::numeric_limits<double>::quiet_NaN()};
      const double value = random_.pick(kValues);
      const auto narrow = static_cast<float>(std::clamp(value, -3.4e38, 3.4e38));
      const float single = value != value ? std::numeric_limits<float>::quiet_NaN() : narrow;
      std::memcpy(at, bytes == 8 ? static_cast<const void*>(&value) : &single,
                  std::min<std::size_t>(bytes, 8));
      return;
    }
    std::uint64_t word = 0;
    bytes = std::min<std::size_t>(bytes, 8);
    std::memcpy(&word, at, bytes);
    word = random_.nasty(word);
    std::memcpy(at, &word, bytes);
  }

  // A value that the enumeration has, or any.
  void change_number(const reflection::Type& type, Inline& number) {
    if (number.bytes.empty()) return;
    const bool scalar = type.base_type() != BaseType::Obj;
    if (scalar && type.index() >= 0 && random_.one_in(2)) {
      const auto* values =
          format_.schema->enums()->Get(static_cast<flatbuffers::uoffset_t>(type.index()))->values();
      const std::int64_t value =
          values->Get(static_cast<flatbuffers::uoffset_t>(random_.below(values->size())))->value();
      std::memcpy(number.bytes.data(), &value, std::min<std::size_t>(number.bytes.size(), 8));
      return;
    }
    if (scalar) return set_word(number.bytes.data(), number.bytes.size(), is_real(type.base_type()));
    const std::size_t width = number.bytes.size() % 8 == 0 ? 8 : number.bytes.size() % 4 == 0 ? 4 : 1;
    set_word(number.bytes.data() + width * random_.below(number.bytes.size() / width), width, false);
  }

  void change_numbers(const reflection::Type& type, Numbers& numbers) {
    const std::size_t element = numbers.element, count = numbers.bytes.size() / element;
    const std::size_t at = random_.below(count) * element;
    const auto place = numbers.bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random_.below(8)) {
      case 0:  // shorter
        if (count > 0) numbers.bytes.erase(place, place + static_cast<std::ptrdiff_t>(element));
        break;
      case 1:  // longer, by a copy or zeros
        if (count > 0 && random_.one_in(2)) {
          const Bytes copy(place, place + static_cast<std::ptrdiff_t>(element));
          numbers.bytes.insert(place, copy.begin(), copy.end());
        } else {
          numbers.bytes.resize(numbers.bytes.size() +
                               element * (1 + random_.below(random_.one_in(8) ? 300 : 3)));
        }
        break;
      case 2:
        if (random_.one_in(2)) numbers.bytes.resize(element * random_.below(count + 1));
        break;
      default:
        if (count > 0) set_word(numbers.bytes.data() + at, element, is_real(type.element()));
    }
  }

  void change_text(Numbers& text) {
    if (random_.one_in(3)) {  // another text
      std::vector<const Numbers*> texts;
      std::vector<const Table*> tables;
      collect(other_, tables);
      for (const Table* table : tables) {
        for (const Slot& slot : table->slots) {
          const auto* some = std::get_if<Numbers>(&slot.value);
          if (some != nullptr && some->text) texts.push_back(some);
          if (const auto* list = std::get_if<Texts>(&slot.value)) {
            for (const Numbers& item : list->items) texts.push_back(&item);
          }
        }
      }
      if (!texts.empty()) text.bytes = random_.pick(texts)->bytes;
      return;
    }
    if (text.bytes.empty() || random_.one_in(4)) {
      text.bytes.resize(random_.below(text.bytes.size() + 8),
                        static_cast<std::byte>('a' + random_.below(26)));
      return;
    }
    random_.pick(text.bytes) = static_cast<std::byte>(random_.next());
  }

  template <class Item, class Copy>
  void change_list(std::vector<Item>& items, Copy copy) {
    const std::size_t at = random_.below(items.size()), other = random_.below(items.size());
    const auto place = items.begin() + static_cast<std::ptrdiff_t>(at);
    if (items.empty()) return;
    switch (random_.below(4)) {
      case 0:
        items.erase(place);
        break;
      case 1:
        items.insert(place, copy(items[other]));
        break;
      case 2:
        std::swap(items[at], items[other]);
        break;
      default:
        items.resize(items.size() - random_.below(2));
    }
  }

  // A copy of one of the tables of this type, or null.
  TablePointer another(const reflection::Object* type) {
    std::vector<const Table*> tables;
    collect(other_, tables);
    std::erase_if(tables, [&](const Table* table) { return table->type != type; });
    return tables.empty() ? nullptr : copy_of(*random_.pick(tables));
  }

  void change_tables(Tables& list) {
    if (!list.items.empty() && random_.one_in(3)) return replace(random_.pick(list.items));
    change_list(list.items, [](const TablePointer& item) { return copy_of(*item); });
  }

  void replace(TablePointer& table) {
    TablePointer made = another(table->type);
    if (made != nullptr) table = std::move(made);
  }

  // The same field of another table of this type; of a union, value and kind.
  void take_over(Table& table, Slot& slot) {
    const TablePointer from = another(table.type);
    if (from == nullptr) return;
    const bool kind = slot.field->type()->base_type() == BaseType::Union;
    for (Slot& there : from->slots) {
      for (Slot& here : table.slots) {
        const bool same = there.field == here.field;
        if (same && (here.field == slot.field || (kind && here.field->id() + 1 == slot.field->id())))
          here.value = std::move(there.value);
        if (same && here.field == slot.field) break;
      }
    }
  }

  void add_field(Table& table) {
    std::vector<const reflection::Field*> absent;
    for (const reflection::Field* field : *table.type->fields()) {
      if (std::none_of(table.slots.begin(), table.slots.end(),
                       [&](const Slot& s) { return s.field == field; }))
        absent.push_back(field);
    }
    if (absent.empty()) return;
    const reflection::Field& field = *random_.pick(absent);
    const TablePointer from = another(table.type);
    if (from != nullptr) {
      for (Slot& slot : from->slots) {
        if (slot.field == &field) {
          table.slots.push_back(std::move(slot));
          return;
        }
      }
    }
    const reflection::Type& type = *field.type();
    if (type.base_type() >= BaseType::UType && type.base_type() <= BaseType::Double) {
      Inline number{Bytes(type.base_size() == 0 ? 4 : type.base_size())};
      change_number(type, number);
      table.slots.push_back({&field, std::move(number)});
    } else if (type.base_type() == BaseType::Vector && type.element() <= BaseType::Double) {
      Numbers numbers;
      numbers.element = type.element_size() == 0 ? 1 : type.element_size();
      numbers.bytes.resize(numbers.element * random_.below(4));
      numbers.alignment = 16;
      table.slots.push_back({&field, std::move(numbers)});
    }
  }

  const Format& format_;
  Table& root_;
  const Table& other_;
  Random& random_;
};

}  // namespace

void change(const Format& format, Table& root, const Table* other, Random& random) {
  Change(format, root, other, random).make();
}

}  // namespace runnel::test::flat
