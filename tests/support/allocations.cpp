#include "tests/support/allocations.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <vector>

// Sanitizers have their own allocator, and nothing is counted there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RUNNEL_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RUNNEL_SANITIZED 1
#endif
#endif
#ifdef RUNNEL_SANITIZED
#define RUNNEL_COUNTS_MALLOC 0
#endif
#ifndef RUNNEL_COUNTS_MALLOC
#ifdef __GLIBC__
#define RUNNEL_COUNTS_MALLOC 1
#else
#define RUNNEL_COUNTS_MALLOC 0
#endif
#endif

namespace {

thread_local std::atomic<std::size_t> made{0};

[[maybe_unused]] void note_one() noexcept { made.fetch_add(1, std::memory_order_relaxed); }

[[maybe_unused]] void* counted(std::size_t bytes, std::size_t alignment) {
  note_one();
  void* memory = alignment > alignof(std::max_align_t)
                     ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
                     : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

#if RUNNEL_COUNTS_MALLOC
extern "C" {
void* __libc_malloc(std::size_t) noexcept;
void* __libc_calloc(std::size_t, std::size_t) noexcept;
void* __libc_realloc(void*, std::size_t) noexcept;
void* __libc_memalign(std::size_t, std::size_t) noexcept;

void* malloc(std::size_t bytes) noexcept {
  note_one();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  note_one();
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) noexcept {
  note_one();
  return __libc_realloc(memory, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  note_one();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  note_one();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  note_one();
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
}
#endif

#ifndef RUNNEL_SANITIZED
void* operator new(std::size_t bytes) { return counted(bytes, 0); }
void* operator new[](std::size_t bytes) { return counted(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

namespace runnel::test {

const std::atomic<std::size_t>& allocations_of_this_thread() noexcept { return made; }

bool allocations_are_counted() noexcept {
#ifdef RUNNEL_SANITIZED
  return false;
#else
  return true;
#endif
}

void expect_that_allocations_are_counted() {
#ifndef RUNNEL_SANITIZED
  std::vector<int> proof;
  std::size_t before = made;
  proof.resize(100);
  EXPECT_GT(made, before) << "the counter counts";
#if RUNNEL_COUNTS_MALLOC
  before = made;
  // Through an opaque pointer, or the compiler would remove both calls.
  void* (*volatile allocate)(std::size_t) = std::malloc;
  std::free(allocate(100));
  EXPECT_EQ(made, before + 1) << "the counter counts malloc";
#endif
#endif
}

}  // namespace runnel::test
