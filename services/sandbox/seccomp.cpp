#include "services/sandbox/seccomp.h"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <utility>
#include <vector>

#include "base/host/late_library.h"
#include "services/sandbox/child.h"

namespace runnel::sandbox {
namespace {

// clang-format off
#define RUNNEL_SECCOMP(F) \
  F(seccomp_init) F(seccomp_load) F(seccomp_release) F(seccomp_rule_add_array) \
  F(seccomp_syscall_resolve_num_arch)
// clang-format on
struct Seccomp {
  static constexpr const char* kFile = RUNNEL_SECCOMP_FILE;
  static constexpr const char* kPurpose = "the sandbox's filter of system calls";
  RUNNEL_LATE_FUNCTIONS(RUNNEL_SECCOMP)
};

// What computing needs. Calls that this processor does not have are left out by the library.
// clang-format off
constexpr int kAllowed[] = {
    // what is open already
    SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(close), SCMP_SYS(fstat),
    SCMP_SYS(fstat64), SCMP_SYS(lseek), SCMP_SYS(_llseek), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(recvmsg),
    // memory
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(mincore),
    // threads and signals of its own
    SCMP_SYS(futex), SCMP_SYS(futex_time64), SCMP_SYS(set_robust_list), SCMP_SYS(get_robust_list), SCMP_SYS(rseq), SCMP_SYS(set_tid_address),
    SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigpending), SCMP_SYS(sigaltstack), SCMP_SYS(restart_syscall), SCMP_SYS(membarrier), SCMP_SYS(exit), SCMP_SYS(exit_group),
    // time and facts
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_gettime64), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep), SCMP_SYS(clock_nanosleep_time64),
    SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(times), SCMP_SYS(getrusage), SCMP_SYS(getcpu), SCMP_SYS(sysinfo),
    SCMP_SYS(uname), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getppid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
    SCMP_SYS(getegid), SCMP_SYS(getrlimit), SCMP_SYS(getrandom)};

// What libraries try without need: refused with a reason that they understand.
struct Refused {
  int call;
  std::uint16_t error;
};
constexpr Refused kRefused[] = {
    {SCMP_SYS(access), EACCES}, {SCMP_SYS(faccessat), EACCES}, {SCMP_SYS(faccessat2), EACCES}, {SCMP_SYS(readlink), EACCES},
    {SCMP_SYS(readlinkat), EACCES}, {SCMP_SYS(getcwd), EACCES}, {SCMP_SYS(statfs), EACCES}, {SCMP_SYS(fstatfs), EACCES},
    {SCMP_SYS(getdents64), EACCES}, {SCMP_SYS(openat2), ENOSYS}, {SCMP_SYS(clone3), ENOSYS}, {SCMP_SYS(ioctl), ENOTTY},
    {SCMP_SYS(sched_setaffinity), EPERM}, {SCMP_SYS(sched_setscheduler), EPERM}, {SCMP_SYS(sched_getscheduler), EPERM},
    {SCMP_SYS(sched_getparam), EPERM}, {SCMP_SYS(setpriority), EPERM}};
// clang-format on

class Filter {
 public:
  explicit Filter(const Seccomp& library)
      : library_(library), context_(library.seccomp_init(SCMP_ACT_TRAP)) {}
  ~Filter() {
    if (context_ != nullptr) library_.seccomp_release(context_);
  }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  void rule(std::uint32_t action, int call, std::initializer_list<scmp_arg_cmp> when = {}) {
    // A call that this processor does not have cannot be made here.
    if (context_ == nullptr || call < 0) return;
    const std::vector<scmp_arg_cmp> all(when);
    const int error = library_.seccomp_rule_add_array(context_, action, call,
                                                      static_cast<unsigned>(all.size()), all.data());
    if (error != 0 && error_ == 0) error_ = error;
  }
  void refuse(int call, std::uint16_t error, std::initializer_list<scmp_arg_cmp> when = {}) {
    rule(SCMP_ACT_ERRNO(error), call, when);
  }
  Status load() {
    if (context_ == nullptr) return Status(Code::out_of_memory, "libseccomp makes no filter");
    if (error_ == 0) error_ = library_.seccomp_load(context_);
    if (error_ == 0) return {};
    return Status(Code::io_error) << "the filter of system calls is refused: error " << -error_;
  }

