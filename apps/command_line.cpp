#include "apps/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "apps/call/forms.h"
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

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  facts.positional = option.get_positional();
  if (facts.positional) {
    facts.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  }
  // "TEXT:{a,b}", "INT:INT in [1 - 32]"
  const bool flag = option.get_expected_max() == 0 || option.get_type_size_max() == 0;
  const std::string type = flag ? "" : option.get_type_name();
  const std::size_t colon = type.find(':');
  facts.value = type.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : type.substr(colon + 1);
  if (rest.starts_with('{') && rest.ends_with('}')) {
    for (std::size_t at = 1; at < rest.size();) {
      const std::size_t end = rest.find_first_of(",}", at);
      facts.choices.push_back(rest.substr(at, end - at));
      at = end + 1;
    }
  } else {
    facts.range = rest;
  }
  facts.help = option.get_description();
  facts.default_text = flag ? "" : option.get_default_str();
  facts.heading = option.get_group() == "Options" || facts.positional ? "" : option.get_group();
  facts.required = option.get_required();
  facts.repeated = option.get_items_expected_max() > 1;
  return facts;
}

// The example and the heading of a verb lie in its footer and its group.
constexpr std::string_view kExample = "Example:\n  ";

VerbFacts facts_of(const CLI::App& app) {
  VerbFacts facts;
  facts.name = app.get_name();
  facts.help = app.get_description();
  facts.footer = app.get_footer();
  facts.door = app.get_group();
  if (const std::size_t at = facts.footer.rfind(kExample); at != std::string::npos) {
    facts.example = facts.footer.substr(at + kExample.size());
    facts.footer.resize(at);
    while (facts.footer.ends_with('\n')) facts.footer.pop_back();
  }
  for (const CLI::Option* option : app.get_options()) facts.options.push_back(facts_of(*option));
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    facts.verbs.push_back(facts_of(*sub));
  return facts;
}

// The overview: verbs by door, each with an example.
std::string overview(const CLI::App& app) {
  const VerbFacts program = facts_of(app);
  std::string text = program.help + "\nUsage: " + program.name + " VERB [OPTIONS]\n";
  std::string door;
  for (const VerbFacts& verb : program.verbs) {
    if (verb.door != door) text += "\n" + verb.door + "\n";
    door = verb.door;
    text += "  " + verb.name + std::string(verb.name.size() < 10 ? 10 - verb.name.size() : 1, ' ') +
            verb.help + "\n";
    if (!verb.example.empty()) text += std::string(12, ' ') + verb.example + "\n";
  }
  return text + "\n`" + program.name + " VERB --help` has the options of a verb; --version the version.\n";
}

// The subverb of this name; null: none.
CLI::App* sub_named(CLI::App& app, std::string_view name) {
  const auto subs = app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == name; });
  return subs.empty() ? nullptr : subs.front();
}

// The verb of the call, with its subverbs: all that the first arguments name.
std::vector<CLI::App*> called(CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<CLI::App*> path;
  CLI::App* at = &app;
  for (const std::string& argument : arguments) {
    CLI::App* const sub = sub_named(*at, argument);
    if (sub == nullptr) break;
    path.push_back(at = sub);
  }
  return path;
}

// The error in a call, in one line.
std::string explain(CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments) {
  const std::string known = arguments.empty() ? "" : arguments[0];
  const std::vector<CLI::App*> path = called(app, arguments);
  std::string text, names;
  for (const CLI::App* verb : path) names += verb->get_name() + " ";
  if (known.empty()) {
    text = "a verb is required";
  } else if (path.empty() && !known.starts_with('-')) {
    Suggestion nearest(known);
    for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
      nearest.consider(verb->get_name());
    text = "there is no verb '" + known + "'";
    if (!nearest.best().empty())
      text += ", did you mean '" + std::string(nearest.best()) + "'?";
    else if (is_recording_name(known))
      text += "; to listen to a recording: listen --wav " + known;
  } else if (path.empty() && app.get_option_no_throw(known) == nullptr) {
    text = unexpected(facts_of(app), std::span(&known, 1));
  } else if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const CLI::App& verb = path.empty() ? app : *path.back();
    text = unexpected(facts_of(verb), verb.remaining(true));
  } else {
    text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    shorten_range(text);
  }
  return text + " (see " + app.get_name() + " " + names + "--help)";
}

