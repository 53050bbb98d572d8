#include "services/batch/recordings/recording.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/host/json/nesting.h"
#include "base/limits.h"
#include "pipeline/host/json.h"

namespace runnel::batch {
namespace {

using Json = nlohmann::ordered_json;
using pipeline::json_string;

constexpr std::size_t kMaxLine = limits::kTextLineBytes;
// A day less than what int64 nanoseconds hold.
constexpr double kMaxSeconds = 9e9;

int hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  return letter >= 'A' && letter <= 'F' ? letter - 'A' + 10 : -1;
}

std::size_t file_name_at(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? 0 : slash + 1;
}

// "file:///a%20b" or "file:a%20b" (a relative one, which only runnel writes).
Result<std::string> path_of(std::string text) {
  if (!text.starts_with("file:")) return text;
  std::string_view rest = std::string_view(text).substr(5);
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    if (!rest.starts_with('/'))
      return Status(Code::invalid_data) << "\"" << text << "\" names another machine, expected file:///...";
  }
  std::string path;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] != '%') {
      path += rest[i];
      continue;
    }
    const int high = i + 2 < rest.size() ? hex_digit(rest[i + 1]) : -1,
              low = i + 2 < rest.size() ? hex_digit(rest[i + 2]) : -1;
    if (high < 0 || low < 0 || high + low == 0)
      return Status(Code::invalid_data)
             << "\"" << text << "\": expected two hexadecimal digits other than 00 after %";
    path += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return path;
}

std::string percent(unsigned char byte) {
  char escape[4];
  std::snprintf(escape, sizeof escape, "%%%02X", static_cast<unsigned>(byte));
  return escape;
}

std::string uri_of(std::string_view path) {
  std::string text = path.starts_with('/') ? "file://" : "file:";
  for (const char letter : path) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= 'a' && byte <= 'z') || std::strchr("-._~/", byte) != nullptr;
    text += plain ? std::string(1, letter) : percent(byte);
  }
  return text;
}

Status take_seconds(Json& object, const char* key, double& seconds) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return {};
  if (!found->is_number() || !(found->get<double>() >= 0) || found->get<double>() > kMaxSeconds) {
    return Status(Code::invalid_data)
           << key << " is " << found->dump().substr(0, 100) << ", expected seconds from 0 on";
  }
  seconds = found->get<double>();
  return {};
}

void take_integer(Json& object, const char* key, std::int64_t& value) {
  if (const auto found = object.find(key); found != object.end() && found->is_number_integer())
    value = found->get<std::int64_t>();
}

// `listed`: with the keys that a journal adds.
Result<Recording> parse_object(std::string_view line, bool listed) {
  // What was taken from a manifest must be taken from a journal, where it lies two levels deeper, and a byte
  // may have become six.
  const std::size_t longest = listed ? 8 * kMaxLine : kMaxLine;
  if (line.size() > longest)
    return Status(Code::invalid_data)
           << "a line of " << line.size() << " bytes, expected at most " << longest;
  if (nests_deeper(line, limits::kJsonNesting + (listed ? 2 : 0)))
    return Status(Code::invalid_data) << "brackets more than " << limits::kJsonNesting << " deep";
  Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) return Status(Code::invalid_data, "not a JSON object");
  const auto path = object.find("path");
  if (path == object.end() || !path->is_string() || path->get<std::string>().empty()) {
    return Status(Code::invalid_data, "no \"path\", expected a string with the name of a recording");
  }
  Recording recording;
  RUNNEL_ASSIGN(recording.path, path_of(path->get<std::string>()));
  if (recording.path.empty()) return Status(Code::invalid_data, "an empty path");
  if (recording.path.find('\0') != std::string::npos)
    return Status(Code::invalid_data, "a zero byte, which no path has");
  RUNNEL_TRY(take_seconds(object, "offset", recording.offset));
  RUNNEL_TRY(take_seconds(object, "duration", recording.duration));
  if (const auto id = object.find("id"); id != object.end()) {
    if (!id->is_string() && !id->is_number_integer())
      return Status(Code::invalid_data) << "id is " << id->dump().substr(0, 100) << ", expected a string";
    recording.id = id->is_string() ? id->get<std::string>() : id->dump();
  }
  if (!listed) {
    recording.named = file_name_at(recording.path);
    for (const char* key : {"path", "offset", "duration", "id"}) object.erase(key);
    if (!object.empty()) recording.fields = object.dump();
    return recording;
  }
  Json& more = object["listed"];
  if (!more.is_object()) return Status(Code::invalid_data, "no \"listed\"");
  take_integer(more, "bytes", recording.bytes);
  take_integer(more, "modified", recording.modified);
  take_integer(more, "index", recording.index);
  std::int64_t named = 0;
  take_integer(more, "named", named);
  recording.named = static_cast<std::size_t>(
      std::clamp<std::int64_t>(named, 0, static_cast<std::int64_t>(recording.path.size())));
  if (const auto fields = more.find("fields"); fields != more.end() && fields->is_object())
    recording.fields = fields->dump();
  return recording;
}

