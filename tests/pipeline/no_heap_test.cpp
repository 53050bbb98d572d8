// After prepare, nothing of the device nodes touches the heap.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "compiler/load.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace {
std::size_t allocations = 0;
void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* memory = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment) : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

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
  options.tick = 44;
  options.models = models;
  options.operators = all_operators();
  auto graph = Graph::build("lossy ! " + chain + " ! null", options);
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  // Through the interface of devices: the host's step() measures time and more.
  auto& executor = const_cast<Executor&>((*graph)->executor());
  std::vector<int> proof;
  const std::size_t before_proof = allocations;
  proof.resize(100);
  ASSERT_GT(allocations, before_proof) << "the counter counts";
  const std::size_t before = allocations;
  int ticks = 0;
  bool good = true;
  for (bool done = false; !done && good; ++ticks) good = executor.step(done).ok();
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(good);
  EXPECT_GE(ticks, 9500);
  EXPECT_EQ(executor.gaps(), 2);
}

TEST(NoHeap, FrontEndAndDecision) {
  Lossy::sample_rate = 44100;
  run_without_heap("downmix ! resample rate=16000 ! fbank num_mel_bins=12 ! cmvn mean=10 deviation=3 ! detect name=d", nullptr);
  run_without_heap("downmix ! resample rate=16000 ! fbank kind=mfcc snip_edges=false ! detect mode=clip", nullptr);
}

TEST(NoHeap, Inference) {
  RUNNEL_NEEDS_DATA();
  Lossy::sample_rate = 16000;
  compiler::FileLoader loader;
  const std::string model = (runnel::test::data_folder() / "digits" / "digits_c_s8.espdl").string();
  run_without_heap("fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600 ! infer chunk=2 model=" + model + " ! detect", &loader);
}

}  // namespace
}  // namespace runnel::pipeline::test