 private:
  const Seccomp& library_;
  scmp_filter_ctx context_;
  int error_ = 0;
};

scmp_arg_cmp masked(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}
scmp_arg_cmp equal(unsigned argument, std::uint64_t value) { return {argument, SCMP_CMP_EQ, value, 0}; }

// Files by name: to read, at most.
void add_files(Filter& filter, bool may_open) {
  constexpr std::uint64_t kChanges = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;
  const std::uint32_t read_only = may_open ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EACCES);
  filter.rule(read_only, SCMP_SYS(open), {masked(1, kChanges, O_RDONLY)});
  filter.rule(read_only, SCMP_SYS(openat), {masked(2, kChanges, O_RDONLY)});
  // The C library asks for the facts of an open file with a name that is empty.
  constexpr std::uint64_t kEmptyPath = 0x1000;
  for (const auto& [call, flags] : {std::pair(SCMP_SYS(newfstatat), 3U), std::pair(SCMP_SYS(fstatat64), 3U),
                                    std::pair(SCMP_SYS(statx), 2U)}) {
    filter.rule(SCMP_ACT_ALLOW, call, {masked(flags, kEmptyPath, kEmptyPath)});
    filter.rule(read_only, call, {masked(flags, kEmptyPath, 0)});
  }
  for (const int call : {SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(stat64), SCMP_SYS(lstat64)})
    filter.rule(read_only, call);
}

// Calls that are harmless with some arguments alone.
void add_conditions(Filter& filter) {
  for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mmap2), SCMP_SYS(mprotect)})
    filter.rule(SCMP_ACT_ALLOW, call, {masked(2, PROT_EXEC, 0)});
  // Sanitizers try addresses by writing from them into a pipe.
  if (kWatchedMemory) filter.rule(SCMP_ACT_ALLOW, SCMP_SYS(pipe2));
  filter.rule(SCMP_ACT_ALLOW, SCMP_SYS(clone), {masked(0, CLONE_THREAD, CLONE_THREAD)});
  filter.rule(SCMP_ACT_ALLOW, SCMP_SYS(tgkill), {equal(0, static_cast<std::uint64_t>(::getpid()))});
  filter.rule(SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), {equal(2, 0)});
  for (const int command : {F_GETFD, F_SETFD, F_GETFL})
    for (const int call : {SCMP_SYS(fcntl), SCMP_SYS(fcntl64)})
      filter.rule(SCMP_ACT_ALLOW, call, {equal(1, static_cast<std::uint64_t>(command))});
  // The name of a thread, and of a piece of memory (PR_SET_VMA).
  for (const std::uint64_t option : {static_cast<std::uint64_t>(PR_SET_NAME), std::uint64_t{0x53564d41}})
    filter.rule(SCMP_ACT_ALLOW, SCMP_SYS(prctl), {equal(0, option)});
}

}  // namespace

Status open_filter() { return late<Seccomp>().status(); }

Status restrict_calls(bool may_open) {
  RUNNEL_TRY(open_filter());
  Filter filter(*late<Seccomp>());
  for (const int call : kAllowed) filter.rule(SCMP_ACT_ALLOW, call);
  for (const Refused& each : kRefused) filter.refuse(each.call, each.error);
  add_files(filter, may_open);
  add_conditions(filter);
  return filter.load();
}

std::string name_of_call(int number) {
  if (!open_filter().ok()) return std::to_string(number);
  char* const name = late<Seccomp>()->seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
  if (name == nullptr) return std::to_string(number);
  std::string text = name;
  std::free(name);
  return text;
}

}  // namespace runnel::sandbox
