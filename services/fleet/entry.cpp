#include "services/fleet/entry.h"

#include <algorithm>
#include <charconv>

#include "services/fleet/chunk.h"

namespace runnel::fleet {
namespace {

constexpr std::string_view kOwner = "Runnel-Owner", kCovered = "Runnel-Covered", kFormat = "Runnel-Format",
                           kRun = "Runnel-Run", kNext = "Runnel-Next", kEvents = "Runnel-Events",
                           kEnded = "Runnel-Ended", kBecomes = "Runnel-Becomes", kVersion = "Runnel-Version";
constexpr std::uint64_t kAny = ~std::uint64_t{0};

Result<std::uint64_t> number(const Headers& headers, std::string_view name, std::uint64_t most) {
  const std::string* const text = find(headers, name);
  if (text == nullptr) return std::uint64_t{0};
  const auto value = read_number(*text, most);
  if (!value.ok()) return value.status().at(name);
  return *value;
}

}  // namespace

std::string digits_of(std::uint32_t graph) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(8, '0');
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = kDigits[graph >> (28 - 4 * i) & 15];
  return out;
}

Result<std::uint32_t> read_digits(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != 8 || error != std::errc() || end != text.data() + text.size())
    return Status(Code::invalid_data, "expected 8 hexadecimal digits");
  return value;
}

std::string text_of(const Change& change) {
  return std::to_string(change.count) + ' ' + std::to_string(change.covered) + ' ' +
         std::to_string(change.run) + ' ' + std::to_string(change.sample) + ' ' +
         std::to_string(change.number);
}

Result<Change> read_change(std::string_view text) {
  const auto word = [&] {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view out = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return out;
  };
  Change out;
  RUNNEL_ASSIGN(out.count, read_number(word(), kAny));
  RUNNEL_ASSIGN(out.covered, read_number(word(), kAny));
  RUNNEL_ASSIGN(out.run, read_number(word(), kAny));
  RUNNEL_ASSIGN(const std::uint64_t sample,
                read_number(word(), static_cast<std::uint64_t>(StateArchive::kMostIndex)));
  out.sample = static_cast<std::int64_t>(sample);
  RUNNEL_ASSIGN(out.number, read_number(text, kAny));
  return out;
}

Headers headers_of(const Entry& entry) {
  Headers out = {{std::string(kGraphHeader), digits_of(entry.graph)},
                 {std::string(kCovered), std::to_string(entry.covered)},
                 {std::string(kRun), std::to_string(entry.run)},
                 {std::string(kNext), std::to_string(entry.next)},
                 {std::string(kEvents), std::to_string(entry.events)}};
  // Not without a value: libnats would read the line after it as one.
  if (!entry.owner.empty()) out.emplace_back(kOwner, entry.owner);
  if (entry.format) out.emplace_back(kFormat, text_of(*entry.format));
  if (entry.ended) out.emplace_back(kEnded, "1");
  if (entry.change.count > 0) out.emplace_back(kChangeHeader, text_of(entry.change));
  if (entry.becomes) out.emplace_back(kBecomes, digits_of(*entry.becomes));
  if (entry.version > 0) out.emplace_back(kVersion, std::to_string(entry.version));
  return out;
}

Result<Entry> read_entry(const Headers& headers) {
  Entry entry;
  if (const std::string* const owner = find(headers, kOwner)) entry.owner = *owner;
  if (const std::string* const graph = find(headers, kGraphHeader)) {
    const auto parsed = read_digits(*graph);
    if (!parsed.ok()) return parsed.status().at(kGraphHeader);
    entry.graph = *parsed;
  }
  if (const std::string* const format = find(headers, kFormat)) {
    const auto parsed = read_format(*format);
    if (!parsed.ok()) return parsed.status().at(kFormat);
    entry.format = *parsed;
  }
  RUNNEL_ASSIGN(entry.covered, number(headers, kCovered, kAny));
  RUNNEL_ASSIGN(entry.run, number(headers, kRun, kAny));
  RUNNEL_ASSIGN(const std::uint64_t next,
                number(headers, kNext, static_cast<std::uint64_t>(StateArchive::kMostIndex)));
  entry.next = static_cast<std::int64_t>(next);
  RUNNEL_ASSIGN(entry.events, number(headers, kEvents, kAny));
  RUNNEL_ASSIGN(entry.version, number(headers, kVersion, kAny - 1));
  RUNNEL_ASSIGN(const std::uint64_t ended, number(headers, kEnded, 1));
  entry.ended = ended == 1;
  if (const std::string* const change = find(headers, kChangeHeader)) {
    const auto parsed = read_change(*change);
    if (!parsed.ok()) return parsed.status().at(kChangeHeader);
    entry.change = *parsed;
  }
  if (const std::string* const becomes = find(headers, kBecomes)) {
    const auto parsed = read_digits(*becomes);
    if (!parsed.ok()) return parsed.status().at(kBecomes);
    entry.becomes = *parsed;
  }
  return entry;
}

}  // namespace runnel::fleet
