// Bugs of an importer stay in its process: each is tried without the sandbox, where it works, and inside.
#include "services/sandbox/sandbox.h"

#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "services/sandbox/landlock.h"
#include "tests/services/sandbox/planted_importer.h"
#include "tests/support/data.h"

namespace runnel::sandbox {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Sandbox : public testing::Test {
 protected:
  void SetUp() override {
    if (const Status can = can_lock(); !can.ok()) GTEST_SKIP() << "SKIPPED: " << can.text();
    ASSERT_TRUE(import("what is in the file").ok());
    filtered_ = said_.find("with seccomp") != std::string::npos;
    landlock_ = said_.find("Landlock version") != std::string::npos ? landlock_version() : 0;
    std::ofstream(file("secret")) << "a secret";
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  // A file with this bug, imported by the importer that has it.
  Result<std::vector<std::byte>> import(const std::string& bug, bool locked = true,
                                        Limits limits = {256 << 20, 30, 600}) {
    std::ofstream(file("model")) << bug;
    Request request;
    request.name = "model";
    request.limits = limits;
    request.locked = locked;
    request.may_read = [this](const fs::path& path) { return path == file("model"); };
    request.say = [this](std::string_view sentence) { said_ = sentence; };
    return run(request, [this](Inside& inside) -> Result<std::vector<std::byte>> {
      RUNNEL_ASSIGN(const std::vector<std::byte> bytes, inside.read(file("model")));
      return test::import_planted(bytes);
    });
  }
  // What is said when it is imported in the sandbox.
  std::string contained(const std::string& bug, Limits limits = {256 << 20, 30, 600}) {
    const auto result = import(bug, true, limits);
    EXPECT_FALSE(result.ok()) << bug << " gave: " << (result.ok() ? text_of(*result).substr(0, 100) : "");
    return std::string(result.status().text());
  }
  runnel::test::TemporaryFolder folder_;
  std::string said_;
  // Without a filter of system calls Landlock refuses some things, and the rest is limits.
  bool filtered_ = false;
  int landlock_ = 0;
};

#define NEEDS_FILTER() \
  if (!filtered_) GTEST_SKIP() << "SKIPPED WITHOUT SECCOMP: " << said_

TEST_F(Sandbox, GivesTheResultAndSaysItsLocks) {
  const auto result = import("what is in the file");
  ASSERT_TRUE(result.ok()) << result.status().text();
  EXPECT_EQ(text_of(*result), "what is in the file");
  EXPECT_THAT(said_, HasSubstr("model: in a sandbox, with "));
  EXPECT_TRUE(filtered_ || landlock_ > 0) << said_;
  // What the kernel has is used.
  EXPECT_EQ(landlock_, landlock_version()) << said_;
}

TEST_F(Sandbox, ALargeResultArrives) {
  const std::string large(std::size_t{5} << 20, 'r');
  const auto result = import(large);
  ASSERT_TRUE(result.ok()) << result.status().text();
  EXPECT_EQ(text_of(*result), large);
}

TEST_F(Sandbox, AReadOutsideOfAllMemoryEndsTheChildAlone) {
  const std::string said = contained("PLANT outside x");
  // A sanitizer reports such a read itself, and ends.
  EXPECT_THAT(said, AnyOf(HasSubstr("reading it ended with signal 11"), HasSubstr("ended without a result")));
  EXPECT_THAT(said, HasSubstr("model: "));
}

TEST_F(Sandbox, AnotherFileIsNotRead) {
  // Without it, the bug works: the test would see it.
  const auto free = import("PLANT steal " + file("secret"), false);
  ASSERT_TRUE(free.ok()) << free.status().text();
  EXPECT_EQ(text_of(*free), "a secret");
  EXPECT_THAT(contained("PLANT steal " + file("secret")), HasSubstr("open fails: Permission denied"));
  EXPECT_THAT(contained("PLANT steal /etc/passwd"), HasSubstr("open fails: Permission denied"));
}

TEST_F(Sandbox, TheParentGivesNoOtherFile) {
  Request request;
  request.name = "model";
  request.locked = true;
  request.may_read = [](const fs::path& path) { return path.filename() == "model"; };
  const auto result = run(request, [&](Inside& inside) { return inside.read(file("secret")); });
  EXPECT_EQ(result.status().text(), file("secret") + ": is not given to the sandbox");
  const auto folder = run(request, [&](Inside& inside) { return inside.read("/nowhere/model"); });
  EXPECT_EQ(folder.status().text(), "/nowhere/model: no such file");
}

TEST_F(Sandbox, NoFileIsWrittenOrRemoved) {
  EXPECT_TRUE(import("PLANT overwrite " + file("free"), false).ok());
  EXPECT_EQ(read_text(file("free")), "bug");
  for (const char* const bug : {"overwrite", "remove"}) {
    const std::string said = contained(std::string("PLANT ") + bug + " " + file("secret"));
    if (filtered_) {
      EXPECT_THAT(said, HasSubstr("stopped in the sandbox: it called "));
    }
    EXPECT_EQ(read_text(file("secret")), "a secret") << bug;
  }
  contained("PLANT overwrite " + file("new"));
  EXPECT_FALSE(fs::exists(file("new")));
}

TEST_F(Sandbox, NothingIsReachedOverTheNetwork) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 4), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string bug = "PLANT connect " + std::to_string(ntohs(address.sin_port));
  EXPECT_TRUE(import(bug, false).ok());
  if (filtered_) {
    EXPECT_THAT(contained(bug), HasSubstr("stopped in the sandbox: it called socket"));
  } else if (landlock_ >= 4) {
    EXPECT_THAT(contained(bug), HasSubstr("connect fails: Permission denied"));
  }
  ::close(listener);
}

