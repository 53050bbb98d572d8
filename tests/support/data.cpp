#include "tests/support/data.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace runnel::test {
namespace fs = std::filesystem;

fs::path data_folder() {
  const char* named = std::getenv("RUNNEL_TEST_DATA");
  if (named == nullptr || !fs::is_directory(named)) return {};
  return named;
}

std::vector<std::byte> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    ADD_FAILURE() << "cannot read " << path;
    return {};
  }
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  return {first, first + bytes.size()};
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "runnel-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
  path_ = name;
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Output run_program(const std::vector<std::string>& arguments, int seconds) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out", err = folder.path() / "err";
  const pid_t child = fork();
  if (child == 0) {
    const int out_fd = open(out.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    const int err_fd = open(err.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    const int in_fd = open("/dev/null", O_RDONLY);
    dup2(in_fd, 0);
    dup2(out_fd, 1);
    dup2(err_fd, 2);
    std::vector<char*> argv;
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  Output result;
  int status = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << arguments[0] << " did not end within " << seconds << " s";
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  const auto text = [](const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  result.out = text(out);
  result.err = text(err);
  return result;
}

std::string program() {
  const char* named = std::getenv("RUNNEL_PROGRAM");
  return named != nullptr ? named : "runnel";
}

}  // namespace runnel::test
