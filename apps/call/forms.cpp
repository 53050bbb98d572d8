#include "apps/call/forms.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/suggest.h"

namespace runnel::apps {
namespace {

bool has_option(const VerbFacts& verb, std::string_view name) {
  return std::ranges::any_of(verb.options, [&](const OptionFacts& option) {
    return !option.positional && std::ranges::find(option.names, name) != option.names.end();
  });
}

// The option that was probably meant: with two dashes instead of one, or nearly of this name.
std::string meant(const VerbFacts& verb, const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  const std::string plain = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  if (has_option(verb, "--" + plain)) return "--" + plain;
  Suggestion nearest(plain);
  for (const OptionFacts& option : verb.options) {
    for (const std::string& each : option.names) {
      if (each.starts_with("--")) nearest.consider(std::string_view(each).substr(2));
    }
  }
  return nearest.best().empty() ? std::string() : "--" + std::string(nearest.best());
}

}  // namespace

std::vector<std::string> usual_form(std::vector<std::string> arguments) {
  if (arguments.empty()) return arguments;
  if (arguments[0] == "version" && arguments.size() == 1) return {"--version"};
  if (arguments[0] == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  } else if (arguments.size() == 2 && arguments[1] == "help" && !arguments[0].starts_with('-')) {
    arguments[1] = "--help";
  }
  return arguments;
}

bool is_recording_name(std::string_view name) {
  constexpr std::array<std::string_view, 7> kEndings = {".wav", ".flac", ".ogg", ".aiff",
                                                        ".aif", ".mp3",  ".opus"};
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return lower.ends_with(ending); });
}

std::string unexpected(const VerbFacts& verb, std::span<const std::string> arguments) {
  const auto is_option = [](const std::string& each) { return each.size() > 1 && each.starts_with('-'); };
  const auto first = std::ranges::find_if(arguments, is_option);
  if (first != arguments.end()) {
    std::string text = "there is no option '" + *first + "'";
    if (const std::string option = meant(verb, *first); !option.empty())
      text += ", did you mean '" + option + "'?";
    return text;
  }
  if (arguments.empty()) return "the call is incomplete";
  std::string text = "nothing is expected where '" + arguments[0] + "' is";
  if (is_recording_name(arguments[0]) && has_option(verb, "--wav"))
    text += "; a recording is given as --wav " + arguments[0];
  return text;
}

}  // namespace runnel::apps
