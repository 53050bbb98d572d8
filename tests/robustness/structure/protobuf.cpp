// Protobuf messages without their schema: the wire says where fields begin and end. Bytes that read as a
// message are taken for one, which does no harm where they are a text: unchanged, they are written as they
// were.
#include <algorithm>
#include <cstring>
#include <memory>

#include "tests/robustness/structure/structure.h"

namespace runnel::test {
namespace {

using Span = std::span<const std::byte>;

enum Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Message;
struct Field {
  std::uint64_t key = 0;     // number << 3 | wire
  std::uint64_t number = 0;  // kVarint, kFixed32, kFixed64
  Bytes bytes;               // kBytes that are no message
  std::shared_ptr<Message> message;
  [[nodiscard]] Wire wire() const { return static_cast<Wire>(key & 7); }
};
struct Message {
  std::vector<Field> fields;
};

bool read_varint(Span& from, std::uint64_t& value) {
  value = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(10, from.size()); ++i) {
    value |= std::to_integer<std::uint64_t>(from[i] & std::byte{127}) << std::min<std::size_t>(7 * i, 63);
    if ((from[i] & std::byte{128}) == std::byte{0}) {
      from = from.subspan(i + 1);
      return true;
    }
  }
  return false;
}
bool read_fixed(Span& from, std::size_t bytes, std::uint64_t& value) {
  if (from.size() < bytes) return false;
  std::memcpy(&value, from.data(), bytes);
  from = from.subspan(bytes);
  return true;
}

constexpr int kDeepest = 12;
constexpr std::size_t kMostFields = 20000, kLargestMessage = std::size_t{1} << 20;

std::shared_ptr<Message> read(Span from, int depth, std::size_t& fields) {
  auto message = std::make_shared<Message>();
  while (!from.empty()) {
    Field field;
    if (++fields > kMostFields || !read_varint(from, field.key) || field.key >> 3 == 0 ||
        field.key >> 32 != 0)
      return nullptr;
    bool good = false;
    std::uint64_t length = 0;
    switch (field.wire()) {
      case kVarint:
        good = read_varint(from, field.number);
        break;
      case kFixed64:
        good = read_fixed(from, 8, field.number);
        break;
      case kFixed32:
        good = read_fixed(from, 4, field.number);
        break;
      case kBytes:
        good = read_varint(from, length) && length <= from.size();
        if (!good) break;
        field.bytes.assign(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(length));
        from = from.subspan(static_cast<std::size_t>(length));
        if (length >= 2 && length <= kLargestMessage && depth < kDeepest)
          field.message = read(field.bytes, depth + 1, fields);
        if (field.message != nullptr) field.bytes.clear();
        break;
      default:
        break;
    }
    if (!good) return nullptr;
    message->fields.push_back(std::move(field));
  }
  return message;
}

void write_varint(Bytes& to, std::uint64_t value) {
  for (; value >= 128; value >>= 7) to.push_back(static_cast<std::byte>(value | 128));
  to.push_back(static_cast<std::byte>(value));
}

// `lie`: now and then a length that is not the right one.
Bytes write(const Message& message, Random* lie) {
  Bytes out;
  for (const Field& field : message.fields) {
    write_varint(out, field.key);
    const std::size_t fixed = field.wire() == kFixed64 ? 8 : 4;
    if (field.wire() == kVarint) {
      write_varint(out, field.number);
    } else if (field.wire() == kBytes) {
      const Bytes bytes = field.message != nullptr ? write(*field.message, lie) : field.bytes;
      std::uint64_t length = bytes.size();
      if (lie != nullptr && lie->one_in(40)) length = lie->nasty(length);
      write_varint(out, length);
      out.insert(out.end(), bytes.begin(), bytes.end());
    } else {
      const std::size_t at = out.size();
      out.resize(at + fixed);
      std::memcpy(out.data() + at, &field.number, fixed);
    }
  }
  return out;
}

void collect(Message& message, std::vector<Message*>& to) {
  to.push_back(&message);
  for (Field& field : message.fields) {
    if (field.message != nullptr) collect(*field.message, to);
  }
}

Field copy_of(const Field& from) {
  Field made = from;
  if (from.message == nullptr) return made;
  made.message = std::make_shared<Message>();
  for (const Field& field : from.message->fields) made.message->fields.push_back(copy_of(field));
  return made;
}

// A field of the same number from anywhere: most likely of the same meaning.
const Field* alike(const Field& wanted, const std::vector<Message*>& messages, Random& random) {
  std::vector<const Field*> found;
  for (const Message* message : messages) {
    for (const Field& field : message->fields) {
      if (field.key == wanted.key && (field.message == nullptr) == (wanted.message == nullptr))
        found.push_back(&field);
    }
  }
  return found.empty() ? nullptr : random.pick(found);
}

// Bytes may be a text, or packed numbers.
void change_bytes(Bytes& bytes, Random& random) {
  switch (random.below(bytes.empty() ? 1 : 5)) {
    case 0:
      bytes.resize(random.below(bytes.size() + 9), static_cast<std::byte>(random.one_in(2) ? 0 : 'a'));
      break;
    case 1:
      random.pick(bytes) = static_cast<std::byte>(random.next());
      break;
    case 2: {
      const std::size_t width = std::min<std::size_t>(bytes.size(), random.one_in(2) ? 4 : 8);
      const std::size_t at = random.below(bytes.size() / width) * width;
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, width);
      word = random.nasty(word);
      std::memcpy(bytes.data() + at, &word, width);
      break;
    }
    case 3: {  // a packed varint
      Bytes packed;
      write_varint(packed, random.nasty(std::to_integer<std::uint64_t>(bytes[0])));
      const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(random.below(bytes.size() + 1));
      bytes.insert(at, packed.begin(), packed.end());
      break;
    }
    default: {
      const std::size_t at = random.below(bytes.size()), count = 1 + random.below(bytes.size() - at);
      bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                  bytes.begin() + static_cast<std::ptrdiff_t>(at + std::min<std::size_t>(count, 8)));
    }
  }
}

