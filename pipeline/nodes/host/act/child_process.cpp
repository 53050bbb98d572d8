#include "pipeline/nodes/host/act/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace runnel::pipeline {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The attributes of a child: default handling of signals, its own process group, and no open files but the
// first three.
struct Settings {
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};

  explicit Settings(int input) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    sigset_t set;
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&attributes, &set);
    for (const int number : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&set, number);
    posix_spawnattr_setsigdefault(&attributes, &set);
  }
  ~Settings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;
};

// The environment of this process with some variables replaced.
std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> all = more;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view known = *entry;
    const std::string_view name = known.substr(0, known.find('=') + 1);
    if (std::none_of(more.begin(), more.end(), [&](const std::string& set) { return set.starts_with(name); }))
      all.emplace_back(known);
  }
  return all;
}

}  // namespace

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : id_(std::exchange(other.id_, -1)), descriptor_(std::exchange(other.descriptor_, -1)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (id_ >= 0) {
    signal(SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  if (descriptor_ >= 0) close(descriptor_);
}

Result<ChildProcess> ChildProcess::run(const ChildCall& call) {
  const std::string& program = call.arguments.front();
  if (call.input.size() > kLongestInput)
    return Status(Code::invalid_argument) << program << ": an input of " << call.input.size()
                                          << " bytes: expected at most " << kLongestInput;
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0)
    return Status(Code::io_error) << program << ": cannot be run: " << std::strerror(errno);
  // It fits into the pipe, so the write does not block; the child reads it and then end of file.
  const bool given =
      write(ends[1], call.input.data(), call.input.size()) == static_cast<ssize_t>(call.input.size());
  close(ends[1]);
  ChildProcess child;
  int error = given ? 0 : EIO;
  if (error == 0) {
    const Settings settings(ends[0]);
    std::vector<std::string> arguments = call.arguments, environment = environment_with(call.environment);
    error = posix_spawnp(&child.id_, program.c_str(), &settings.files, &settings.attributes,
                         pointers_to(arguments).data(), pointers_to(environment).data());
    if (error != 0) child.id_ = -1;
  }
  close(ends[0]);
  if (error == 0) {
    // (The header of glibc 2.36 cannot be used from C++.)
    child.descriptor_ = static_cast<int>(syscall(SYS_pidfd_open, child.id_, 0));
    if (child.descriptor_ < 0) error = errno;
  }
  if (error != 0)
    return Status(error == ENOENT ? Code::not_found : Code::io_error)
           << program << ": cannot be run: " << std::strerror(error);
  return child;
}

void ChildProcess::signal(int number) const noexcept {
  if (id_ > 0) kill(-id_, number);
}

Status ChildProcess::outcome() {
  int status = 0;
  pid_t ended = 0;
  do ended = waitpid(id_, &status, 0);
  while (ended < 0 && errno == EINTR);
  id_ = -1;
  if (ended < 0) return Status(Code::io_error) << "how it ended is not known: " << std::strerror(errno);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFEXITED(status)) return Status(Code::io_error) << "ended with exit code " << WEXITSTATUS(status);
  return Status(Code::io_error) << "was ended by signal " << WTERMSIG(status);
}

Result<std::vector<std::string>> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (quote == '\0' && (letter == ' ' || letter == '\t' || letter == '\n')) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote == '\0' && (letter == '\'' || letter == '"'))
      quote = letter;
    else if (letter == quote)
      quote = '\0';
    else if (letter == '\\' && quote == '"' && i + 1 < text.size())
      words.back() += text[++i];
    else
      words.back() += letter;
  }
  if (quote != '\0')
    return Status(Code::invalid_argument) << text << ": the quote is not closed, expected another " << quote;
  return words;
}

}  // namespace runnel::pipeline
