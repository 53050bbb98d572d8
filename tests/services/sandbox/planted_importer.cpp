#include "tests/services/sandbox/planted_importer.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace runnel::sandbox::test {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

Status system_failed(const char* what) {
  return Status(Code::io_error) << what << " fails: " << std::strerror(errno);
}

Result<std::vector<std::byte>> steal(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  if (file < 0) return system_failed("open");
  char text[64] = {};
  const ssize_t got = ::read(file, text, sizeof text);
  return bytes_of({text, static_cast<std::size_t>(got)});
}

Result<std::vector<std::byte>> overwrite(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) return system_failed("open");
  const ssize_t done = ::write(file, "bug", 3);
  return bytes_of(done == 3 ? "written" : "");
}

Result<std::vector<std::byte>> connect_to(const std::string& port) {
  const int end = ::socket(AF_INET, SOCK_STREAM, 0);
  if (end < 0) return system_failed("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
  if (::connect(end, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return system_failed("connect");
  return bytes_of("connected");
}

Result<std::vector<std::byte>> start_child() {
  const pid_t child = ::fork();
  if (child < 0) return system_failed("fork");
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return bytes_of("forked");
}

Result<std::vector<std::byte>> take_memory() {
  std::vector<std::vector<char>> all;
  for (;;) {
    all.emplace_back(std::size_t{16} << 20);
    // Used as well, in case the system promises more than it has.
    for (std::size_t i = 0; i < all.back().size(); i += 4096) all.back()[i] = 1;
  }
}

}  // namespace

Result<std::vector<std::byte>> import_planted(const std::vector<std::byte>& file) {
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with("PLANT ")) return file;
  const std::string bug = text.substr(6, text.find(' ', 6) - 6);
  const std::string rest = text.size() > 7 + bug.size() ? text.substr(7 + bug.size()) : "";
  if (bug == "outside") {
    // Far from everything that this process has.
    const volatile char* const nowhere = reinterpret_cast<const char*>(std::uintptr_t{1} << 44);
    return bytes_of(std::string(1, *nowhere));
  }
  if (bug == "steal") return steal(rest);
  if (bug == "overwrite") return overwrite(rest);
  const auto done = [](const char* what, bool good) -> Result<std::vector<std::byte>> {
    if (!good) return system_failed(what);
    return bytes_of(what);
  };
  if (bug == "remove") return done("unlink", ::unlink(rest.c_str()) == 0);
  if (bug == "connect") return connect_to(rest);
  if (bug == "fork") return start_child();
  if (bug == "execute") {
    ::execl("/bin/sh", "sh", "-c", rest.c_str(), nullptr);
    return system_failed("exec");
  }
  if (bug == "signal") return done("kill", ::kill(std::stoi(rest), SIGUSR1) == 0);
  if (bug == "trace")
    return done("ptrace",
                ::ptrace(PTRACE_ATTACH, static_cast<pid_t>(std::stoi(rest)), nullptr, nullptr) == 0);
  if (bug == "memory") return take_memory();
  if (bug == "loop") {
    volatile bool ended = false;
    while (!ended) {
    }
  }
  if (bug == "wait") {
    for (;;) ::usleep(10'000);
  }
  if (bug == "print") {
    for (;;) std::printf("%s\n", std::string(4000, 'x').c_str());
  }
  if (bug == "throw") throw std::runtime_error("a planted exception");
  if (bug == "exit") ::_exit(3);
  return Status(Code::invalid_argument) << "no bug " << bug;
}

}  // namespace runnel::sandbox::test
