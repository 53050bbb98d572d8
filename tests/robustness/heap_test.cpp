// The heap of host code: every allocation fails in turn, and the largest allocation for a damaged file is
// bounded. A separate program, because it replaces the allocator (as sanitizers do: label `native`).
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>

#include "base/host/output_file.h"
#include "compiler/import/espdl/importer.h"
#include "compiler/write/writer.h"
#include "inference/host/engine.h"
#include "tests/compiler/import/espdl/tiny_model.h"
#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/feed.h"
#include "tests/robustness/mutate.h"
#include "tests/robustness/originals.h"
#include "tests/support/data.h"

namespace {

constexpr std::size_t kUnlimited = static_cast<std::size_t>(-1);
thread_local std::size_t left = kUnlimited;  // allocations before they fail
thread_local std::size_t largest = 0, made = 0;
void (*at_each)() = nullptr;  // called before each allocation

void* allocate(std::size_t bytes, std::size_t alignment) {
  largest = std::max(largest, bytes);
  ++made;
  if (at_each != nullptr) at_each();
  if (left == 0) throw std::bad_alloc();
  if (left != kUnlimited) --left;
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  void* memory = alignment > alignof(std::max_align_t)
                     ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                     : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// The forms without exceptions and for arrays call these.
void* operator new(std::size_t bytes) { return allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace runnel::test {
namespace {

using Bytes = std::vector<std::byte>;

// From the bytes of a file to a session that has run.
Status import_and_run(const Bytes& file) {
  static const compiler::WriteOptions options;  // has a vector: the caller's, not the library's
  RUNNEL_ASSIGN(const compiler::EspdlImport imported, compiler::import_espdl(file));
  RUNNEL_ASSIGN(const compiler::WrittenModel written, compiler::write_model(imported.graph, options));
  RUNNEL_ASSIGN(const auto model, OwnedModel::from_bytes(written.bytes));
  RUNNEL_ASSIGN(const auto engine, Engine::make(model));
  RUNNEL_ASSIGN(const auto runner, Runner::make(engine));
  runner->session().run(engine->prepared().block());
  return {};
}

// Lets all allocations from the first, the second, ... on fail, until the work succeeds. `stride`: tries
// only every stride-th.
std::size_t fail_each(const Bytes& file, std::size_t stride) {
  for (std::size_t count = 0; count < 1000000; count += stride) {
    left = count;
    const Status status = import_and_run(file);
    left = kUnlimited;
    if (status.ok()) return count;
    EXPECT_TRUE(failed_with_a_sentence(status)) << "allocation " << count;
    EXPECT_EQ(status.code(), Code::out_of_memory) << status.text();
    if (testing::Test::HasFailure()) return count;
  }
  ADD_FAILURE() << "never enough memory";
  return 0;
}

TEST(Heap, EveryAllocationOfAnImportMayFail) {
  ASSERT_TRUE(import_and_run(tiny_conv().file()).ok());
  EXPECT_GT(fail_each(tiny_conv().file(), 1), 100u);
  const Bytes digits = digits_espdl();
  EXPECT_GT(fail_each(digits, 7), 1000u);
}

// Where an allocation fails for which there is no way back, the program ends at once and removes what it has
// not finished: no allocation may come between a file and its note in that list.
std::string partial;
int without_note = 0;

TEST(Heap, APartialFileIsNotedBeforeAnythingElseIsAllocated) {
  const TemporaryFolder folder;
  const std::filesystem::path path =
      folder.path() / "a name that is too long for a string without memory of its own";
  partial = path.string() + ".part";
  at_each = [] {
    if (::access(partial.c_str(), F_OK) != 0) return;
    remove_unfinished_files();
    if (::access(partial.c_str(), F_OK) == 0) ++without_note;
  };
  const auto file = OutputFile::create(path);
  at_each = nullptr;
  ASSERT_TRUE(file.ok()) << file.status().text();
  EXPECT_EQ(without_note, 0);
  ASSERT_TRUE(std::filesystem::exists(partial));
  remove_unfinished_files();
  EXPECT_FALSE(std::filesystem::exists(partial));
}

// Bounds the largest allocation for reading a damaged file by a multiple of its size: a few bytes must not
// cost gigabytes. (PrepareOptions::limit limits the memory for running a model, see allocation_test.)
void expect_bounded(const Bytes& file, std::uint64_t seed, int count, std::size_t most,
                    const std::function<void(const Bytes&)>& read) {
  Mutator mutator(file, seed);
  std::size_t worst = 0;
  for (int i = 0; i < count; ++i) {
    const Bytes damaged = mutator.next();
    largest = 0;
    read(damaged);
    worst = std::max(worst, largest);
    ASSERT_LE(largest, most) << "mutation " << i << " of seed " << seed;
  }
  EXPECT_GT(worst, file.size() / 4) << "nothing was measured";
  std::printf("largest single allocation: %zu bytes for files of %zu\n", worst, file.size());
}

TEST(Heap, LargestAllocationIsBoundedByTheFile) {
  for (const Bytes& file : {tiny_conv().file(), digits_espdl()}) {
    expect_bounded(file, 21, 5000, (std::size_t{1} << 20) + 8 * file.size(), [](const Bytes& damaged) {
      static_cast<void>(feed_espdl(damaged, compiler::EspdlTarget::c));
    });
  }
  const Bytes model = digits_rnl();
  expect_bounded(model, 22, 5000, 2 * model.size(), [](const Bytes& damaged) {
    static_cast<void>(OwnedModel::from_bytes(damaged, ModelOptions{.check_crc = false}));
  });
  // Prepared and run within the given limit.
  expect_bounded(model, 23, 2000, kMemoryLimit + (std::size_t{1} << 20),
                 [](const Bytes& damaged) { static_cast<void>(feed_model(damaged, false)); });
}

}  // namespace
}  // namespace runnel::test