void change(Message& root, Message* other, Random& random) {
  std::vector<Message*> messages, others;
  collect(root, messages);
  collect(other == nullptr ? root : *other, others);
  Message& message = *random.pick(messages);
  if (message.fields.empty()) return;
  const std::size_t at = random.below(message.fields.size());
  const auto place = message.fields.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random.below(10)) {
    case 0:
      message.fields.erase(place);
      return;
    case 1: {
      Field copy = copy_of(*place);
      message.fields.insert(place, std::move(copy));
      return;
    }
    case 2:
      std::swap(message.fields[at], random.pick(message.fields));
      return;
    case 3:
      if (const Field* const found = alike(*place, others, random)) *place = copy_of(*found);
      return;
    case 4: {  // a field of another message
      const Message& from = *random.pick(others);
      if (!from.fields.empty()) {
        Field copy = copy_of(from.fields[random.below(from.fields.size())]);
        message.fields.insert(place, std::move(copy));
      }
      return;
    }
    case 5:
      if (random.one_in(3)) {  // another number, the same wire
        place->key = (1 + random.below(24)) << 3 | (place->key & 7);
        return;
      }
      break;
    default:
      break;
  }
  if (place->wire() != kBytes) {
    place->number = random.nasty(place->number);
  } else if (place->message == nullptr) {
    change_bytes(place->bytes, random);
  } else {
    change(*place->message, nullptr, random);
  }
}

}  // namespace

std::optional<Bytes> change_protobuf(Span file, Span other, Random& random) {
  std::size_t fields = 0;
  const auto root = read(file, 0, fields);
  if (root == nullptr || root->fields.empty()) return std::nullopt;
  fields = 0;
  const auto second = random.one_in(4) && !other.empty() ? read(other, 0, fields) : nullptr;
  for (std::size_t changes = 1 + random.below(4); changes > 0; --changes) change(*root, second.get(), random);
  return write(*root, random.one_in(16) ? &random : nullptr);
}

}  // namespace runnel::test
