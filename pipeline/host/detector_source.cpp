#include "pipeline/host/detector_source.h"

#include <array>
#include <charconv>

namespace runnel::pipeline {
namespace {

std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(std::int32_t value) { return std::to_string(value); }
std::string text_of(std::int64_t value) { return std::to_string(value); }
std::string text_of(const DetectorLevel& level) {
  return "{" + text_of(level.threshold) + ", " + text_of(level.release) + "}";
}
// Hexadecimal, so that the value is exact. Scales are positive.
std::string text_of(float value) {
  std::array<char, 32> digits{};
  return "0x" +
         std::string(digits.data(),
                     std::to_chars(digits.begin(), digits.end(), value, std::chars_format::hex).ptr) +
         "F";
}
std::string text_of(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (code >= 32 && letter != '"' && letter != '\\') {
      out += letter;
      continue;
    }
    // An octal escape ends after three digits, whatever follows.
    out += '\\';
    for (const int shift : {6, 3, 0}) out += static_cast<char>('0' + (code >> shift & 7));
  }
  return out + '"';
}

// static constexpr TYPE kNAME[] = {...}; nothing for none.
template <class T>
std::string list(std::string_view type, std::string_view name, const T* values, std::int32_t count) {
  if (values == nullptr) return {};
  std::string out = "  static constexpr " + std::string(type) + ' ' + std::string(name) + "[] = {";
  for (std::int32_t i = 0; i < count; ++i) out += (i > 0 ? ", " : "") + text_of(values[i]);
  return out + "};\n";
}

}  // namespace

std::string detector_source(const DetectorFacts& f, std::string_view name) {
  std::string out = "struct " + std::string(name) + " {\n";
  out += list("std::string_view", "kNames", f.names, f.classes) +
         list("bool", "kIgnored", f.ignored, f.classes) +
         list("DetectorLevel", "kLevels", f.levels, f.classes) +
         list("std::int32_t", "kSequence", f.sequence, f.sequence_length);
  out += "  static constexpr DetectorFacts kFacts = {";
  const auto member = [&](std::string_view member_name, const std::string& value) {
    out += "\n      ." + std::string(member_name) + " = " + value + ",";
  };
  member("clip", text_of(f.clip));
  member("wake_word", text_of(f.wake_word));
  member("softmax", text_of(f.softmax));
  member("exponential", text_of(f.exponential));
  member("dtype", "DType::" + std::string(name_of(f.dtype)));
  member("exponent", text_of(f.exponent));
  member("scale", text_of(f.scale));
  member("classes", text_of(f.classes));
  member("smoothing_frames", text_of(f.smoothing_frames));
  member("refractory_frames", text_of(f.refractory_frames));
  member("warm_up_frames", text_of(f.warm_up_frames));
  member("level", text_of(f.level));
  member("levels", f.levels == nullptr ? "nullptr" : "kLevels");
  member("gate", text_of(f.gate));
  member("gate_level", text_of(f.gate_level));
  member("gate_hold_frames", text_of(f.gate_hold_frames));
  member("veto", text_of(f.veto));
  member("veto_level", text_of(f.veto_level));
  member("veto_frames", text_of(f.veto_frames));
  member("endpoint_frames", text_of(f.endpoint_frames));
  member("sequence", f.sequence == nullptr ? "nullptr" : "kSequence");
  member("sequence_length", text_of(f.sequence_length));
  member("sequence_frames", text_of(f.sequence_frames));
  member("sequence_name", text_of(f.sequence_name));
  member("names", "kNames");
  member("ignored", "kIgnored");
  return out + "\n  };\n};\n";
}

}  // namespace runnel::pipeline
