// JSON: manifests, lists, messages, cards. Values, names and nesting are changed; now and then the text
// around them.
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/robustness/structure/structure.h"

namespace runnel::test {
namespace {

using Span = std::span<const std::byte>;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLargest = std::size_t{1} << 20;

std::optional<Json> read(Span file) {
  if (file.empty() || file.size() > kLargest) return std::nullopt;
  // Deep nesting would be a deep call.
  int depth = 0;
  for (const std::byte letter : file) {
    if (letter == std::byte{'['} || letter == std::byte{'{'}) ++depth;
    if (depth > 200) return std::nullopt;
    if (letter == std::byte{']'} || letter == std::byte{'}'}) --depth;
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

void collect(Json& value, std::vector<Json*>& to) {
  to.push_back(&value);
  if (value.is_structured()) {
    for (Json& item : value) collect(item, to);
  }
}

Json any_value(Random& random) {
  switch (random.below(9)) {
    case 0:
      return nullptr;
    case 1:
      return random.one_in(2);
    case 2:
      return static_cast<std::int64_t>(random.nasty(random.below(100000)));
    case 3:
      return random.nasty(0);
    case 4: {
      static constexpr double kValues[] = {0.0, -0.0, 0.5, 1e308, -1e308, 1e-320, 1e19, 4294967296.5};
      return random.pick(kValues);
    }
    case 5:
      return std::string(random.below(random.one_in(8) ? 5000 : 20), 'a');
    case 6: {
      static const std::string kTexts[] = {"",     "\n",      "\xc3\xa4", "../../x", "/dev/zero",
                                           "%s%n", "a\\b\"c", "nan",      "-1",      "1e400"};
      return random.pick(kTexts);
    }
    case 7:
      return Json::array();
    default:
      return Json::object();
  }
}

void change(Json& root, Json* other, Random& random) {
  std::vector<Json*> values, others;
  collect(root, values);
  collect(other == nullptr ? root : *other, others);
  Json& value = *random.pick(values);
  const std::size_t count = value.size();
  switch (random.below(8)) {
    case 0: {  // a copy from elsewhere
      const Json copy = *random.pick(others);
      value = copy;
      return;
    }
    case 1: {
      Json inner = std::move(value);
      value = Json::array();
      value.push_back(std::move(inner));
      return;
    }
    case 2:
      if (value.is_structured() && count > 0) {
        auto place = value.begin();
        std::advance(place, static_cast<std::ptrdiff_t>(random.below(count)));
        value.erase(place);
        return;
      }
      break;
    case 3:
      if (value.is_array()) {
        const Json item = count > 0 ? value[random.below(count)] : any_value(random);
        for (std::size_t more = 1 + random.below(random.one_in(8) ? 300 : 3); more > 0; --more)
          value.push_back(item);
        return;
      }
      if (value.is_object() && count > 0) {  // another name
        auto place = value.begin();
        std::advance(place, static_cast<std::ptrdiff_t>(random.below(count)));
        const std::string name = random.one_in(2) ? place.key() + "x" : std::string(random.below(4), 'k');
        const Json item = place.value();
        value[name] = item;
        return;
      }
      break;
    case 4:
      if (value.is_string() && !value.get_ref<std::string&>().empty()) {
        std::string& text = value.get_ref<std::string&>();
        text[random.below(text.size())] = static_cast<char>(' ' + random.below(95));
        return;
      }
      break;
    default:
      break;
  }
  if (value.is_number_integer() && !random.one_in(4)) {
    value = static_cast<std::int64_t>(random.nasty(static_cast<std::uint64_t>(value.get<std::int64_t>())));
  } else if (!value.is_structured() || random.one_in(8)) {
    value = any_value(random);
  }
}

// A name twice, a comma too many, a bracket that is missing, a sign of another coding.
void change_text(std::string& text, Random& random) {
  if (text.empty()) return;
  const std::size_t at = random.below(text.size());
  switch (random.below(4)) {
    case 0: {
      const std::size_t from = text.find('"', at),
                        colon = text.find(':', from == std::string::npos ? at : from);
      const std::size_t comma = text.find(',', colon == std::string::npos ? at : colon);
      if (from != std::string::npos && colon != std::string::npos && comma != std::string::npos)
        text.insert(from, text.substr(from, comma - from + 1));
      break;
    }
    case 1: {
      static constexpr std::string_view kSigns[] = {",", "[",  "]",    "{",       "}",     "\"",
                                                    ":", "\\", "\xff", "\\ud800", "1e999", "-"};
      text.insert(at, random.pick(kSigns));
      break;
    }
    case 2:
      text.erase(at, 1 + random.below(3));
      break;
    default:
      text.insert(at, std::string(random.one_in(4) ? 3000 : 70, '['));
  }
}

}  // namespace

std::optional<Bytes> change_json(Span file, Span other, Random& random) {
  // A message may be a line with more after it.
  const void* const line = file.empty() ? nullptr : std::memchr(file.data(), '\n', file.size());
  const std::size_t first = line == nullptr
                                ? file.size()
                                : static_cast<std::size_t>(static_cast<const std::byte*>(line) - file.data());
  std::size_t used = file.size();
  std::optional<Json> value = read(file);
  if (!value) {
    value = read(file.first(first));
    used = first;
  }
  if (!value) return std::nullopt;
  std::optional<Json> second;
  if (random.one_in(4)) second = read(other);
  for (std::size_t changes = 1 + random.below(4); changes > 0; --changes)
    change(*value, second ? &*second : nullptr, random);
  std::string text = value->dump(random.one_in(4) ? 1 : -1, ' ', false, Json::error_handler_t::replace);
  if (random.one_in(8)) change_text(text, random);
  Bytes out(text.size());
  if (!text.empty()) std::memcpy(out.data(), text.data(), text.size());
  out.insert(out.end(), file.begin() + static_cast<std::ptrdiff_t>(used), file.end());
  return out;
}

}  // namespace runnel::test
