#include "tests/support/beside.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

namespace runnel::test {
namespace fs = std::filesystem;

bool soon(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

std::string text_in(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Beside::Beside(const std::vector<std::string>& call, const fs::path& out, const fs::path& err) {
  std::vector<char*> arguments;
  for (const std::string& word : call) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  process_ = fork();
  if (process_ != 0) return;
  for (const auto& [file, number] : {std::pair(&out, 1), std::pair(&err, 2)}) {
    const int opened = open(file->c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(opened, number);
  }
  execv(arguments[0], arguments.data());
  _exit(127);
}

Beside::~Beside() {
  if (!runs()) return;
  ::kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void Beside::signal(int number) const {
  if (process_ > 0) ::kill(process_, number);
}

bool Beside::runs() {
  int status = 0;
  if (process_ <= 0 || waitpid(process_, &status, WNOHANG) == 0) return process_ > 0;
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  process_ = -1;
  return false;
}

int Beside::wait() {
  EXPECT_TRUE(soon([this] { return !runs(); }));
  return code_;
}

}  // namespace runnel::test
