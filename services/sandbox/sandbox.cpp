#include "services/sandbox/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "services/sandbox/channel.h"
#include "services/sandbox/child.h"
#include "services/sandbox/seccomp.h"

namespace runnel::sandbox {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// A file descriptor that is closed with its owner.
class End {
 public:
  End() = default;
  explicit End(int file) : file_(file) {}
  ~End() { close(); }
  End(const End&) = delete;
  End& operator=(End&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  [[nodiscard]] int get() const noexcept { return file_; }
  [[nodiscard]] bool open() const noexcept { return file_ >= 0; }
  void close() noexcept {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
  }

 private:
  int file_ = -1;
};

bool make_pipe(End& read, End& write) {
  int ends[2];
  if (::pipe(ends) != 0) return false;
  read = End(ends[0]);
  write = End(ends[1]);
  return ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

// Text of a child, for the terminal of a person: control characters but ends of lines and tabs become '?'.
void relay(std::span<char> text, std::FILE* to) {
  for (char& letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if ((byte < 0x20 && letter != '\n' && letter != '\t') || byte == 0x7F) letter = '?';
  }
  std::fwrite(text.data(), 1, text.size(), to);
}

std::string signal_text(int number) {
  const char* const name = ::strsignal(number);
  return std::to_string(number) + (name == nullptr ? "" : std::string(" (") + name + ")");
}

// Memory in use by a process, as /proc says.
std::uint64_t resident_bytes(const std::string& process) {
  std::ifstream in("/proc/" + process + "/statm");
  std::uint64_t all = 0, resident = 0;
  in >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::string mebibytes(std::uint64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

// A child as its parent sees it.
class Parent {
 public:
  explicit Parent(const Request& request)
      : request_(request),
        reader_(request.limits.memory_bytes > 0 ? request.limits.memory_bytes : limits::kSandboxAnswerBytes) {
  }

  Result<std::vector<std::byte>> run(const Work& work);

 private:
  Status start(const Work& work);
  void watch();
  void check_limits();
  void take_frames();
  void answer(const fs::path& path);
  void take_text(End& from, std::FILE* to);
  bool receive(End& from, std::vector<std::byte>& into);
  void kill(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    ::kill(child_, SIGKILL);
  }
  [[nodiscard]] Status ended() const;
  [[nodiscard]] Status failed(std::string_view text) const {
    return Status(Code::io_error) << request_.name << ": " << text;
  }

  const Request& request_;
  End channel_, verdict_, out_, err_;
  FrameReader reader_;
  pid_t child_ = -1;
  int status_ = 0;
  rusage usage_{};
  Clock::time_point begun_;
  std::string why_;  // it was killed from here
  std::uint64_t relayed_ = 0, own_bytes_ = 0;
  int files_ = 0;
  std::optional<Status> failure_;
  std::optional<std::vector<std::byte>> result_;
};

Status Parent::start(const Work& work) {
  int pair[2];
  End child_channel, child_verdict, child_out, child_err;
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return failed("no socket for a child process");
  channel_ = End(pair[0]);
  child_channel = End(pair[1]);
  const bool streams = !request_.locked || (make_pipe(out_, child_out) && make_pipe(err_, child_err));
  if (!streams || !make_pipe(verdict_, child_verdict)) return failed("no pipes for a child process");
  std::cout.flush();
  std::fflush(nullptr);
  begun_ = Clock::now();
  own_bytes_ = resident_bytes("self");
  const pid_t self = ::getpid();
  child_ = ::fork();
  if (child_ < 0) return failed("no child process can be started");
  if (child_ == 0) {
    channel_.close();
    be_child(request_, work,
             {child_channel.get(), child_verdict.get(), child_out.get(), child_err.get(), self});
  }
  return {};
}

void Parent::check_limits() {
  if (request_.stop != nullptr && request_.stop->load()) return kill("stopped");
  const Limits& limits = request_.limits;
  const std::uint64_t seconds =
      limits.wall_seconds > 0 ? limits.wall_seconds : std::uint64_t{limits.cpu_seconds} * 30;
  if (seconds > 0 && Clock::now() - begun_ > std::chrono::seconds(seconds))
    return kill("stopped after " + std::to_string(seconds) + " s (--max-seconds sets it)");
  // The limit of addresses comes first where there is one: not with sanitizers, nor in an emulator.
  if (limits.memory_bytes > 0 && resident_bytes(std::to_string(child_)) > limits.memory_bytes + own_bytes_)
    kill("stopped at " + mebibytes(limits.memory_bytes) + " of memory (--max-memory sets it)");
}

// A file that the child asks for.
void Parent::answer(const fs::path& path) {
  const auto refused = [&](const std::string& why) {
    if (!send_file(channel_.get(), -1, path.string() + ": " + why))
      kill("stopped: it asks and does not listen");
  };
  if (++files_ > limits::kSandboxFiles) return kill("stopped: it asks for too many files");
  if (!request_.may_read || !request_.may_read(path)) return refused("is not given to the sandbox");
  const End file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat facts {};
  if (!file.open()) return refused(errno == ENOENT ? "no such file" : std::strerror(errno));
  if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return refused("not a regular file");
  if (!send_file(channel_.get(), file.get(), "file")) kill("stopped: it asks and does not listen");
}

void Parent::take_frames() {
  Frame kind{};
  for (std::vector<std::byte> payload; reader_.next(kind, payload);) {
    const std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size());
    switch (kind) {
      case Frame::locks:
        if (request_.say)
          request_.say(request_.name + ": in a sandbox, with " + std::string(text.substr(0, 300)));
        break;
      case Frame::want:
        answer(fs::path(text));
        break;
      case Frame::failed:
        failure_ = unpacked(payload);
        break;
      case Frame::result:
        result_ = std::move(payload);
        break;
    }
  }
  if (reader_.broken()) kill("stopped: what it answers makes no sense");
}

// Reads what there is; false at the end.
bool Parent::receive(End& from, std::vector<std::byte>& into) {
  into.resize(1 << 16);
  const ssize_t got = ::read(from.get(), into.data(), into.size());
  into.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN))) return true;
  from.close();
  return false;
}

void Parent::take_text(End& from, std::FILE* to) {
  std::vector<std::byte> bytes;
  if (!receive(from, bytes)) return;
  relayed_ += bytes.size();
  if (relayed_ > request_.limits.text_bytes) return kill("stopped: it prints without end");
  relay({reinterpret_cast<char*>(bytes.data()), bytes.size()}, to);
}

// Until the child has ended and everything that it sent is here.
void Parent::watch() {
  ::fcntl(channel_.get(), F_SETFL, O_NONBLOCK);
  for (bool alive = true;;) {
    pollfd ends[3] = {{channel_.get(), POLLIN, 0}, {out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};
    // Without a channel it is about to end.
    const int ready = ::poll(ends, 3, !alive ? 0 : channel_.open() ? 20 : 1);
    if (ends[1].revents != 0) take_text(out_, stdout);
    if (ends[2].revents != 0) take_text(err_, stderr);
    if (ends[0].revents != 0) {
      std::vector<std::byte> bytes;
      if (receive(channel_, bytes)) reader_.append(bytes);
      take_frames();
    }
    if (!alive && ready <= 0) return;
    if (!alive) continue;
    check_limits();
    alive = ::wait4(child_, &status_, WNOHANG, &usage_) != child_;
  }
}

// How it ended, where it did not end well.
Status Parent::ended() const {
  if (!why_.empty()) return failed(why_);
  int number = -1;
  if (::read(verdict_.get(), &number, sizeof number) == static_cast<ssize_t>(sizeof number))
    return failed("stopped in the sandbox: it called " + name_of_call(number) +
                  ", which no reader of files needs");
  const int signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
  const auto spent = static_cast<std::uint64_t>(usage_.ru_utime.tv_sec + usage_.ru_stime.tv_sec);
  const std::uint32_t most = request_.limits.cpu_seconds;
  if (signal == SIGXCPU || (signal == SIGKILL && most > 0 && spent >= most))
    return failed("stopped after " + std::to_string(most) + " s of processor time (--max-seconds sets it)");
  if (signal == SIGPIPE && !request_.locked) {
    // Whoever read this program's output has gone, which ends it like any other.
    ::signal(SIGPIPE, SIG_DFL);
    ::raise(SIGPIPE);
  }
  // Sent by others: by users, by the end of a session, or by a system that has no memory left.
  if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGKILL)
    return failed("reading it was ended by signal " + signal_text(signal));
  if (signal != 0)
    return failed("reading it ended with signal " + signal_text(signal) +
                  ", which is a fault of this program: please report it");
  return failed("reading it ended without a result, which is a fault of this program: please report it");
}

Result<std::vector<std::byte>> Parent::run(const Work& work) {
  RUNNEL_TRY(start(work));
  if (request_.started) request_.started();
  watch();
  std::fflush(stdout);
  if (why_.empty() && WIFEXITED(status_) && WEXITSTATUS(status_) == 0) {
    if (failure_ && failure_->code() == Code::out_of_memory && request_.limits.memory_bytes > 0)
      return std::move(*failure_) << " (it may take " << mebibytes(request_.limits.memory_bytes)
                                  << ": --max-memory sets it)";
    if (failure_) return *failure_;
    if (result_) return std::move(*result_);
  }
  return ended();
}

// A program with sanitizers needs more of everything.
constexpr std::uint64_t kMore = kWatchedMemory ? 8 : 1;

}  // namespace

Limits limits_of_file(std::uint64_t bytes) noexcept {
  return bytes < limits::kSmallFileBytes ? growing_limits(0) : Limits();
}

Limits growing_limits(std::uint64_t bytes) noexcept {
  const std::uint64_t times = kMore * (1 + bytes / limits::kSmallFileBytes);
  Limits out;
  out.memory_bytes = limits::kSmallFileMemory * std::min<std::uint64_t>(times, 64);
  out.cpu_seconds =
      static_cast<std::uint32_t>(limits::kSmallFileSeconds * std::min<std::uint64_t>(times, 360));
  return out;
}

Status can_lock() {
  Request request;
  request.name = "a try";
  request.locked = true;
  return run(request, [](Inside&) -> Result<std::vector<std::byte>> { return std::vector<std::byte>(); })
      .status();
}

Result<std::vector<std::byte>> run(const Request& request, const Work& work) {
  if (request.locked || request.limits.any()) return Parent(request).run(work);
  if (request.started) request.started();
  Unlocked inside;
  return work(inside);
}

}  // namespace runnel::sandbox
