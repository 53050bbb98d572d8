#include "services/batch/journal.h"

#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "base/crc32c.h"
#include "pipeline/host/json.h"

namespace runnel::batch {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 2;
constexpr std::string_view kSeal = ",\"sum\":\"";
constexpr std::size_t kSealBytes = kSeal.size() + 8 + 2;  // eight digits, quote and brace

std::string seal_of(std::string_view text) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "%08x", crc32c(std::as_bytes(std::span(text))));
  return std::string(kSeal) + digits + "\"}";
}

std::string exact(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

// False when absent or of another type.
template <class T>
bool take(const Json& object, const char* key, T& value) {
  const auto found = object.find(key);
  if (found == object.end()) return false;
  if constexpr (std::is_same_v<T, std::string>) {
    if (!found->is_string()) return false;
  } else if constexpr (std::is_integral_v<T>) {
    // One beyond its type says something else.
    if (!found->is_number_integer() ||
        (found->is_number_unsigned() ? !std::in_range<T>(found->template get<std::uint64_t>())
                                     : !std::in_range<T>(found->template get<std::int64_t>())))
      return false;
  } else if (!found->is_number()) {
    return false;
  }
  value = found->template get<T>();
  return true;
}

// Prefixes are bytes, not text.
std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char letter : bytes) {
    const auto byte = static_cast<unsigned char>(letter);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}
bool from_hex(std::string_view text, std::string& bytes) {
  for (; text.size() >= 2; text.remove_prefix(2)) {
    unsigned byte = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + 2, byte, 16);
    if (error != std::errc() || end != text.data() + 2) return false;
    bytes += static_cast<char>(byte);
  }
  return text.empty();
}

Code code_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Code::mismatch); ++i) {
    if (name == name_of(static_cast<Code>(i))) return static_cast<Code>(i);
  }
  return Code::invalid_data;
}

}  // namespace

std::filesystem::path journal_path(const std::filesystem::path& output) {
  std::filesystem::path path = output;
  path += ".journal";
  return path;
}

std::string sealed(std::string_view object) {
  object.remove_suffix(1);
  return std::string(object) + seal_of(object) + "\n";
}

std::string to_line(const JournalHead& head) {
  return sealed("{\"runnel_batch\":" + std::to_string(kVersion) + ",\"call\":" + std::to_string(head.call) +
                ",\"list\":" + std::to_string(head.list) + ",\"total\":" + std::to_string(head.total) +
                ",\"shard\":" + std::to_string(head.shard.index) +
                ",\"shards\":" + std::to_string(head.shard.count) + ",\"here\":" + std::to_string(head.here) +
                ",\"prefix\":\"" + hex_of(head.prefix) + "\",\"timing\":" + (head.timing ? "1" : "0") +
                ",\"format\":\"" + std::string(name_of(head.format)) + "\"" +
                (head.queue.empty() ? "" : ",\"queue\":" + pipeline::json_string(head.queue)) + "}");
}

std::string to_line(const JournalEntry& entry) {
  return sealed("{\"done\":" + std::to_string(entry.index) + ",\"at\":" + std::to_string(entry.at) +
                ",\"length\":" + std::to_string(entry.length) + ",\"crc\":" + std::to_string(entry.crc) +
                ",\"code\":" + pipeline::json_string(name_of(entry.counts.code)) + ",\"audio_seconds\":" +
                exact(entry.counts.audio_seconds) + ",\"busy_seconds\":" + exact(entry.counts.busy_seconds) +
                ",\"events\":" + std::to_string(entry.counts.events) +
                ",\"lost\":" + std::to_string(entry.counts.lost) +
                (entry.line.empty() ? "" : ",\"line\":" + pipeline::json_string(entry.line)) +
                (entry.recording.empty() ? "" : ",\"recording\":" + pipeline::json_string(entry.recording)) +
                "}");
}

std::string end_line(std::int64_t bytes, std::int64_t total) {
  return sealed("{\"end\":" + std::to_string(bytes) +
                (total < 0 ? "" : ",\"total\":" + std::to_string(total)) + "}");
}

bool JournalReader::read_sealed(std::string& object) {
  if (!std::getline(in_, object) || in_.eof()) return false;  // a line without a newline was cut
  read_ += static_cast<std::int64_t>(object.size()) + 1;
  if (object.size() < kSealBytes) return false;
  const std::string_view text(object.data(), object.size() - kSealBytes);
  if (seal_of(text) != object.substr(text.size())) return false;
  object.resize(text.size());
  object += '}';
  return true;
}

Result<JournalReader> JournalReader::open(const std::filesystem::path& path) {
  JournalReader reader;
  reader.in_.open(path, std::ios::binary);
  if (!reader.in_) return Status(Code::not_found) << path.string() << ": cannot be opened";
  const auto cut = [&] {
    return Status(Code::invalid_data) << path.string() << ": the list of recordings is not complete";
  };
  std::string line;
  if (!reader.read_sealed(line)) return cut();
  const Json object = Json::parse(line, nullptr, false);
  JournalHead& head = reader.head_;
  int version = 0, timing = 1;
  std::string prefix, format;
  if (!object.is_object() || !take(object, "runnel_batch", version))
    return Status(Code::invalid_data) << path.string() << ": is not the journal of a batch";
  if (version != kVersion)
    return Status(Code::unsupported) << path.string() << ": a journal of version " << version << ", expected "
                                     << kVersion;
  if (!take(object, "call", head.call) || !take(object, "list", head.list) ||
      !take(object, "total", head.total) || !take(object, "shard", head.shard.index) ||
      !take(object, "shards", head.shard.count) || !take(object, "here", head.here) ||
      !take(object, "prefix", prefix) || !take(object, "timing", timing) || !take(object, "format", format) ||
      head.here < 0 || head.shard.count < 1) {
    return cut();
  }
  head.timing = timing != 0;
  (void)take(object, "queue", head.queue);  // optional: most journals are of lists
  if (!from_hex(prefix, head.prefix) || !parse_format(format, head.format)) return cut();
  for (std::int64_t i = 0; i < head.here; ++i) {
    if (!reader.read_sealed(line)) return cut();
    Result<Recording> recording = parse_listed(line);
    if (!recording.ok()) return recording.status().at(path.string());
    reader.recordings_.push_back(*recording);
  }
  reader.sound_ = reader.read_;
  return reader;
}

bool JournalReader::next(JournalEntry& entry) {
  std::string line;
  if (end_ >= 0 || !read_sealed(line)) return false;
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) return false;
  if (take(object, "end", end_)) {
    (void)take(object, "total", total_);
    return false;
  }
  std::string code;
  if (!take(object, "done", entry.index) || !take(object, "at", entry.at) ||
      !take(object, "length", entry.length) || !take(object, "crc", entry.crc) ||
      !take(object, "code", code) || !take(object, "audio_seconds", entry.counts.audio_seconds) ||
      !take(object, "busy_seconds", entry.counts.busy_seconds) ||
      !take(object, "events", entry.counts.events) || !take(object, "lost", entry.counts.lost)) {
    return false;
  }
  entry.line.clear();
  entry.recording.clear();
  (void)take(object, "recording", entry.recording);
  (void)take(object, "line", entry.line);  // optional: not every format has one
  entry.counts.code = code_named(code);
  sound_ = read_;
  return true;
}

}  // namespace runnel::batch
