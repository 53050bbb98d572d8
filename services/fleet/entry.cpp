#include "services/fleet/entry.h"

#include <algorithm>
#include <charconv>

#include "services/fleet/chunk.h"

namespace runnel::fleet {
namespace {

constexpr std::string_view kOwner = "Runnel-Owner", kGraph = "Runnel-Graph", kCovered = "Runnel-Covered",
                           kFormat = "Runnel-Format", kRun = "Runnel-Run", kNext = "Runnel-Next",
                           kEvents = "Runnel-Events", kEnded = "Runnel-Ended";
constexpr std::uint64_t kAny = ~std::uint64_t{0};

std::string digits_of(std::uint32_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(8, '0');
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = kDigits[value >> (28 - 4 * i) & 15];
  return out;
}

Result<std::uint64_t> number(const Headers& headers, std::string_view name, std::uint64_t most) {
  const std::string* const text = find(headers, name);
  if (text == nullptr) return std::uint64_t{0};
  const auto value = read_number(*text, most);
  if (!value.ok()) return value.status().at(name);
  return *value;
}

}  // namespace

Headers headers_of(const Entry& entry) {
  Headers out = {{std::string(kOwner), entry.owner},
                 {std::string(kGraph), digits_of(entry.graph)},
                 {std::string(kCovered), std::to_string(entry.covered)},
                 {std::string(kRun), std::to_string(entry.run)},
                 {std::string(kNext), std::to_string(entry.next)},
                 {std::string(kEvents), std::to_string(entry.events)}};
  if (entry.format) out.emplace_back(kFormat, text_of(*entry.format));
  if (entry.ended) out.emplace_back(kEnded, "1");
  return out;
}

Result<Entry> read_entry(const Headers& headers) {
  Entry entry;
  if (const std::string* const owner = find(headers, kOwner)) entry.owner = *owner;
  if (const std::string* const graph = find(headers, kGraph)) {
    const auto [end, error] = std::from_chars(graph->data(), graph->data() + graph->size(), entry.graph, 16);
    if (graph->size() != 8 || error != std::errc() || end != graph->data() + graph->size())
      return Status(Code::invalid_data) << kGraph << ": expected 8 hexadecimal digits";
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
  RUNNEL_ASSIGN(const std::uint64_t ended, number(headers, kEnded, 1));
  entry.ended = ended == 1;
  return entry;
}

}  // namespace runnel::fleet