TEST_F(Sandbox, NoProcessIsStarted) {
  NEEDS_FILTER();
  EXPECT_TRUE(import("PLANT fork x", false).ok());
  EXPECT_THAT(contained("PLANT fork x"), AnyOf(HasSubstr("it called clone"), HasSubstr("it called fork")));
  EXPECT_THAT(contained("PLANT execute touch " + file("new")), HasSubstr("it called execve"));
  EXPECT_FALSE(fs::exists(file("new")));
}

TEST_F(Sandbox, OtherProcessesAreLeftAlone) {
  NEEDS_FILTER();
  const std::string self = std::to_string(::getpid());
  EXPECT_THAT(contained("PLANT signal " + self), HasSubstr("it called kill"));
  EXPECT_THAT(contained("PLANT trace " + self), HasSubstr("it called ptrace"));
}

TEST_F(Sandbox, MemoryHasALimit) {
  const std::string said = contained("PLANT memory x", {128 << 20, 30, 600});
  EXPECT_THAT(said, AnyOf(HasSubstr("it may take 128 MiB: --max-memory sets it"),
                          HasSubstr("stopped at 128 MiB of memory (--max-memory sets it)")));
}

TEST_F(Sandbox, ProcessorTimeHasALimit) {
  EXPECT_THAT(contained("PLANT loop x", {256 << 20, 1, 600}),
              HasSubstr("model: stopped after 1 s of processor time (--max-seconds sets it)"));
}

TEST_F(Sandbox, WaitingHasALimit) {
  EXPECT_THAT(contained("PLANT wait x", {256 << 20, 30, 1}),
              HasSubstr("model: stopped after 1 s (--max-seconds"));
}

TEST_F(Sandbox, TextHasALimit) {
  Limits limits = {256 << 20, 30, 600};
  limits.text_bytes = 1 << 20;
  testing::internal::CaptureStdout();
  const std::string said = contained("PLANT print x", limits);
  EXPECT_LE(testing::internal::GetCapturedStdout().size(), 1U << 20);
  EXPECT_EQ(said, "model: stopped: it prints without end");
}

TEST_F(Sandbox, ExceptionsAndExitsAreSentences) {
  EXPECT_EQ(contained("PLANT throw x"), "model: a planted exception");
  EXPECT_THAT(contained("PLANT exit x"), HasSubstr("model: reading it ended without a result"));
}

TEST_F(Sandbox, LimitsAloneContainTheSameBugs) {
  EXPECT_THAT(import("PLANT outside x", false).status().text(),
              AnyOf(HasSubstr("ended with signal 11"), HasSubstr("ended without a result")));
  EXPECT_THAT(import("PLANT memory x", false, {128 << 20, 30, 600}).status().text(), HasSubstr("128 MiB"));
  EXPECT_THAT(import("PLANT loop x", false, {256 << 20, 1, 600}).status().text(),
              HasSubstr("1 s of processor time"));
}