// An option by its long name.
CLI::Option* option_named(CLI::App& app, const std::string& key) {
  for (CLI::Option* option : app.get_options()) {
    const auto& names = option->get_lnames();
    if (!option->get_positional() && key != "help" && std::ranges::find(names, key) != names.end())
      return option;
  }
  return nullptr;
}

// Makes the values the default of the option. Gives what is wrong with them; empty: nothing.
std::string make_default(CLI::Option& option, const std::vector<std::string>& values) {
  if (values.empty()) return "an empty array, expected a value";
  if (values.size() > 1 && option.get_items_expected_max() <= 1) return "several values, expected one";
  std::string text;
  try {
    for (const std::string& value : values) {
      option.add_result(value);
      text += (text.empty() ? "" : ",") + value;
    }
    option.run_callback();
    // What is given in the call comes in the place of it.
    option.clear();
  } catch (const CLI::Error& error) {
    option.clear();
    std::string problem = error.what();
    std::replace(problem.begin(), problem.end(), '\n', ' ');
    shorten_range(problem);
    return problem;
  }
  option.default_str(text);
  return {};
}

std::string place_of(const settings::Setting& setting) {
  return settings::settings_path() + ": line " + std::to_string(setting.line);
}

// "listen", "npu.compile"
std::string section_of(const std::vector<CLI::App*>& path) {
  std::string section;
  for (const CLI::App* app : path) section += (section.empty() ? "" : ".") + app->get_name();
  return section;
}

// The verb that a section is of; null: none.
CLI::App* verb_of(CLI::App& app, std::string_view section) {
  CLI::App* at = &app;
  while (at != nullptr && !section.empty()) {
    const std::size_t dot = std::min(section.find('.'), section.size());
    at = sub_named(*at, section.substr(0, dot));
    section.remove_prefix(std::min(dot + 1, section.size()));
  }
  return at;
}

// The keys before the first section.
constexpr std::string_view kPlainKeys[] = {"model", "trust"};

std::string unknown_key(CLI::App& verb, const settings::Setting& setting) {
  Suggestion nearest(setting.key);
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) nearest.consider(name);
  }
  std::string text = setting.section + " has no option '" + setting.key + "'";
  if (!nearest.best().empty()) text += ", did you mean '" + std::string(nearest.best()) + "'?";
  return text;
}

std::string unknown_section(CLI::App& app, const settings::Setting& setting) {
  if (setting.section.empty())
    return std::ranges::find(kPlainKeys, setting.key) != std::end(kPlainKeys)
               ? ""
               : "before the first [VERB] only 'model' and 'trust' are known, found '" + setting.key + "'";
  if (verb_of(app, setting.section) != nullptr) return {};
  Suggestion nearest(setting.section);
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    nearest.consider(verb->get_name());
  std::string text = "there is no verb '" + setting.section + "'";
  if (!nearest.best().empty()) text += ", did you mean '" + std::string(nearest.best()) + "'?";
  return text;
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

void Verb::footer(const std::string& text) const {
  const std::string old = app_->get_footer();
  app_->footer(old.empty() ? text : text + "\n\n" + old);
}

void Verb::example(const std::string& text) const {
  const std::string old = app_->get_footer();
  app_->footer((old.empty() ? "" : old + "\n\n") + std::string(kExample) + text);
}

void Verb::door(const std::string& heading) const { app_->group(heading); }

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

VerbFacts CommandLine::facts() const { return facts_of(*app_); }

std::string CommandLine::apply_settings(const std::vector<std::string>& arguments) {
  for (const settings::Setting& setting : settings_) {
    if (const std::string problem = unknown_section(*app_, setting); !problem.empty())
      return place_of(setting) + ": " + problem;
  }
  std::vector<CLI::App*> path = called(*app_, arguments);
  for (; !path.empty(); path.pop_back()) {
    CLI::App& verb = *path.back();
    const std::string section = section_of(path);
    for (const settings::Setting& setting : settings_) {
      if (setting.section != section) continue;
      CLI::Option* const option = option_named(verb, setting.key);
      const std::string problem =
          option == nullptr ? unknown_key(verb, setting) : make_default(*option, setting.values);
      if (!problem.empty()) return place_of(setting) + ": " + problem;
    }
    for (CLI::Option* option : verb.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        const std::string variable = settings::variable_of(section, name);
        const char* const value =
            option_named(verb, name) == option ? std::getenv(variable.c_str()) : nullptr;
        if (value == nullptr) continue;
        if (const std::string problem = make_default(*option, {value}); !problem.empty())
          return variable + ": " + problem;
      }
    }
  }
  return {};
}

