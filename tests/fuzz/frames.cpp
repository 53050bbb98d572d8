#include "tests/fuzz/frames.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace runnel::fuzz {
namespace {

std::size_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<std::size_t>(static_cast<unsigned char>(text[at]));
}

// Cut off where there are fewer bytes.
FrameParts parts(std::string_view text, std::size_t content, std::size_t size) {
  return content <= text.size() && size <= text.size() - content ? FrameParts{content, content + size}
                                                                 : FrameParts{content, 0};
}

// Two bytes of length.
FrameParts look_short(std::string_view text) {
  return text.size() < 2 ? FrameParts{} : parts(text, 2, byte_at(text, 0) | byte_at(text, 1) << 8);
}
std::string make_short(std::string_view, std::string_view content) { return frame(content); }

// Four bytes of length, as streams of samples have them.
FrameParts look_long(std::string_view text) {
  if (text.size() < 4) return {};
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) size |= byte_at(text, i) << (8 * i);
  return parts(text, 4, size);
}
std::string make_long(std::string_view, std::string_view content) {
  std::string out;
  for (std::size_t i = 0; i < 4; ++i) out += static_cast<char>(content.size() >> (8 * i) & 255);
  return out + std::string(content);
}

// A frame of a WebSocket, masked (RFC 6455).
FrameParts look_web_socket(std::string_view text) {
  if (text.size() < 2) return {};
  std::size_t at = 2, size = byte_at(text, 1) & 127;
  const std::size_t more = size == 126 ? 2 : size == 127 ? 8 : 0;
  if (text.size() < at + more) return {};
  if (more > 0) size = 0;
  for (std::size_t i = 0; i < more; ++i) size = size << 8 | byte_at(text, at + i);
  at += more + ((byte_at(text, 1) & 128) != 0 ? 4 : 0);
  return parts(text, at, size);
}
std::string make_web_socket(std::string_view old, std::string_view content) {
  const bool masked = (byte_at(old, 1) & 128) != 0;
  std::string out(1, old[0]);
  const char mark = static_cast<char>(masked ? 128 : 0);
  if (content.size() < 126) {
    out += static_cast<char>(mark | static_cast<char>(content.size()));
  } else {
    out += static_cast<char>(mark | 126);
    out += static_cast<char>(content.size() >> 8 & 255);
    out += static_cast<char>(content.size() & 255);
  }
  if (masked) out += old.substr(look_web_socket(old).content - 4, 4);
  return out + std::string(content);
}

// A packet of MQTT: a byte, a length of up to four bytes of seven bits, itself.
FrameParts look_mqtt(std::string_view text) {
  std::size_t size = 0, at = 1;
  for (int shift = 0; shift < 28; shift += 7) {
    if (at >= text.size()) return {};
    const std::size_t one = byte_at(text, at++);
    size |= (one & 127) << shift;
    if ((one & 128) == 0) return parts(text, at, size);
  }
  return {};
}
std::string make_mqtt(std::string_view old, std::string_view content) {
  std::string out(1, old[0]);
  std::size_t left = content.size();
  do {
    out += static_cast<char>((left & 127) | (left > 127 ? 128 : 0));
    left >>= 7;
  } while (left > 0);
  return out + std::string(content);
}

// A message of Wyoming: a line of JSON with the lengths of what follows it. Its content is what follows the
// line, all of which the made one calls its payload.
std::size_t number_behind(std::string_view line, std::string_view key) {
  const std::size_t found = line.find(key);
  if (found == std::string_view::npos) return 0;
  std::size_t value = 0;
  for (std::size_t at = found + key.size(); at < line.size() && line[at] >= '0' && line[at] <= '9'; ++at)
    value = std::min<std::size_t>(value * 10 + static_cast<std::size_t>(line[at] - '0'), 1 << 30);
  return value;
}
constexpr std::string_view kData = "\"data_length\":", kPayload = "\"payload_length\":";
FrameParts look_wyoming(std::string_view text) {
  const std::size_t feed = text.find('\n');
  if (feed == std::string_view::npos) return {};
  const std::string_view line = text.substr(0, feed);
  return parts(text, feed + 1, number_behind(line, kData) + number_behind(line, kPayload));
}
std::string make_wyoming(std::string_view old, std::string_view content) {
  std::string line(old.substr(0, old.find('\n')));
  const std::size_t data = std::min(number_behind(line, kData), content.size());
  const auto set = [&](std::string_view key, std::size_t value) {
    const std::size_t found = line.find(key);
    if (found == std::string::npos) return;
    std::size_t end = found + key.size();
    while (end < line.size() && line[end] >= '0' && line[end] <= '9') ++end;
    line.replace(found + key.size(), end - found - key.size(), std::to_string(value));
  };
  const bool has_payload = line.find(kPayload) != std::string::npos;
  set(kData, has_payload ? data : content.size());
  set(kPayload, content.size() - data);
  return line + '\n' + std::string(content);
}

