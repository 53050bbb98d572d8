#include "services/sandbox/child.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <new>
#include <utility>

#include "services/sandbox/channel.h"
#include "services/sandbox/landlock.h"
#include "services/sandbox/seccomp.h"

namespace runnel::sandbox {
namespace {

namespace fs = std::filesystem;

// Of a child that is locked: 0 to 2 are its streams.
constexpr int kChannel = 3, kVerdict = 4;

int verdict_end = -1;

// A system call that is not allowed ends the child, which says its number.
void blocked(int, siginfo_t* info, void*) {
  const int number = info->si_syscall;
  [[maybe_unused]] const ssize_t done = ::write(verdict_end, &number, sizeof number);
  ::_exit(kBlockedExit);
}

// Bytes of address space, as /proc says.
std::uint64_t address_space() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t pages = 0;
  in >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void limit(int what, std::uint64_t soft, std::uint64_t hard) noexcept {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource>(what), &now) != 0) return;
  // A limit is never raised.
  now.rlim_max = std::min<rlim_t>(now.rlim_max, hard);
  now.rlim_cur = std::min<rlim_t>(std::min<rlim_t>(now.rlim_cur, soft), now.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource>(what), &now);
}

void set_limits(const Limits& limits) {
  limit(RLIMIT_CORE, 0, 0);
  if (limits.cpu_seconds > 0) limit(RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 1);
  if (limits.memory_bytes == 0 || kWatchedMemory) return;
  // Each arena of the heap reserves 64 MiB of addresses: one for all threads.
  ::mallopt(M_ARENA_MAX, 1);
  const std::uint64_t most = address_space() + limits.memory_bytes;
  limit(RLIMIT_AS, most, most);
}

// The streams of a locked child are pipes; of all other files it keeps its two ends.
void keep_only(ChildEnds& ends) noexcept {
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(ends.out, STDOUT_FILENO);
  ::dup2(ends.err, STDERR_FILENO);
  // First above both places, so that neither takes the other's.
  const int channel = ::fcntl(ends.channel, F_DUPFD, kVerdict + 1),
            verdict = ::fcntl(ends.verdict, F_DUPFD, kVerdict + 1);
  ends.channel = ::dup2(channel, kChannel);
  ends.verdict = ::dup2(verdict, kVerdict);
  constexpr long kCloseRange = 436;
  if (::syscall(kCloseRange, kVerdict + 1, ~0U, 0) == 0) return;
  const long most = std::min(::sysconf(_SC_OPEN_MAX), 65536L);
  for (int file = kVerdict + 1; file < most; ++file) ::close(file);
}

// Gives up the rights of root, as far as the system lets it.
void give_up_rights(bool other_user) noexcept {
  if (other_user && ::geteuid() == 0) {
    constexpr unsigned kNobody = 65534;
    // Where only root exists, as in some containers, it stays root without rights.
    [[maybe_unused]] const bool changed = ::setgroups(0, nullptr) == 0 &&
                                          ::setresgid(kNobody, kNobody, kNobody) == 0 &&
                                          ::setresuid(kNobody, kNobody, kNobody) == 0;
    // A change of the user withdraws it.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  __user_cap_data_struct none[2]{};
  ::syscall(SYS_capset, &header, none);
}

// Locks this process and says how.
Result<std::string> lock(const Request& request) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return Status(Code::unsupported, "this system has no no_new_privs, which a sandbox needs");
  Status filter = open_filter();
  limit(RLIMIT_FSIZE, 0, 0);
  limit(RLIMIT_NOFILE, 64, 64);
  give_up_rights(request.opened.empty());
  const int version = landlock_version();
  const bool files = restrict_files(request.opened);
  std::string has, lacks;
  if (filter.ok()) {
    struct sigaction action {};
    action.sa_sigaction = &blocked;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSYS, &action, nullptr);
    filter = restrict_calls(files && !request.opened.empty());
  }
  if (filter.ok())
    has = "seccomp";
  else
    lacks = std::string(filter.text());
  if (files)
    has += (has.empty() ? "" : " and ") + ("Landlock version " + std::to_string(version));
  else
    lacks += (lacks.empty() ? "" : "; ") + std::string("this kernel has no Landlock");
  if (has.empty()) return Status(Code::unsupported) << "no sandbox can be made: " << lacks;
  if (!request.opened.empty() && !files)
    return Status(Code::unsupported)
           << request.opened.front().string()
           << ": it can be read inside a sandbox only with Landlock, which this kernel "
              "does not have";
  return has + (lacks.empty() ? "" : ", not all: " + lacks);
}

// Asks the parent for files.
class Locked final : public Inside {
 public:
  explicit Locked(int channel) : channel_(channel) {}
  Result<std::vector<std::byte>> read(const fs::path& path) override {
    if (!send_frame(channel_, Frame::want, path.string()))
      return Status(Code::io_error, "the parent is gone");
    RUNNEL_ASSIGN(const int file, receive_file(channel_));
    struct stat facts {};
    std::vector<std::byte> bytes;
    if (::fstat(file, &facts) == 0) bytes.resize(static_cast<std::size_t>(facts.st_size));
    std::size_t at = 0;
    while (at < bytes.size()) {
      const ssize_t got = ::read(file, bytes.data() + at, bytes.size() - at);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      at += static_cast<std::size_t>(got);
    }
    ::close(file);
    if (at == bytes.size()) return bytes;
    return Status(Code::io_error) << path.string() << ": cannot be read completely";
  }

 private:
  int channel_;
};

Result<std::vector<std::byte>> locked_work(const Request& request, const Work& work, int channel) {
  if (request.locked) {
    RUNNEL_ASSIGN(const std::string locks, lock(request));
    send_frame(channel, Frame::locks, locks);
    Locked inside(channel);
    return work(inside);
  }
  Unlocked inside;
  return work(inside);
}

// Memory that libraries want and do not get.
Result<std::vector<std::byte>> guarded_work(const Request& request, const Work& work, int channel) {
  try {
    if (request.prepare) request.prepare();
    set_limits(request.limits);
    return locked_work(request, work, channel);
  } catch (const std::bad_alloc&) {
    return Status(Code::out_of_memory) << request.name << ": needs more memory than there is";
  } catch (const std::exception& error) {
    return Status(Code::io_error) << request.name << ": " << error.what();
  }
}

bool flushed() {
  std::cout.flush();
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
}

}  // namespace

Result<std::vector<std::byte>> Unlocked::read(const fs::path& path) {
  const auto failed = [&](Code code, std::string_view why) {
    return Status(code) << path.string() << ": " << why;
  };
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return failed(Code::not_found, "no such file");
  if (!fs::is_regular_file(status)) return failed(Code::io_error, "not a regular file");
  const std::uintmax_t size = fs::file_size(path, error);
  std::ifstream in(path, std::ios::binary);
  if (!in || error) return failed(Code::io_error, "cannot be read");
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  if (!in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())))
    return failed(Code::io_error, "cannot be read");
  return bytes;
}

void be_child(const Request& request, const Work& work, ChildEnds ends) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != ends.parent) ::_exit(1);
  for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(each, SIG_DFL);
  if (request.locked) keep_only(ends);
  verdict_end = ends.verdict;
  Result<std::vector<std::byte>> result = guarded_work(request, work, ends.channel);
  if (!flushed() && result.ok()) result = Status(Code::io_error, "stdout cannot be written");
  if (result.ok())
    send_frame(ends.channel, Frame::result, *result);
  else
    send_frame(ends.channel, Frame::failed, packed(result.status()));
  ::_exit(0);
}

}  // namespace runnel::sandbox
