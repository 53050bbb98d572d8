// Runs a program and lets its Nth system call of a kind go wrong: errors, signals, half transfers, or a
// command that runs meanwhile.
//
//   tracer --calls read,pread64 [--on any|sockets|input|output|below:FOLDER|changes:FOLDER] [--without TEXT]
//          [--at N [--stay] --do error:EIO|signal:SIGTERM|half|hangup|run:COMMAND] [--log FILE] -- PROGRAM
//          ARGUMENT...
//
// Calls are counted from the program's entry on (what the dynamic linker does is left alone), over all of its
// threads and children together, in the order in which they happen. `--on` says which count: those on
// sockets, on the standard input, on the standard output; on files below a folder, or only those of them that
// change it (opening a file for writing is one); any, but for descriptors by which threads wake each other.
// --without: not those on files with this text in their path. --stay: the Nth and all that follow. `half`:
// calls move one half of the bytes that were asked for. `hangup`: EPIPE with SIGPIPE, as from a pipe without
// a reader. `run`: the thread stands still until the command of the shell has ended. The log has a line for
// each call that was counted. SIGTERM and SIGINT go on to the program. The exit code is the program's, 128
// and the signal's number where one ended it; 125 with a sentence where nothing can be traced.
#include <elf.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

#if defined(__x86_64__)
using Registers = user_regs_struct;
constexpr std::uint32_t kMachine = AUDIT_ARCH_X86_64;
constexpr std::array<unsigned char, 1> kBreak = {0xCC};  // int3, after which the next instruction is current
constexpr unsigned kAfterBreak = 1;
unsigned long long& place(Registers& all) { return all.rip; }
long number(const Registers& all) { return static_cast<long>(all.orig_rax); }
unsigned long long& argument(Registers& all, int i) {
  unsigned long long* const each[] = {&all.rdi, &all.rsi, &all.rdx, &all.r10, &all.r8, &all.r9};
  return *each[i];
}
void skip(pid_t, Registers& all, int error) {
  all.orig_rax = ~0ULL;
  all.rax = static_cast<unsigned long long>(-static_cast<long long>(error));
}
#elif defined(__aarch64__)
using Registers = user_regs_struct;
constexpr std::uint32_t kMachine = AUDIT_ARCH_AARCH64;
constexpr std::array<unsigned char, 4> kBreak = {0x00, 0x00, 0x20, 0xD4};  // brk #0, which stays current
constexpr unsigned kAfterBreak = 0;
unsigned long long& place(Registers& all) { return all.pc; }
long number(const Registers& all) { return static_cast<long>(all.regs[8]); }
unsigned long long& argument(Registers& all, int i) { return all.regs[i]; }
void skip(pid_t thread, Registers& all, int error) {
  int none = -1;
  iovec piece{&none, sizeof none};
  ptrace(PTRACE_SETREGSET, thread, NT_ARM_SYSTEM_CALL, &piece);
  all.regs[0] = static_cast<unsigned long long>(-static_cast<long long>(error));
}
#else
#error "tests/faults/CMakeLists.txt builds this for x86-64 and 64-bit Arm alone"
#endif

// What a system call acts on.
enum class On { file, pair, path, path_at, two_paths, two_paths_at, opened, mapped, nothing };

struct Known {
  const char* name;
  long number;
  On on;
};

constexpr Known kKnown[] = {
    {"openat", SYS_openat, On::opened},
    {"read", SYS_read, On::file},
    {"pread64", SYS_pread64, On::file},
    {"readv", SYS_readv, On::file},
    {"recvfrom", SYS_recvfrom, On::file},
    {"recvmsg", SYS_recvmsg, On::file},
    {"write", SYS_write, On::file},
    {"pwrite64", SYS_pwrite64, On::file},
    {"writev", SYS_writev, On::file},
    {"sendto", SYS_sendto, On::file},
    {"sendmsg", SYS_sendmsg, On::file},
    {"connect", SYS_connect, On::file},
    {"lseek", SYS_lseek, On::file},
    {"fstat", SYS_fstat, On::file},
    {"close", SYS_close, On::file},
    {"fsync", SYS_fsync, On::file},
    {"fdatasync", SYS_fdatasync, On::file},
    {"ftruncate", SYS_ftruncate, On::file},
    {"fallocate", SYS_fallocate, On::file},
    {"renameat", SYS_renameat, On::two_paths_at},
    {"renameat2", SYS_renameat2, On::two_paths_at},
    {"linkat", SYS_linkat, On::two_paths_at},
    {"unlinkat", SYS_unlinkat, On::path_at},
    {"mkdirat", SYS_mkdirat, On::path_at},
    {"newfstatat", SYS_newfstatat, On::path_at},
    {"mmap", SYS_mmap, On::mapped},
    {"clone", SYS_clone, On::nothing},
    {"clone3", SYS_clone3, On::nothing},
    {"socket", SYS_socket, On::nothing},
    {"accept4", SYS_accept4, On::file},
#ifdef SYS_open
    {"rename", SYS_rename, On::two_paths},
    {"link", SYS_link, On::two_paths},
    {"unlink", SYS_unlink, On::path},
    {"mkdir", SYS_mkdir, On::path},
#endif
};