constexpr FrameFormat kFormats[] = {{"page_socket", 0, look_short, make_short},
                                    {"hello", 1, look_long, make_long},
                                    {"web_socket", 1, look_web_socket, make_web_socket},
                                    {"wyoming", 1, look_wyoming, make_wyoming},
                                    {"mqtt", 1, look_mqtt, make_mqtt}};

std::vector<std::string> messages_of(std::string_view text, const FrameFormat& format, std::string& rest) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const FrameParts found = format.look(text);
    if (found.bytes == 0) break;
    out.emplace_back(text.substr(0, found.bytes));
    text.remove_prefix(found.bytes);
  }
  rest = text;
  return out;
}

}  // namespace

std::string frame(std::string_view message) {
  std::string out;
  out += static_cast<char>(message.size() & 255);
  out += static_cast<char>(message.size() >> 8 & 255);
  return out + std::string(message);
}

std::span<const std::byte> next_frame(std::span<const std::byte>& bytes) noexcept {
  while (bytes.size() > 2) {
    const std::size_t said = std::to_integer<std::size_t>(bytes[0]) | std::to_integer<std::size_t>(bytes[1])
                                                                          << 8;
    bytes = bytes.subspan(2);
    const std::span<const std::byte> out = bytes.first(std::min(said, bytes.size()));
    bytes = bytes.subspan(out.size());
    if (!out.empty()) return out;
  }
  return {};
}

std::size_t mqtt_packet_bytes(std::span<const std::byte> bytes) noexcept {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t found = text.empty() ? 0 : look_mqtt(text).bytes;
  return found > 0 ? found : text.size();
}

const FrameFormat* frame_format(std::string_view kind) noexcept {
  const auto* const found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                         [&](const auto& one) { return one.kind == kind; });
  return found == std::end(kFormats) ? nullptr : found;
}

std::string mutate_frames(std::string_view input, std::size_t most, std::uint32_t seed,
                          const FrameFormat& format, const PlainMutation& plain) {
  std::minstd_rand random(seed);
  random.discard(2);  // seeds that follow each other begin alike
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() >> 8) % count; };
  const std::size_t head_bytes = std::min(format.head, input.size());
  std::string head(input.substr(0, head_bytes)), rest;
  std::vector<std::string> messages = messages_of(input.substr(head_bytes), format, rest);
  if (messages.empty() || below(4) == 0) return plain(std::string(input), most);
  if (!head.empty() && below(4) == 0) head[0] = static_cast<char>(below(256));
  for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
    const std::size_t at = below(messages.size());
    std::string& one = messages[at];
    if (format.look(one).bytes != one.size()) break;  // a lie
    const FrameParts found = format.look(one);
    const auto content_of = [&](const std::string& of) {
      return of.substr(std::min(format.look(of).content, of.size()));
    };
    const auto content = [&] { return one.substr(found.content); };
    switch (below(8)) {
      case 0:  // again, somewhere
        messages.insert(messages.begin() + static_cast<std::ptrdiff_t>(below(messages.size() + 1)),
                        std::string(one));
        break;
      case 1:  // never
        if (messages.size() > 1) messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 2:
        std::swap(one, messages[below(messages.size())]);
        break;
      case 3:  // a lie about its length: the header is changed alone
        one = plain(one.substr(0, found.content), found.content + 4) + content();
        break;
      case 4:  // cut off, and so said
        one = format.made(one, content().substr(0, below(one.size() - found.content + 1)));
        break;
      case 5:  // the content of another
        one = format.made(one, content_of(messages[below(messages.size())]));
        break;
      default:
        one = format.made(one, plain(content(), std::min<std::size_t>(most, 4096)));
    }
  }
  std::string out = head;
  for (const std::string& message : messages) out += message;
  out += rest;
  if (out.size() > most) out.resize(most);
  return out;
}

}  // namespace runnel::fuzz
