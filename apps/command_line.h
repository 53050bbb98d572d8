// The command line: verbs, options and errors in a call. Only command_line.cpp includes CLI11, whose header
// takes longer to compile than most verbs.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "apps/manual/table.h"
#include "services/settings/settings.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace runnel::apps {

// An option of a verb: a handle, valid as long as the CommandLine. Each function sets one property and
// returns the handle. Numeric options always refuse NaN and infinities.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  // The default shown in the help, instead of the target's value; "" shows none.
  Option default_str(const std::string& text) const;
  Option description(const std::string& text) const;
  // The heading in the help above the option.
  Option group(const std::string& heading) const;

  // The allowed values.
  Option choices(std::initializer_list<const char*> values) const;
  Option choices(std::initializer_list<int> values) const;
  // Both bounds are included.
  Option range(int least, int most) const;
  Option range(std::int64_t least, std::int64_t most) const;
  Option range(double least, double most) const;
  // The same for sizes; the help shows `unit` instead of the bounds.
  Option range(std::uint64_t least, std::uint64_t most, const char* unit) const;
  Option non_negative() const;
  Option positive() const;  // > 0

  // Excludes or requires `other`.
  Option excludes(Option other) const;
  Option needs(Option other) const;

  // Keeps the values of all occurrences of the option.
  Option take_all() const;
  // Splits one argument into values at `separator`.
  Option delimiter(char separator) const;

 private:
  CLI::Option* option_;
};

// The target of an option. Its initial value is the default.
using Target = std::variant<bool*, int*, std::int64_t*, std::uint32_t*, std::uint64_t*, double*, std::string*,
                            std::optional<int>*, std::vector<int>*, std::vector<std::string>*>;

// A verb, or the program itself; a handle like Option.
class Verb {
 public:
  explicit Verb(CLI::App* app) : app_(app) {}

  // Adds a subverb.
  Verb verb(const std::string& name, const std::string& help) const;
  // Requires one of the subverbs.
  void require_verb() const;

  // An option with a value; `names` is a list such as "-o,--output". `value` must outlive run().
  template <class Value>
  Option option(const std::string& names, Value& value, const std::string& help) const {
    return add_option(names, Target(&value), help);
  }
  // A positional argument; `name` is for the help. A vector takes all remaining ones.
  template <class Value>
  Option positional(const std::string& name, Value& value, const std::string& help) const {
    return add_option(name, Target(&value), help);
  }
  Option flag(const std::string& names, bool& value, const std::string& help) const;

  // The option of this name (with its dashes), which must exist.
  [[nodiscard]] Option find(const std::string& name) const;
  void remove(const std::string& name) const;

  // Text at the end of the help.
  void footer(const std::string& text) const;
  // An example, which ends the help, and the heading of the verb in the overview of the program.
  void example(const std::string& text) const;
  void door(const std::string& heading) const;
  // The action of the verb, called once all options are read.
  void callback(std::function<void()> action) const;

 private:
  [[nodiscard]] Option add_option(const std::string& names, Target value, const std::string& help) const;

  CLI::App* app_;
};

// The command line of the program.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& help);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // Defaults of options from the settings file; environment variables (settings::variable_of) precede them.
  // Call once all verbs are added; used are those of the verb of the call, none for help.
  void settings(std::vector<settings::Setting> file) { settings_ = std::move(file); }
  // A setting in effect: from the environment or the file.
  struct Effective {
    std::string section, key, value;
    std::string from;     // "RUNNEL_LISTEN_DEVICE", or the file with its line
    std::string problem;  // why it cannot be used; empty: it can
  };
  // Those of all verbs, whose options must have been added, and what nobody knows.
  [[nodiscard]] std::vector<Effective> effective_settings() const;

  // What was added so far.
  [[nodiscard]] VerbFacts facts() const;

  // Adds --version, which prints `text()`.
  void version(std::function<std::string()> text);
  // The program, to which verbs are added.
  [[nodiscard]] Verb program() const;

  enum class Outcome {
    done,      // the verb ran
    answered,  // help or version is on stdout
    refused,   // a wrong call: nothing ran
  };
  struct Parsed {
    Outcome outcome = Outcome::done;
    std::string complaint;  // of a refused call: the error in one line
  };
  // Parses the arguments and runs the callback of the verb. Exceptions of the callback propagate.
  [[nodiscard]] Parsed run(std::vector<std::string> arguments);

 private:
  std::string apply_settings(const std::vector<std::string>& arguments);

  std::vector<settings::Setting> settings_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace runnel::apps
