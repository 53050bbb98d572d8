#include "pipeline/host/graph.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "features/fbank.h"
#include "features/fbank_parameters.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

namespace fs = std::filesystem;
using runnel::test::TemporaryFolder;

// The whole recording at once, without the pipeline.
std::vector<float> fbank_of(const std::vector<float>& samples, const features::FbankOptions& options) {
  HeapMemory memory;
  auto fbank = features::Fbank::make(options, best_isa(), memory);
  EXPECT_TRUE(fbank.ok()) << fbank.status().text();
  std::vector<float> frames((fbank->max_frames(samples.size()) + fbank->max_flush_frames() + 1) * fbank->dims());
  const auto step = fbank->push(std::span<const float>(samples), frames);
  std::size_t count = step.frames;
  while (const std::size_t more = fbank->flush(std::span(frames).subspan(count * fbank->dims()))) count += more;
  frames.resize(count * fbank->dims());
  return frames;
}

std::vector<float> as_floats(const std::vector<std::int16_t>& samples) {
  std::vector<float> values;
  for (const std::int16_t sample : samples) values.push_back(static_cast<float>(sample) / 32768);
  return values;
}

TEST(Graph, WritesTheFeaturesOfARecordingWhateverTheTick) {
  const TemporaryFolder folder;
  const auto samples = make_samples(20000 + 77);
  write_recording(folder.path() / "a.wav", samples);
  features::FbankOptions options = *features::preset("kaldi");
  options.num_mel_bins = 40;
  const std::vector<float> expected = fbank_of(as_floats(samples), options);
  ASSERT_FALSE(expected.empty());
  for (const std::int64_t tick : {1, 160, 1000, 16000, 100000}) {
    const fs::path out = folder.path() / std::to_string(tick).append(".npy");
    const auto graph = run_graph("wav path=" + (folder.path() / "a.wav").string() + " ! fbank preset=kaldi num_mel_bins=40 ! npy path=" + out.string(),
                                 {.tick = tick});
    const NpyFile npy = read_npy(out);
    EXPECT_EQ(npy.columns, 40);
    EXPECT_EQ(npy.rows, static_cast<std::int64_t>(expected.size() / 40));
    EXPECT_EQ(npy.floats(), expected) << "tick " << tick;
    EXPECT_FALSE(fs::exists(out.string() + ".part"));
  }
}

}  // namespace
}  // namespace runnel::pipeline::test
