#include "bridges/gstreamer/settings.h"

#include <array>
#include <charconv>

namespace runnel::gstreamer {
namespace {

// A value of a graph's parameter, in quotes.
std::string quoted(const std::string& value) {
  std::string text = "\"";
  for (const char letter : value) {
    if (letter == '"' || letter == '\\') text += '\\';
    text += letter;
  }
  return text + '"';
}

// The shortest text that reads back as the same number, whatever the locale.
std::string number(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

}  // namespace

Program load(const Settings& settings, std::uint32_t rate, std::uint32_t channels) {
  std::string text = "rate=" + std::to_string(rate) + " channels=" + std::to_string(channels) +
                     " source=" + quoted(settings.source);
  if (settings.threshold >= 0) text += " threshold=" + number(settings.threshold);
  if (settings.chunk > 0) text += " chunk=" + std::to_string(settings.chunk);
  if (!settings.front_end.empty()) text += " front_end=" + quoted(settings.front_end);
  if (!settings.decision.empty()) text += " decision=" + quoted(settings.decision);
  if (!settings.key_file.empty()) text += " key_file=" + quoted(settings.key_file);
  runnel_program* program = nullptr;
  if (settings.graph.empty())
    runnel_load_file(settings.model.c_str(), text.c_str(), &program);
  else
    runnel_load_graph(settings.graph.c_str(), text.c_str(), &program);
  return Program(program);
}

}  // namespace runnel::gstreamer
