#include "pipeline/host/json.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "pipeline/format.h"

namespace runnel::pipeline {
namespace {

// Bytes of the well-formed UTF-8 sequence at the start of `text` (Unicode 15, table 3-7); 0: there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    return follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    return follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF) && follows(2) && follows(3)
               ? 4
               : 0;
  }
  return 0;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const auto letter = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      result += "\\ufffd";
    } else if (letter == '"' || letter == '\\') {
      result += '\\';
      result += text[0];
    } else if (letter < 0x20 || letter == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(letter));
      result += escape;
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result + '"';
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string json_number(double value, int decimals) {
  if (!std::isfinite(value)) return "null";
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string json_seconds(std::int64_t sample, std::int64_t sample_rate) {
  const std::int64_t total = milliseconds(sample, sample_rate);
  char text[48];
  std::snprintf(text, sizeof text, "%s%lld.%03lld", total < 0 ? "-" : "",
                static_cast<long long>(std::llabs(total) / 1000),
                static_cast<long long>(std::llabs(total) % 1000));
  return text;
}

}  // namespace runnel::pipeline