std::vector<CommandLine::Effective> CommandLine::effective_settings() const {
  std::vector<Effective> all;
  const auto add_variable = [&](const std::string& section, const std::string& key) {
    const std::string variable = settings::variable_of(section, key);
    const char* const value = std::getenv(variable.c_str());
    if (value == nullptr) return false;
    all.push_back({section, key, value, variable, {}});
    return true;
  };
  for (const std::string_view key : kPlainKeys) add_variable("", std::string(key));
  const auto add_verb = [&](auto&& self, CLI::App& app, const std::string& section) -> void {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        CLI::Option* const named = section.empty() ? nullptr : option_named(app, name);
        if (named != nullptr && add_variable(section, name))
          all.back().problem = make_default(*named, {all.back().value});
      }
    }
    for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; }))
      self(self, *sub, section.empty() ? sub->get_name() : section + "." + sub->get_name());
  };
  add_verb(add_verb, *app_, "");
  for (const settings::Setting& setting : settings_) {
    const auto same = std::ranges::find_if(all, [&](const Effective& other) {
      return other.section == setting.section && other.key == setting.key;
    });
    if (same != all.end()) continue;  // the environment precedes it
    std::string value;
    for (const std::string& each : setting.values) value += (value.empty() ? "" : ",") + each;
    Effective effective{setting.section, setting.key, value, place_of(setting),
                        unknown_section(*app_, setting)};
    CLI::App* const verb = verb_of(*app_, setting.section);
    if (effective.problem.empty() && !setting.section.empty() && verb != nullptr) {
      CLI::Option* const option = option_named(*verb, setting.key);
      effective.problem =
          option == nullptr ? unknown_key(*verb, setting) : make_default(*option, setting.values);
    }
    all.push_back(std::move(effective));
  }
  return all;
}

CommandLine::Parsed CommandLine::run(std::vector<std::string> arguments) {
  want_finite_numbers(*app_);
  // The overview replaces CLI11's, once all verbs have the formatter of their own help.
  const auto formatter = app_->get_formatter();
  app_->formatter_fn([formatter](const CLI::App* app, std::string name, CLI::AppFormatMode mode) {
    return app->get_parent() == nullptr && mode == CLI::AppFormatMode::Normal
               ? overview(*app)
               : formatter->make_help(app, std::move(name), mode);
  });
  arguments = usual_form(std::move(arguments));
  const bool asks = std::ranges::any_of(arguments, [](const std::string& argument) {
    return argument == "--help" || argument == "-h" || argument == "--version";
  });
  const bool about_settings = !arguments.empty() && arguments[0] == "config";
  if (!asks && !about_settings) {
    if (const std::string problem = apply_settings(arguments); !problem.empty())
      return {Outcome::refused, problem + " (see " + app_->get_name() + " config)"};
  }
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app_->parse(reversed);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return {Outcome::refused, explain(*app_, error, arguments)};
    app_->exit(error);
    return {Outcome::answered, {}};
  }
  return {};
}

}  // namespace runnel::apps