struct Error {
  const char* name;
  int number;
};
constexpr Error kErrors[] = {{"EMFILE", EMFILE},         {"EIO", EIO},       {"EINTR", EINTR},
                             {"ENOSPC", ENOSPC},         {"ENOMEM", ENOMEM}, {"EAGAIN", EAGAIN},
                             {"ENODEV", ENODEV},         {"EROFS", EROFS},   {"EPIPE", EPIPE},
                             {"ECONNRESET", ECONNRESET}, {"EACCES", EACCES}, {"ENOENT", ENOENT},
                             {"EDQUOT", EDQUOT},         {"EFBIG", EFBIG}};
struct Signal {
  const char* name;
  int number;
};
constexpr Signal kSignals[] = {
    {"SIGTERM", SIGTERM}, {"SIGINT", SIGINT}, {"SIGHUP", SIGHUP}, {"SIGPIPE", SIGPIPE}, {"SIGKILL", SIGKILL}};

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "tracer: %s\n", why.c_str());
  std::exit(125);
}

struct Wish {
  std::vector<const Known*> calls;
  std::string on = "any", without, run;
  long at = 0;
  bool stay = false, half = false, hangup = false;
  int error = 0, signal = 0;
  std::FILE* log = nullptr;
};

pid_t child = -1;
extern "C" void pass_on(int signal) {
  if (child > 0) kill(child, signal);
}

std::string link_of(pid_t thread, const std::string& name) {
  char text[PATH_MAX];
  const ssize_t size = readlink(("/proc/" + std::to_string(thread) + '/' + name).c_str(), text, sizeof text);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}
std::string file_of(pid_t thread, unsigned long long file) {
  return static_cast<int>(file) < 0 ? std::string()
                                    : link_of(thread, "fd/" + std::to_string(static_cast<int>(file)));
}

std::string text_at(pid_t thread, unsigned long long address) {
  std::string out;
  while (out.size() < PATH_MAX) {
    char page[256];
    // A page at most, because the next one may not be there.
    iovec here{page, std::min<std::size_t>(sizeof page, 4096 - address % 4096)},
        there{reinterpret_cast<void*>(address), here.iov_len};
    const ssize_t size = process_vm_readv(thread, &here, 1, &there, 1, 0);
    if (size <= 0) return out;
    const auto* const end = static_cast<const char*>(std::memchr(page, 0, static_cast<std::size_t>(size)));
    out.append(page, end == nullptr ? static_cast<std::size_t>(size) : static_cast<std::size_t>(end - page));
    if (end != nullptr) return out;
    address += static_cast<unsigned long long>(size);
  }
  return out;
}

std::string path_of(pid_t thread, int folder, unsigned long long address) {
  const std::string text = text_at(thread, address);
  if (text.starts_with('/')) return text;
  return (folder == AT_FDCWD ? link_of(thread, "cwd") : file_of(thread, static_cast<unsigned>(folder))) +
         '/' + text;
}

// The file, or the last of two names, that a call is about; "" where there is none.
std::string subject(pid_t thread, const Known& call, Registers& all) {
  const auto folder = [&](int i) { return static_cast<int>(argument(all, i)); };
  switch (call.on) {
    case On::file:
      return file_of(thread, argument(all, 0));
    case On::mapped:
      return file_of(thread, argument(all, 4));
    case On::opened:
    case On::path_at:
      return path_of(thread, folder(0), argument(all, 1));
    case On::path:
      return path_of(thread, AT_FDCWD, argument(all, 0));
    case On::two_paths:
      return path_of(thread, AT_FDCWD, argument(all, 1));
    case On::two_paths_at:
      return path_of(thread, folder(2), argument(all, 3));
    default:
      return {};
  }
}

