// After prepare, nothing of the device nodes touches the heap.
#include <gtest/gtest.h>

#include <fstream>

#include "compiler/import/load.h"
#include "compiler/write/writer.h"
#include "tests/pipeline/support.h"
#include "tests/support/allocations.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

void run_without_heap(const std::string& chain, ModelLoader* models) {
  Lossy::samples.clear();
  for (const std::int16_t sample : make_samples(44100 * 10))
    Lossy::samples.push_back(static_cast<float>(sample) / 32768);
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
  runnel::test::expect_that_allocations_are_counted();
  const std::atomic<std::size_t>& allocations = runnel::test::allocations_of_this_thread();
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
  run_without_heap(
      "downmix ! resample rate=16000 ! fbank num_mel_bins=12 ! cmvn mean=10 deviation=3 ! detect name=d",
      nullptr);
  run_without_heap("downmix ! resample rate=16000 ! fbank kind=mfcc snip_edges=false ! detect mode=clip",
                   nullptr);
}

// Every node of features, among them those that hold frames back.
TEST(NoHeap, FeatureNodes) {
  Lossy::sample_rate = 16000;
  for (const char* chain :
       {"gain db=-6 ! highpass cutoff=80 ! preemphasis ! dither seed=3 ! stft ! istft ! levels",
        "fbank preset=whisper log_max=running ! deltas ! stack",
        "fbank kind=spectrogram ! cmvn mode=sliding window=20 min_window=5",
        "fbank preset=edge-impulse-mfcc ! cmvn mode=mirror window=11",
        "fbank preset=zipformer ! cmvn mode=exponential frames=20",
        "fbank ! cmvn mode=utterance max_frames=20000",
        "statistics window=400 hop=160 statistics=mean,std,rms,peak,peak_to_peak,zero_crossings,band_power "
        "bands=0-1000,1000-8000",
        "framing window=400 hop=160", "microfrontend preset=micro-wake-word"}) {
    SCOPED_TRACE(chain);
    run_without_heap(chain, nullptr);
  }
}

// The digits graph as it is used, over 10,000 steps: the model of the project, imported into a file of its
// own.
TEST(NoHeap, WholeDigitsGraph) {
  Lossy::sample_rate = 16000;
  const runnel::test::TemporaryFolder folder;
  const std::string model = (folder.path() / "digits.rnl").string();
  {
    auto imported = compiler::import_file(RUNNEL_SOURCE_FOLDER "/models/digits/digits_c_s8.espdl", {});
    ASSERT_TRUE(imported.ok()) << imported.status().text();
    imported->graph.pipeline.labels = {"0", "1", "2", "3", "4",       "5",
                                       "6", "7", "8", "9", "silence", "unknown"};
    const auto written = compiler::write_model(imported->graph);
    ASSERT_TRUE(written.ok()) << written.status().text();
    std::ofstream(model, std::ios::binary)
        .write(reinterpret_cast<const char*>(written->bytes.data()),
               static_cast<std::streamsize>(written->bytes.size()));
  }
  for (const char* chunk : {"1", "2", "16"}) {
    compiler::FileLoader loader;
    run_without_heap("fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600 ! infer chunk=" +
                         std::string(chunk) + " model=" + model +
                         " ! detect smoothing_frames=25 threshold=0.85 release=0.51 refractory_frames=25 "
                         "ignore=silence,unknown",
                     &loader);
  }
}

}  // namespace
}  // namespace runnel::pipeline::test
