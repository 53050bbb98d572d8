// Preloaded into a program under test (LD_PRELOAD): what strace cannot inject without doing harm of its own.
//
//   RUNNEL_FAULT=memory:N            the Nth allocation of the program fails, once
//   RUNNEL_FAULT=short:N             from the Nth on, reads and writes of more than a byte move one half
//   RUNNEL_FAULT=forward:N, back:N   the system's clock steps by a day at the Nth look at it
//   RUNNEL_FAULT_COUNT=FILE          at the end of the program, the numbers of these calls are written there
//
// Counted are calls of the program and its libraries through the dynamic linker, after it has started; not
// those inside the C library.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

// From the C library itself: these are found without dlsym(), which allocates.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

enum Kind { kNone, kMemory, kShort, kForward, kBack };
Kind kind = kNone;
long nth = 0;
bool started = false;
std::atomic<long> allocations, transfers, looks;

[[gnu::constructor]] void begin() {
  const char* const names[] = {"", "memory:", "short:", "forward:", "back:"};
  const char* const wanted = std::getenv("RUNNEL_FAULT");
  for (int i = kMemory; wanted != nullptr && i <= kBack; ++i) {
    const size_t length = std::strlen(names[i]);
    if (std::strncmp(wanted, names[i], length) != 0) continue;
    kind = static_cast<Kind>(i);
    nth = std::atol(wanted + length);
  }
  started = true;
}

[[gnu::destructor]] void end() {
  const char* const path = std::getenv("RUNNEL_FAULT_COUNT");
  started = false;
  if (path == nullptr) return;
  char text[100];
  const int size = std::snprintf(text, sizeof text, "{\"memory\": %ld, \"short\": %ld, \"clock\": %ld}\n",
                                 allocations.load(), transfers.load(), looks.load());
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return;
  [[maybe_unused]] const long written = syscall(SYS_write, file, text, static_cast<size_t>(size));
  close(file);
}

bool no_memory() {
  if (!started || ++allocations != nth || kind != kMemory) return false;
  errno = ENOMEM;
  return true;
}

// How many of `size` bytes go. Small messages through pipes and events are never divided.
size_t part(int file, size_t size) {
  struct stat facts {};
  if (!started || size < 2 || fstat(file, &facts) != 0) return size;
  if (!S_ISREG(facts.st_mode) && !S_ISSOCK(facts.st_mode)) return size;
  return ++transfers >= nth && kind == kShort ? (size + 1) / 2 : size;
}

}  // namespace

extern "C" {

void* malloc(size_t size) noexcept { return no_memory() ? nullptr : __libc_malloc(size); }
void* calloc(size_t count, size_t size) noexcept {
  return no_memory() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) noexcept {
  return size != 0 && no_memory() ? nullptr : __libc_realloc(old, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return no_memory() ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) noexcept {
  void* const made = no_memory() ? nullptr : __libc_memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *out = made;
  return 0;
}

// Errors are those of the system calls.
ssize_t read(int file, void* to, size_t size) { return syscall(SYS_read, file, to, part(file, size)); }
ssize_t write(int file, const void* from, size_t size) {
  return syscall(SYS_write, file, from, part(file, size));
}
ssize_t pread(int file, void* to, size_t size, off_t at) {
  return syscall(SYS_pread64, file, to, part(file, size), at);
}
ssize_t pread64(int file, void* to, size_t size, off64_t at) {
  return syscall(SYS_pread64, file, to, part(file, size), at);
}
ssize_t pwrite(int file, const void* from, size_t size, off_t at) {
  return syscall(SYS_pwrite64, file, from, part(file, size), at);
}
ssize_t recv(int file, void* to, size_t size, int flags) {
  return syscall(SYS_recvfrom, file, to, part(file, size), flags, nullptr, nullptr);
}
ssize_t send(int file, const void* from, size_t size, int flags) {
  return syscall(SYS_sendto, file, from, part(file, size), flags, nullptr, 0);
}
ssize_t writev(int file, const iovec* pieces, int count) {
  if (count < 1 || kind != kShort) return syscall(SYS_writev, file, pieces, count);
  return write(file, pieces[0].iov_base, pieces[0].iov_len);
}

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static auto* const real =
      reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, now);
  if (!started || clock != CLOCK_REALTIME) return result;
  const long count = ++looks;
  if (count >= nth && kind == kForward) now->tv_sec += 86400;
  if (count >= nth && kind == kBack) now->tv_sec -= 86400;
  return result;
}

}  // extern "C"