bool counts(const Wish& wish, const Known& call, Registers& all, const std::string& what) {
  if (!wish.without.empty() && what.find(wish.without) != std::string::npos) return false;
  if (wish.on == "any") return what.find("[eventfd") == std::string::npos;
  if (wish.on == "sockets") return what.starts_with("socket:");
  // Also by another number of the program's.
  if (wish.on == "input") return call.on == On::file && what == file_of(child, STDIN_FILENO);
  if (wish.on == "output") return call.on == On::file && what == file_of(child, STDOUT_FILENO);
  if (wish.on.starts_with("changes:") && call.on == On::opened &&
      (argument(all, 2) & (O_WRONLY | O_RDWR | O_CREAT)) == 0)
    return false;
  return what.starts_with(wish.on.substr(wish.on.find(':') + 1));
}

void prepare_child(const Wish& wish, char** words) {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) give_up("may not trace here");
  raise(SIGSTOP);
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMachine, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const Known* const call : wish.calls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call->number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    give_up("no filter of system calls here");
  execvp(words[0], words);
  give_up(std::string(words[0]) + ": " + std::strerror(errno));
}

class Tracer {
 public:
  explicit Tracer(const Wish& wish) : wish_(wish) {}

  int run() {
    constexpr long kOptions = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                              PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL;
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, child, nullptr, reinterpret_cast<void*>(kOptions)) != 0)
      give_up("may not trace here");
    known_.insert(child);
    ptrace(PTRACE_CONT, child, nullptr, nullptr);
    int result = 1;
    for (;;) {
      const pid_t thread = waitpid(-1, &status, __WALL);
      if (thread < 0 && errno == EINTR) continue;
      if (thread < 0) return result;
      if (!WIFSTOPPED(status)) {
        if (thread == child) result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        continue;
      }
      stopped(thread, status);
    }
  }

 private:
  void stopped(pid_t thread, int status) {
    const int signal = WSTOPSIG(status);
    const bool first = known_.insert(thread).second;
    int deliver = 0;
    switch (status >> 16) {
      case PTRACE_EVENT_SECCOMP:
        if (!called(thread)) return;
        break;
      case PTRACE_EVENT_EXEC:
        if (!entered_ && thread == child) plant(thread);
        break;
      case 0:
        if (signal == SIGTRAP && at_entry(thread)) break;
        // The first stop of a new thread is the tracer's own.
        deliver = first && signal == SIGSTOP ? 0 : signal;
        break;
      case PTRACE_EVENT_STOP:
      default:
        break;
    }
    ptrace(PTRACE_CONT, thread, nullptr, reinterpret_cast<void*>(static_cast<long>(deliver)));
  }

  static bool get(pid_t thread, Registers& all) {
    iovec piece{&all, sizeof all};
    return ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &piece) == 0;
  }
  static void set(pid_t thread, Registers& all) {
    iovec piece{&all, sizeof all};
    ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &piece);
  }

  // A break at the program's entry, which the dynamic linker reaches when it has done its part.
  void plant(pid_t thread) {
    std::FILE* const file = std::fopen(("/proc/" + std::to_string(thread) + "/auxv").c_str(), "rb");
    if (file == nullptr) give_up("no /proc/PID/auxv");
    unsigned long pair[2];
    while (std::fread(pair, sizeof pair, 1, file) == 1 && pair[0] != AT_NULL)
      if (pair[0] == AT_ENTRY) entry_ = pair[1];
    std::fclose(file);
    word_ = ptrace(PTRACE_PEEKTEXT, thread, reinterpret_cast<void*>(entry_), nullptr);
    long planted = word_;
    std::memcpy(&planted, kBreak.data(), kBreak.size());
    if (ptrace(PTRACE_POKETEXT, thread, reinterpret_cast<void*>(entry_), reinterpret_cast<void*>(planted)) !=
        0)
      give_up("no break at the program's entry");
  }
  bool at_entry(pid_t thread) {
    Registers all{};
    if (entered_ || thread != child || !get(thread, all) || place(all) != entry_ + kAfterBreak) return false;
    ptrace(PTRACE_POKETEXT, thread, reinterpret_cast<void*>(entry_), reinterpret_cast<void*>(word_));
    place(all) = entry_;
    set(thread, all);
    entered_ = true;
    return true;
  }

  // A call of the kind. False: the thread is gone.
  bool called(pid_t thread) {
    Registers all{};
    if (!get(thread, all)) return false;
    if (!entered_) return true;
    const auto call = std::find_if(wish_.calls.begin(), wish_.calls.end(),
                                   [&](const Known* one) { return one->number == number(all); });
    if (call == wish_.calls.end()) return true;
    const std::string what = subject(thread, **call, all);
    if (!counts(wish_, **call, all, what)) return true;
    ++count_;
    if (wish_.log != nullptr) {
      std::fprintf(wish_.log, "%ld %s %s\n", count_, (*call)->name, what.c_str());
      std::fflush(wish_.log);
    }
    if (wish_.at == 0 || count_ < wish_.at || (count_ > wish_.at && !wish_.stay)) return true;
    if (wish_.hangup) {
      skip(thread, all, EPIPE);
      set(thread, all);
      // Of the thread, as the kernel sends it.
      syscall(SYS_tgkill, process_of(thread), thread, SIGPIPE);
    } else if (wish_.error != 0) {
      skip(thread, all, wish_.error);
      set(thread, all);
    } else if (wish_.half) {
      unsigned long long& size = argument(all, 2);
      if (size > 1 && size < (1ULL << 40)) size = (size + 1) / 2;
      set(thread, all);
    } else if (wish_.signal != 0) {
      // Of the process, as others send it; a child with limits is its own process.
      const pid_t process = process_of(thread);
      kill(process, wish_.signal);
      if (wish_.signal == SIGKILL) return false;
    } else if (!wish_.run.empty() && std::system(wish_.run.c_str()) != 0) {
      std::fprintf(stderr, "tracer: `%s` failed\n", wish_.run.c_str());
    }
    return true;
  }
  static pid_t process_of(pid_t thread) {
    std::FILE* const file = std::fopen(("/proc/" + std::to_string(thread) + "/status").c_str(), "r");
    pid_t out = thread;
    char line[256];
    while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr)
      if (std::strncmp(line, "Tgid:", 5) == 0) out = std::atoi(line + 5);
    if (file != nullptr) std::fclose(file);
    return out;
  }

  const Wish& wish_;
  std::set<pid_t> known_;
  bool entered_ = false;
  unsigned long entry_ = 0;
  long word_ = 0, count_ = 0;
};