std::int64_t modified_of(const struct stat& found) noexcept {
  return static_cast<std::int64_t>(found.st_mtim.tv_sec) * 1000000000 + found.st_mtim.tv_nsec;
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

}  // namespace

std::int64_t Recording::cost() const noexcept {
  constexpr double kBytesPerSecond = 32000;
  if (duration > 0) return static_cast<std::int64_t>(duration * kBytesPerSecond);
  return std::max<std::int64_t>(bytes, 0);
}

std::string Recording::key() const {
  std::string name = id;
  if (name.empty()) {
    name = path.substr(std::min(named, path.size()));
    const std::size_t dot = name.rfind('.'), slash = name.rfind('/');
    if (dot != std::string::npos && dot > 0 && (slash == std::string::npos || dot > slash + 1))
      name.resize(dot);
  }
  const bool plain = pipeline::is_utf8(name);
  std::string text;
  for (const char letter : name) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte > ' ' && byte != 0x7f && (byte < 0x80 || plain))
      text += letter;
    else
      text += percent(byte);
  }
  return text;
}

Result<Recording> parse_recording(std::string_view line) {
  if (line.starts_with('{')) return parse_object(line, false);
  if (line.empty()) return Status(Code::invalid_data, "an empty path");
  if (line.find('\0') != std::string_view::npos)
    return Status(Code::invalid_data, "a zero byte, which no path has");
  Recording recording;
  recording.path = line;
  recording.named = file_name_at(recording.path);
  return recording;
}

Result<Recording> parse_listed(std::string_view line) { return parse_object(line, true); }

std::string path_string(std::string_view path) {
  return json_string(pipeline::is_utf8(path) && !path.starts_with("file:") ? std::string(path)
                                                                           : uri_of(path));
}

std::string to_line(const Recording& recording) {
  std::string line = "{\"path\":" + path_string(recording.path);
  if (recording.offset > 0) line += ",\"offset\":" + number(recording.offset);
  if (recording.duration > 0) line += ",\"duration\":" + number(recording.duration);
  if (!recording.id.empty()) line += ",\"id\":" + json_string(recording.id);
  line += ",\"listed\":{\"index\":" + std::to_string(recording.index) +
          ",\"bytes\":" + std::to_string(recording.bytes) +
          ",\"modified\":" + std::to_string(recording.modified) +
          ",\"named\":" + std::to_string(recording.named);
  if (!recording.fields.empty()) line += ",\"fields\":" + recording.fields;
  return line + "}}";
}

void look_at(Recording& recording) noexcept {
  struct stat found = {};
  const bool there = stat(recording.path.c_str(), &found) == 0;
  recording.bytes = there ? static_cast<std::int64_t>(found.st_size) : -1;
  recording.modified = there ? modified_of(found) : 0;
}

Status check_file(const Recording& recording) {
  struct stat found = {};
  if (stat(recording.path.c_str(), &found) != 0) {
    if (errno != ENOENT && errno != ENOTDIR)
      return Status(Code::io_error) << recording.path << ": " << std::strerror(errno);
    return Status(Code::not_found) << recording.path
                                   << (recording.bytes < 0 ? ": there is no such file"
                                                           : ": has been removed since the run began");
  }
  if (!S_ISREG(found.st_mode)) {
    const char* const kind = S_ISDIR(found.st_mode)    ? "a folder"
                             : S_ISFIFO(found.st_mode) ? "a FIFO"
                             : S_ISSOCK(found.st_mode) ? "a socket"
                                                       : "a device";
    return Status(Code::invalid_argument) << recording.path << ": is " << kind << ", expected a file";
  }
  if (recording.bytes >= 0 && (static_cast<std::int64_t>(found.st_size) != recording.bytes ||
                               modified_of(found) != recording.modified)) {
    return Status(Code::mismatch) << recording.path
                                  << ": has changed since the run began: " << recording.bytes
                                  << " bytes then, " << static_cast<std::int64_t>(found.st_size) << " now";
  }
  return {};
}

std::string with_fields(std::string_view line, const Recording& recording) {
  std::string result(line);
  if (result.empty() || (recording.id.empty() && recording.fields.empty())) return result;
  result.pop_back();
  if (!recording.id.empty()) result += ",\"id\":" + json_string(recording.id);
  if (!recording.fields.empty()) result += ",\"fields\":" + recording.fields;
  return result + "}";
}

}  // namespace runnel::batch
