// After prepare, nothing of the device nodes touches the heap.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <new>

#include "compiler/load.h"
#include "compiler/writer.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

// Counts what C++ asks for (operator new) and, where the C library lets a program put its own functions in front, what C asks for
// (malloc and its kin). Sanitizers bring an allocator of their own: there, operator new alone is counted.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RUNNEL_COUNTS_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RUNNEL_COUNTS_MALLOC 0
#endif
#endif
#ifndef RUNNEL_COUNTS_MALLOC
#ifdef __GLIBC__
#define RUNNEL_COUNTS_MALLOC 1
#else
#define RUNNEL_COUNTS_MALLOC 0
#endif
#endif

namespace {
std::size_t allocations = 0;
void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* memory = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment) : std::malloc(bytes == 0 ? 1 : bytes);
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
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) noexcept {
  ++allocations;
  return __libc_realloc(memory, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  ++allocations;
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
}
#endif

void* operator new(std::size_t bytes) { return counted(bytes, 0); }
void* operator new[](std::size_t bytes) { return counted(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return counted(bytes, static_cast<std::size_t>(alignment)); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return counted(bytes, static_cast<std::size_t>(alignment)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace runnel::pipeline::test {
namespace {

void run_without_heap(const std::string& chain, ModelLoader* models) {
  Lossy::samples.clear();
  for (const std::int16_t sample : make_samples(44100 * 10)) Lossy::samples.push_back(static_cast<float>(sample) / 32768);
  Lossy::losses = {{1000, 10}, {100000, 12345}};
  GraphOptions options;
  options.nodes = test_nodes();
  options.tick = 42;
  options.models = models;
  options.operators = all_operators();
  auto graph = Graph::build("lossy ! " + chain + " ! null", options);
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  // Through the interface of devices: the host's step() measures time and more.
  auto& executor = const_cast<Executor&>((*graph)->executor());
  std::vector<int> proof;
  std::size_t before_proof = allocations;
  proof.resize(100);
  ASSERT_GT(allocations, before_proof) << "the counter counts";
#if RUNNEL_COUNTS_MALLOC
  before_proof = allocations;
  // Through a pointer that the compiler cannot see through, or it would leave both out.
  void* (*volatile allocate)(std::size_t) = std::malloc;
  std::free(allocate(100));
  ASSERT_EQ(allocations, before_proof + 1) << "the counter counts malloc";
#endif
  const std::size_t before = allocations;
  int ticks = 0;
  bool good = true;
  for (bool done = false; !done && good; ++ticks) good = executor.step(done).ok();
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(good);
  EXPECT_GE(ticks, 10000);
  EXPECT_EQ(executor.gaps(), 2);
}

TEST(NoHeap, FrontEndAndDecision) {
  Lossy::sample_rate = 44100;
  run_without_heap("downmix ! resample rate=16000 ! fbank num_mel_bins=12 ! cmvn mean=10 deviation=3 ! detect name=d", nullptr);
  run_without_heap("downmix ! resample rate=16000 ! fbank kind=mfcc snip_edges=false ! detect mode=clip", nullptr);
}

// Every node of features, among them those that hold frames back.
TEST(NoHeap, FeatureNodes) {
  Lossy::sample_rate = 16000;
  for (const char* chain : {"gain db=-6 ! highpass cutoff=80 ! preemphasis ! dither seed=3 ! stft ! istft ! levels", "fbank preset=whisper log_max=running ! deltas ! stack",
                            "fbank kind=spectrogram ! cmvn mode=sliding window=20 min_window=5", "fbank preset=edge-impulse-mfcc ! cmvn mode=mirror window=11",
                            "fbank preset=zipformer ! cmvn mode=exponential frames=20", "fbank ! cmvn mode=utterance max_frames=20000",
                            "statistics window=400 hop=160 statistics=mean,std,rms,peak,peak_to_peak,zero_crossings,band_power bands=0-1000,1000-8000", "framing window=400 hop=160",
                            "microfrontend preset=micro-wake-word"}) {
    SCOPED_TRACE(chain);
    run_without_heap(chain, nullptr);
  }
}

// The digits graph as it is used, over 10,000 steps: the model of the project, imported into a file of its own.
TEST(NoHeap, WholeDigitsGraph) {
  Lossy::sample_rate = 16000;
  const runnel::test::TemporaryFolder folder;
  const std::string model = (folder.path() / "digits.rnl").string();
  {
    auto imported = compiler::import_file(RUNNEL_SOURCE_FOLDER "/models/digits/digits_c_s8.espdl", {});
    ASSERT_TRUE(imported.ok()) << imported.status().text();
    imported->graph.pipeline.labels = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "silence", "unknown"};
    const auto written = compiler::write_model(imported->graph);
    ASSERT_TRUE(written.ok()) << written.status().text();
    std::ofstream(model, std::ios::binary).write(reinterpret_cast<const char*>(written->bytes.data()), static_cast<std::streamsize>(written->bytes.size()));
  }
  for (const char* chunk : {"1", "2", "16"}) {
    compiler::FileLoader loader;
    run_without_heap("fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600 ! infer chunk=" + std::string(chunk) + " model=" + model +
                         " ! detect smoothing_frames=25 threshold=0.85 release=0.51 refractory_frames=25 ignore=silence,unknown",
                     &loader);
  }
}

}  // namespace
}  // namespace runnel::pipeline::test
