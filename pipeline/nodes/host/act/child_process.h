// A child process, started without a shell.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"

namespace runnel::pipeline {

struct ChildCall {
  std::vector<std::string> arguments;    // the first one is the program; without a '/' it is searched in PATH
  std::vector<std::string> environment;  // NAME=VALUE, in addition to those of this process
  std::string input;                     // its standard input; must fit into a pipe
};

// Its standard output goes to our standard error, because our standard output carries data. It has its own
// process group, so that Ctrl-C in a terminal does not end it with this program. Move only; the destructor
// kills a child that still runs.
class ChildProcess {
 public:
  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  static constexpr std::size_t kLongestInput = 60000;

  // Errors: not_found, io_error, invalid_argument (input too long).
  static Result<ChildProcess> run(const ChildCall& call);

  // Poll it: readable when the child has ended.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  // Sends a signal to the child and its descendants.
  void signal(int number) const noexcept;
  // Ok when it ended with exit code 0; call when descriptor() is readable. Error: io_error with the exit code
  // or signal.
  Status outcome();

 private:
  pid_t id_ = -1;
  int descriptor_ = -1;
};

// Splits a command line into words at spaces. Parts may be in 'single' or "double" quotes; in double quotes a
// backslash escapes the next character. Error: invalid_argument.
Result<std::vector<std::string>> words_of(std::string_view text);

}  // namespace runnel::pipeline
