#include "services/fleet/chunk.h"

#include <algorithm>
#include <charconv>

namespace runnel::fleet {
namespace {

constexpr std::string_view kFormat = "Runnel-Format", kFirst = "Runnel-First", kRun = "Runnel-Run",
                           kTime = "Runnel-Time", kEnd = "Runnel-End", kGap = "Runnel-Gap";
constexpr std::uint64_t kMostIndex = static_cast<std::uint64_t>(StateArchive::kMostIndex);

// What of a text is shown in a message.
std::string shown(std::string_view text) {
  std::string out(text.substr(0, 40));
  for (char& letter : out)
    if (letter < ' ' || letter > '~') letter = '?';
  return '"' + out + '"';
}

Result<std::uint64_t> number(const Headers& headers, std::string_view name, std::uint64_t most, bool needed) {
  const std::string* const text = find(headers, name);
  if (text == nullptr) {
    if (needed) return Status(Code::invalid_data) << "a chunk without the header " << name;
    return std::uint64_t{0};
  }
  const auto value = read_number(*text, most);
  if (!value.ok()) return value.status().at(name);
  return *value;
}

}  // namespace

Result<std::uint64_t> read_number(std::string_view text, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value > most)
    return Status(Code::invalid_data) << "expected a number up to " << most << ", found " << shown(text);
  return value;
}

std::string text_of(const serve::SampleFormat& format) {
  return std::string(pipeline::name_of(format.code)) + ' ' + std::to_string(format.rate) + ' ' +
         std::to_string(format.channels);
}

Result<serve::SampleFormat> read_format(std::string_view text) {
  const auto wrong = [&] {
    return Status(Code::invalid_data) << "expected a format like \"s16 16000 1\" (1000 to 768000 Hz; float: "
                                         "from 1 Hz; 1 to 8 channels), "
                                         "found "
                                      << shown(text);
  };
  const std::size_t first = text.find(' '), second = text.rfind(' ');
  if (first == std::string_view::npos || first == second) return wrong();
  const std::string_view code = text.substr(0, first);
  const auto known = std::find_if(std::begin(pipeline::kSampleCodes), std::end(pipeline::kSampleCodes),
                                  [&](pipeline::SampleCode one) { return pipeline::name_of(one) == code; });
  const auto rate = read_number(text.substr(first + 1, second - first - 1), 768000);
  const auto channels = read_number(text.substr(second + 1), 8);
  if (known == std::end(pipeline::kSampleCodes) || !rate.ok() || !channels.ok() || *channels < 1)
    return wrong();
  // Rows of sensors are floats as well.
  if (*rate < 1 || (*known != pipeline::SampleCode::float32 && (*rate < 1000 || *rate % 25 != 0)))
    return wrong();
  serve::SampleFormat format;
  format.code = *known;
  format.rate = static_cast<std::int64_t>(*rate);
  format.channels = static_cast<std::int32_t>(*channels);
  return format;
}

Result<Chunk> read_chunk(const Message& message) {
  Chunk chunk;
  const std::string* const format = find(message.headers, kFormat);
  if (format == nullptr) return Status(Code::invalid_data) << "a chunk without the header " << kFormat;
  const auto parsed = read_format(*format);
  if (!parsed.ok()) return parsed.status().at(kFormat);
  chunk.format = *parsed;
  RUNNEL_ASSIGN(const std::uint64_t first, number(message.headers, kFirst, kMostIndex, true));
  RUNNEL_ASSIGN(chunk.run, number(message.headers, kRun, ~std::uint64_t{0}, false));
  RUNNEL_ASSIGN(const std::uint64_t time, number(message.headers, kTime, ~std::uint64_t{0} >> 1, false));
  RUNNEL_ASSIGN(const std::uint64_t end, number(message.headers, kEnd, 1, false));
  RUNNEL_ASSIGN(const std::uint64_t gap, number(message.headers, kGap, first, false));
  chunk.gap = static_cast<std::int64_t>(gap);
  chunk.first = static_cast<std::int64_t>(first);
  chunk.time = static_cast<std::int64_t>(time);
  chunk.end = end == 1;
  if (message.data.size() > Chunk::kMostBytes)
    return Status(Code::invalid_data)
           << "a chunk of " << message.data.size() << " bytes, expected at most " << Chunk::kMostBytes;
  const std::size_t frame = chunk.format.frame_bytes();
  if (message.data.size() % frame != 0)
    return Status(Code::invalid_data)
           << "a chunk of " << message.data.size() << " bytes, expected a multiple of " << frame;
  chunk.samples = static_cast<std::int64_t>(message.data.size() / frame);
  if (chunk.samples == 0 && !chunk.end) return Status(Code::invalid_data, "a chunk without samples");
  if (chunk.first + chunk.samples > StateArchive::kMostIndex)
    return Status(Code::invalid_data) << "a chunk that ends at sample " << chunk.first + chunk.samples
                                      << ", expected at most " << StateArchive::kMostIndex;
  return chunk;
}

Headers headers_of(const Chunk& chunk) {
  Headers out = {{std::string(kFormat), text_of(chunk.format)},
                 {std::string(kFirst), std::to_string(chunk.first)}};
  if (chunk.run != 0) out.emplace_back(kRun, std::to_string(chunk.run));
  if (chunk.time != 0) out.emplace_back(kTime, std::to_string(chunk.time));
  if (chunk.end) out.emplace_back(kEnd, "1");
  if (chunk.gap != 0) out.emplace_back(kGap, std::to_string(chunk.gap));
  return out;
}

namespace {

constexpr std::string_view kBegin = "RUNNEL/1\r\n", kLineEnd = "\r\n", kPrefix = "Runnel-";

}  // namespace

void unpack(Message& message) {
  const std::string_view text(reinterpret_cast<const char*>(message.data.data()),
                              std::min(message.data.size(), kMostPreamble));
  if (!text.starts_with(kBegin) || find(message.headers, kFormat) != nullptr) return;
  Headers made;
  for (std::size_t at = kBegin.size();;) {
    const std::size_t end = text.find(kLineEnd, at);
    if (end == std::string_view::npos) return;
    const std::string_view line = text.substr(at, end - at);
    at = end + kLineEnd.size();
    if (line.empty()) {
      message.headers.insert(message.headers.end(), made.begin(), made.end());
      message.data.erase(message.data.begin(), message.data.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    }
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) return;
    const std::string name = std::string(kPrefix) + std::string(line.substr(0, colon));
    if (name != kFormat && name != kFirst && name != kRun && name != kTime && name != kEnd && name != kGap)
      return;
    if (find(made, name) != nullptr || find(message.headers, name) != nullptr) return;
    made.emplace_back(name, line.substr(colon + 2));
  }
}

std::string preamble_of(const Chunk& chunk) {
  std::string out(kBegin);
  for (const auto& [name, value] : headers_of(chunk))
    out += name.substr(kPrefix.size()) + ": " + value + std::string(kLineEnd);
  return out + std::string(kLineEnd);
}

std::string id_of(std::string_view subject, const Chunk& chunk) {
  return std::string(subject) + ' ' + std::to_string(chunk.run) + ' ' + std::to_string(chunk.first) + ' ' +
         std::to_string(chunk.samples) + (chunk.end ? " end" : "");
}

}  // namespace runnel::fleet
