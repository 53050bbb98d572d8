// Preloaded into a program under test (LD_PRELOAD): what the tracer (tracer.cpp) does not see.
//
//   RUNNEL_FAULT=memory:N            the Nth allocation of the program fails, once
//   RUNNEL_FAULT=forward:N, back:N   the system's clock steps by a day at the Nth look at it
//   RUNNEL_FAULT=wobble:N            from the Nth look on, it is a day ahead and a day behind, in turns
//   RUNNEL_FAULT_COUNT=FILE          at the end of the program, the numbers of these calls are written there
//
// Counted are calls of the program and its libraries through the dynamic linker, after it has started; not
// those inside the C library. Waits until a time of the system's clock end when the real one has come there:
// a clock that steps takes them along.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <sys/time.h>
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

enum Kind { kNone, kMemory, kForward, kBack, kWobble };
Kind kind = kNone;
long nth = 0;
bool started = false;
std::atomic<long> allocations, looks;

[[gnu::constructor]] void begin() {
  const char* const names[] = {"", "memory:", "forward:", "back:", "wobble:"};
  const char* const wanted = std::getenv("RUNNEL_FAULT");
  for (int i = kMemory; wanted != nullptr && i <= kWobble; ++i) {
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
  const int size = std::snprintf(text, sizeof text, "{\"memory\": %ld, \"clock\": %ld}\n", allocations.load(),
                                 looks.load());
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

constexpr long kDay = 86400;

// Seconds by which this look at the system's clock is wrong.
long step() {
  if (!started) return 0;
  const long count = ++looks;
  if (count < nth) return 0;
  if (kind == kWobble) return count % 2 == 0 ? kDay : -kDay;
  return kind == kForward ? kDay : kind == kBack ? -kDay : 0;
}

// A time that was computed from a clock that had stepped, for a wait by the real one. Times since the start
// of the machine are small, and stay.
timespec by_the_real_clock(const timespec& until) {
  timespec now{}, out = until;
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  if (kind == kNone || kind == kMemory || until.tv_sec < 1000000000) return out;
  if (out.tv_sec > now.tv_sec + kDay / 2) out.tv_sec -= kDay;
  if (out.tv_sec < now.tv_sec - kDay / 2) out.tv_sec += kDay;
  return out;
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
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

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static auto* const real = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int result = real(clock, now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += step();
  return result;
}
int gettimeofday(timeval* now, void*) noexcept {
  timespec exact{};
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec + step();
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}
time_t time(time_t* out) noexcept {
  timespec now{};
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  now.tv_sec += step();
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}
int timespec_get(timespec* now, int base) noexcept {
  syscall(SYS_clock_gettime, CLOCK_REALTIME, now);
  now->tv_sec += step();
  return base;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  static auto* const real =
      next<int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*)>("pthread_cond_timedwait");
  const timespec when = by_the_real_clock(*until);
  return real(condition, mutex, &when);
}
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  static auto* const real =
      next<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>("pthread_cond_clockwait");
  const timespec when = by_the_real_clock(*until);
  return real(condition, mutex, clock, &when);
}
int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) noexcept {
  static auto* const real = next<int (*)(pthread_mutex_t*, const timespec*)>("pthread_mutex_timedlock");
  const timespec when = by_the_real_clock(*until);
  return real(mutex, &when);
}
int sem_timedwait(sem_t* semaphore, const timespec* until) {
  static auto* const real = next<int (*)(sem_t*, const timespec*)>("sem_timedwait");
  const timespec when = by_the_real_clock(*until);
  return real(semaphore, &when);
}

}  // extern "C"
