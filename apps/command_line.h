// The command line: verbs, their options and what is wrong with a call. Only command_line.cpp includes CLI11,
// whose header takes longer to compile than most verbs do.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace runnel::apps {

// An option of a verb: a handle, valid as long as the CommandLine. Each function says one more thing about
// the option and returns the handle again. Options with numbers refuse NaN and infinities on their own.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  // What the help shows as the default, instead of the value that the target has; "" shows none.
  Option default_str(const std::string& text) const;
  Option description(const std::string& text) const;
  // The heading of the help under which the option stands.
  Option group(const std::string& heading) const;

  // The values that are allowed.
  Option choices(std::initializer_list<const char*> values) const;
  Option choices(std::initializer_list<int> values) const;
  // Both ends are allowed.
  Option range(int least, int most) const;
  Option range(std::int64_t least, std::int64_t most) const;
  Option range(double least, double most) const;
  // The same for sizes; `unit` stands in the help in place of the bounds.
  Option range(std::uint64_t least, std::uint64_t most, const char* unit) const;
  Option non_negative() const;
  Option positive() const;  // more than 0

  // Not together with `other`; not without it.
  Option excludes(Option other) const;
  Option needs(Option other) const;

  // An option that is given several times keeps all its values.
  Option take_all() const;
  // Values of one argument are separated by `separator`.
  Option delimiter(char separator) const;

 private:
  CLI::Option* option_;
};

// Where the value of an option goes. The value that is there already is the default.
using Target = std::variant<bool*, int*, std::int64_t*, std::uint32_t*, std::uint64_t*, double*, std::string*,
                            std::optional<int>*, std::vector<int>*, std::vector<std::string>*>;

// A verb, or the program, of which the verbs are parts: a handle as Option is.
class Verb {
 public:
  explicit Verb(CLI::App* app) : app_(app) {}

  // A verb below this one.
  Verb verb(const std::string& name, const std::string& help) const;
  // One of the verbs below must be given.
  void require_verb() const;

  // An option with a value; `names` is a list such as "-o,--output". `value` must outlive run().
  template <class Value>
  Option option(const std::string& names, Value& value, const std::string& help) const {
    return add_option(names, Target(&value), help);
  }
  // A value without a name; `name` is what the help calls it. A vector takes all that are left.
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
  // What the verb does, once all its options are read.
  void callback(std::function<void()> action) const;

 private:
  [[nodiscard]] Option add_option(const std::string& names, Target value, const std::string& help) const;

  CLI::App* app_;
};

// The whole program's command line.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& help);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // Adds --version, which prints `text()`.
  void version(std::function<std::string()> text);
  // Where the verbs are added.
  [[nodiscard]] Verb program() const;

  enum class Outcome {
    done,      // the verb ran
    answered,  // help or version is on stdout
    refused,   // a wrong call: nothing ran
  };
  struct Parsed {
    Outcome outcome = Outcome::done;
    std::string complaint;  // of a refused call: what is wrong, in one line
  };
  // Reads the arguments and runs the callback of the verb, whose exceptions pass through.
  [[nodiscard]] Parsed run(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace runnel::apps