std::vector<const Known*> calls_of(const std::string& names) {
  std::vector<const Known*> out;
  for (std::size_t at = 0; at <= names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    const std::string name = names.substr(at, end - at);
    const auto* const one = std::find_if(std::begin(kKnown), std::end(kKnown),
                                         [&](const Known& each) { return name == each.name; });
    // This machine may have fewer calls than others.
    if (one != std::end(kKnown)) out.push_back(one);
    at = end + 1;
  }
  return out;
}

void deed(Wish& wish, const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon),
                    rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (kind == "half") wish.half = true;
  if (kind == "hangup") wish.hangup = true;
  if (kind == "run") wish.run = rest;
  for (const Error& one : kErrors)
    if (kind == "error" && rest == one.name) wish.error = one.number;
  for (const Signal& one : kSignals)
    if (kind == "signal" && rest == one.name) wish.signal = one.number;
  if (!wish.half && !wish.hangup && wish.run.empty() && wish.error == 0 && wish.signal == 0)
    give_up("--do " + text + " is not known");
}

}  // namespace

int main(int count, char** words) {
  Wish wish;
  int i = 1;
  for (; i < count && std::string_view(words[i]) != "--"; ++i) {
    const std::string name = words[i];
    if (name == "--stay") {
      wish.stay = true;
      continue;
    }
    if (++i >= count) give_up(name + " needs a value");
    const std::string value = words[i];
    if (name == "--calls") wish.calls = calls_of(value);
    if (name == "--on") wish.on = value;
    if (name == "--without") wish.without = value;
    if (name == "--at") wish.at = std::atol(value.c_str());
    if (name == "--do") deed(wish, value);
    if (name == "--log" && (wish.log = std::fopen(value.c_str(), "we")) == nullptr)
      give_up(value + " cannot be written");
  }
  if (i + 1 >= count || wish.calls.empty())
    give_up("usage: tracer --calls NAMES [options] -- PROGRAM ARGUMENT...");
  struct sigaction now {};
  now.sa_handler = pass_on;
  child = fork();
  if (child == 0) prepare_child(wish, words + i + 1);
  for (const int signal : {SIGTERM, SIGINT}) sigaction(signal, &now, nullptr);
  return Tracer(wish).run();
}
