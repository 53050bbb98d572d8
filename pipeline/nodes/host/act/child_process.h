// A program that is run beside this one, without a shell.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"

namespace runnel::pipeline {

struct ChildCall {
  std::vector<std::string> arguments;  // the first one is the program; without a '/' it is looked for in PATH
  std::vector<std::string> environment;  // NAME=VALUE, beside those of this process
  std::string input;                     // its standard input; fits into a pipe
};

// Its standard output goes to our standard error: ours carries data. It is in a process group of its own, so
// that what ends this program at a terminal does not end it as well. Move only; a child that still runs when
// this object goes is killed.
class ChildProcess {
 public:
  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  static constexpr std::size_t kLongestInput = 60000;

  // Errors: not_found, io_error, invalid_argument (input too long).
  static Result<ChildProcess> run(const ChildCall& call);

  // To be polled: readable when it has ended.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  // It, and whatever it started.
  void signal(int number) const noexcept;
  // Ok when it ended with 0; call when descriptor() is readable. Error: io_error, with how it ended.
  Status outcome();

 private:
  pid_t id_ = -1;
  int descriptor_ = -1;
};

// Words of a command as a user writes them: separated by spaces; parts may stand in 'single' or "double"
// quotes; in the latter a backslash takes the next character as it is. Error: invalid_argument.
Result<std::vector<std::string>> words_of(std::string_view text);

}  // namespace runnel::pipeline
