#include "apps/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/suggest.h"

namespace runnel::apps {
namespace {

// For a range with only a lower bound, CLI11 prints the upper one in 316 characters, and the lower one as
// 0.000000 whether 0 is allowed or not.
void shorten_range(std::string& text) {
  const std::string bounds =
      " not in range 0.000000 to " + std::to_string(std::numeric_limits<double>::max());
  const std::size_t at = text.find(bounds);
  if (at == std::string::npos) return;
  const std::string value = text.substr(0, at);
  const bool zero = value.find_first_of("123456789", value.rfind(' ') + 1) == std::string::npos;
  text.replace(at, bounds.size(),
               zero ? ", expected more than 0" : ", expected a number that is not negative");
}

// The error in a call, in one line.
std::string explain(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const std::string known = argc > 1 ? argv[1] : "";
  const auto verbs = app.get_subcommands([](const CLI::App*) { return true; });
  const bool is_verb = std::any_of(verbs.begin(), verbs.end(),
                                   [&](const CLI::App* verb) { return verb->get_name() == known; });
  std::string text;
  if (known.empty()) {
    text = "a verb is required";
  } else if (!is_verb && !known.starts_with('-')) {
    Suggestion nearest(known);
    for (const CLI::App* verb : verbs) nearest.consider(verb->get_name());
    text = "there is no verb '" + known + "'";
    if (!nearest.best().empty()) text += ", did you mean '" + std::string(nearest.best()) + "'?";
  } else {
    text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    shorten_range(text);
  }
  return text + " (see " + app.get_name() + " " + (is_verb ? known + " " : "") + "--help)";
}

// CLI11 compares with the bounds of a range, and NaN passes these comparisons.
void want_finite_numbers(CLI::App& app) {
  const auto finite = [](const std::string& text) {
    double value = 0;
    return CLI::detail::lexical_cast(text, value) && !std::isfinite(value)
               ? "expected a finite number, found " + text
               : std::string();
  };
  for (CLI::App* verb : app.get_subcommands({})) {
    for (CLI::Option* option : verb->get_options()) {
      if (option->get_type_name().starts_with(CLI::detail::type_name<double>())) option->check(finite);
    }
    want_finite_numbers(*verb);
  }
}

}  // namespace

Option Option::required() const { return Option(option_->required()); }

Option Option::default_str(const std::string& text) const { return Option(option_->default_str(text)); }

Option Option::description(const std::string& text) const { return Option(option_->description(text)); }

Option Option::group(const std::string& heading) const { return Option(option_->group(heading)); }

Option Option::choices(std::initializer_list<const char*> values) const {
  return Option(option_->check(CLI::IsMember(std::vector<std::string>(values.begin(), values.end()))));
}

Option Option::choices(std::initializer_list<int> values) const {
  return Option(option_->check(CLI::IsMember(std::vector<int>(values))));
}

Option Option::range(int least, int most) const { return Option(option_->check(CLI::Range(least, most))); }

Option Option::range(std::int64_t least, std::int64_t most) const {
  return Option(option_->check(CLI::Range(least, most)));
}

Option Option::range(double least, double most) const {
  return Option(option_->check(CLI::Range(least, most)));
}

Option Option::range(std::uint64_t least, std::uint64_t most, const char* unit) const {
  return Option(option_->check(CLI::Range(least, most, unit)));
}

Option Option::non_negative() const { return Option(option_->check(CLI::NonNegativeNumber)); }

Option Option::positive() const { return Option(option_->check(CLI::PositiveNumber)); }

Option Option::excludes(Option other) const { return Option(option_->excludes(other.option_)); }

Option Option::needs(Option other) const { return Option(option_->needs(other.option_)); }

Option Option::take_all() const { return Option(option_->take_all()); }

Option Option::delimiter(char separator) const { return Option(option_->delimiter(separator)); }

Verb Verb::verb(const std::string& name, const std::string& help) const {
  return Verb(app_->add_subcommand(name, help));
}

void Verb::require_verb() const { app_->require_subcommand(1); }

Option Verb::add_option(const std::string& names, Target value, const std::string& help) const {
  return std::visit([&](auto* target) { return Option(app_->add_option(names, *target, help)); }, value);
}

Option Verb::flag(const std::string& names, bool& value, const std::string& help) const {
  return Option(app_->add_flag(names, value, help));
}

Option Verb::find(const std::string& name) const { return Option(app_->get_option(name)); }

void Verb::remove(const std::string& name) const { app_->remove_option(app_->get_option(name)); }

void Verb::footer(const std::string& text) const { app_->footer(text); }

void Verb::callback(std::function<void()> action) const { app_->callback(std::move(action)); }

CommandLine::CommandLine(const std::string& name, const std::string& help)
    : app_(std::make_unique<CLI::App>(help, name)) {
  app_->get_formatter()->column_width(34);
  app_->option_defaults()->always_capture_default();
}

CommandLine::~CommandLine() = default;

void CommandLine::version(std::function<std::string()> text) {
  app_->set_version_flag("--version", std::move(text));
}

Verb CommandLine::program() const { return Verb(app_.get()); }

CommandLine::Parsed CommandLine::run(int argc, char** argv) {
  want_finite_numbers(*app_);
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return {Outcome::refused, explain(*app_, error, argc, argv)};
    app_->exit(error);
    return {Outcome::answered, {}};
  }
  return {};
}

}  // namespace runnel::apps