TEST_F(Sandbox, ThreadsWorkInside) {
  Request request;
  request.name = "model";
  request.locked = true;
  request.limits = {512 << 20, 30, 600};
  const auto result = run(request, [](Inside&) -> Result<std::vector<std::byte>> {
    std::atomic<int> sum = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&sum, i] {
        const std::vector<int> own(100'000, i);
        for (const int each : own) sum += each;
      });
    for (std::thread& thread : threads) thread.join();
    return std::vector<std::byte>(sum == 600'000 ? 1 : 0);
  });
  ASSERT_TRUE(result.ok()) << result.status().text();
  EXPECT_EQ(result->size(), 1U);
}

TEST_F(Sandbox, WhatItPrintsHasNoControlCharacters) {
  Request request;
  request.name = "model";
  request.locked = true;
  testing::internal::CaptureStdout();
  const auto result = run(request, [](Inside&) -> Result<std::vector<std::byte>> {
    std::printf("a line\n\033[2Jclears\n");
    return std::vector<std::byte>();
  });
  EXPECT_TRUE(result.ok()) << result.status().text();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "a line\n?[2Jclears\n");
}

TEST_F(Sandbox, LibrariesOpenTheFilesThatAreNamed) {
  Request request;
  request.name = "model";
  request.locked = true;
  request.opened = {file("secret")};
  const auto read = [&](const std::string& name) {
    return run(request, [&](Inside&) {
      const std::string plant = "PLANT steal " + file(name);
      const auto* const first = reinterpret_cast<const std::byte*>(plant.data());
      return test::import_planted({first, first + plant.size()});
    });
  };
  std::ofstream(file("other")) << "another";
  const auto named = read("secret");
  if (landlock_ == 0) {
    EXPECT_THAT(named.status().text(), HasSubstr("only with Landlock"));
    return;
  }
  ASSERT_TRUE(named.ok()) << named.status().text();
  EXPECT_EQ(text_of(*named), "a secret");
  EXPECT_THAT(read("other").status().text(), HasSubstr("open fails: Permission denied"));
}

TEST_F(Sandbox, StopsWhenAsked) {
  std::atomic<bool> stop = true;
  Request request;
  request.name = "model";
  request.locked = true;
  request.stop = &stop;
  const auto result = run(request, [](Inside&) -> Result<std::vector<std::byte>> {
    for (;;) ::usleep(10'000);
  });
  EXPECT_EQ(result.status().text(), "model: stopped");
}

// As root these tests have also shown what an ordinary user has, and the other way round.
TEST_F(Sandbox, AnOrdinaryUserHasTheSameLocks) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "SKIPPED: this is an ordinary user already, whom the other tests show";
  fs::permissions(folder_.path(), fs::perms::all);
  fs::remove(file("model"));
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr unsigned kUser = 12345;
    if (::setgid(kUser) != 0 || ::setuid(kUser) != 0) ::_exit(77);
    const auto good = import("plain"), bad = import("PLANT steal " + file("secret"));
    ::_exit(good.ok() && !bad.ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
    GTEST_SKIP() << "SKIPPED: root cannot become another user here";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// As in a container, or on an older kernel: its system calls are not there.
bool take_landlock_away() {
  sock_filter steps[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 444, 0, 1),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program = {sizeof steps / sizeof *steps, steps};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_F(Sandbox, WithoutLandlockItSaysSoAndHolds) {
  NEEDS_FILTER();
  const pid_t child = ::fork();
  if (child == 0) {
    if (!take_landlock_away() || landlock_version() != 0) ::_exit(77);
    const bool good = import("plain").ok(),
               said = said_.find("not all: this kernel has no Landlock") != std::string::npos,
               stolen = import("PLANT steal " + file("secret")).ok();
    ::_exit(good && said && !stolen ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
    GTEST_SKIP() << "SKIPPED: Landlock cannot be taken away from a process here";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(SandboxLimits, GrowWithTheFileOnlyWhereAskedFor) {
  EXPECT_TRUE(limits_of_file(1000).any());
  EXPECT_FALSE(limits_of_file(1 << 20).any());
  EXPECT_GE(growing_limits(1 << 20).cpu_seconds, 2 * limits_of_file(0).cpu_seconds);
  EXPECT_GT(growing_limits(std::uint64_t{1} << 40).memory_bytes, 0U);
}

}  // namespace
}  // namespace runnel::sandbox
