#include "pipeline/host/graph.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "features/fbank/fbank.h"
#include "features/fbank/fbank_parameters.h"
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
  std::vector<float> frames((fbank->max_frames(samples.size()) + fbank->max_flush_frames() + 1) *
                            fbank->dims());
  const auto step = fbank->push(std::span<const float>(samples), frames);
  std::size_t count = step.frames;
  while (const std::size_t more = fbank->flush(std::span(frames).subspan(count * fbank->dims())))
    count += more;
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
    const auto graph = run_graph("wav path=" + (folder.path() / "a.wav").string() +
                                     " ! fbank preset=kaldi num_mel_bins=40 ! npy path=" + out.string(),
                                 {.tick = tick});
    const NpyFile npy = read_npy(out);
    EXPECT_EQ(npy.columns, 40);
    EXPECT_EQ(npy.rows, static_cast<std::int64_t>(expected.size() / 40));
    EXPECT_EQ(npy.floats(), expected) << "tick " << tick;
    EXPECT_FALSE(fs::exists(out.string() + ".part"));
  }
}

class Negotiation : public testing::Test {
 protected:
  std::string wav(int rate, int channels) const {
    const fs::path path = folder_.path() / "a.wav";
    write_recording(path, make_samples(static_cast<std::size_t>(rate * channels)), rate, channels);
    return "wav path=" + path.string();
  }
  TemporaryFolder folder_;
};

TEST_F(Negotiation, ErrorsNameBothEndsAndTheNodeThatHelps) {
  EXPECT_EQ(
      failure_of(wav(8000, 1) + " ! fbank ! null"),
      "wav gives audio 8000 Hz, fbank preset=kaldi wants 16000 Hz: put `resample rate=16000` between them");
  EXPECT_EQ(
      failure_of(wav(16000, 2) + " name=mic ! fbank preset=kaldi name=front ! null"),
      "mic gives audio with 2 channels, front preset=kaldi wants 1 channel: put `downmix` between them");
  EXPECT_EQ(failure_of(wav(16000, 1) + " ! detect ! jsonl"),
            "wav gives audio 16000 Hz, 1 channel, float32, detect wants frames: put `fbank` between them");
  EXPECT_EQ(failure_of(wav(16000, 1) + " ! fbank ! jsonl"),
            "fbank gives frames of 23 float32 values, 100 per second, jsonl wants events: put `detect` "
            "between them");
  EXPECT_EQ(failure_of(wav(16000, 1) + " ! fbank ! wav path=x"),
            "fbank gives frames of 23 float32 values, 100 per second, wav wants audio");
}

TEST_F(Negotiation, NamesAndValuesAreLookedUpWithSuggestions) {
  EXPECT_EQ(failure_of("wav path=a ! fbnak ! null"),
            "line 1, column 14: there is no node 'fbnak', did you mean 'fbank'?");
  EXPECT_EQ(failure_of("wav path=a !\nfbank num_mel_bin=3 ! null"),
            "line 2, column 7: fbank: there is no parameter 'num_mel_bin', did you mean 'num_mel_bins'?");
  const std::string preset = failure_of("wav path=a ! fbank preset=kaldy ! null");
  EXPECT_NE(preset.find("line 1, column 20: fbank: "), std::string::npos) << preset;
  EXPECT_NE(preset.find("kaldi"), std::string::npos) << preset;
  const std::string range = failure_of("wav path=a ! fbank num_mel_bins=0 ! null");
  EXPECT_EQ(range, "line 1, column 20: fbank: num_mel_bins=0: expected a whole number from 1 to 4096");
  EXPECT_EQ(failure_of("wav ! null"), "line 1, column 1: wav needs path=, recording to read");
  EXPECT_EQ(failure_of("fbank ! null"),
            "line 1, column 1: fbank needs an input: put a source and `!` before it");
  EXPECT_EQ(failure_of(wav(16000, 1) + " ! npy path=/tmp/x ! null"),
            "npy is a sink: nothing comes out of it for null");
  EXPECT_NE(failure_of(wav(16000, 1) + " ! fbank")
                .find("the output of fbank goes nowhere: end the chain with a sink, such as `null`"),
            std::string::npos);
  EXPECT_NE(failure_of("wav path=a ! null wav path=b ! null")
                .find("wav begins a second stream: expected one source"),
            std::string::npos);
  EXPECT_EQ(failure_of("wav path=a name=t ! null name=n t. ! n."),
            "line 1, column 38: null has two inputs: expected one; `join` puts streams together");
  EXPECT_NE(failure_of("wav path=a ! null  downmix name=x ! x.").find("is part of a loop"),
            std::string::npos);
}

TEST_F(Negotiation, ValuesArePutInTheOrderOfTheTable) {
  // The preset would overwrite the option if it came second.
  const auto graph = run_graph(wav(16000, 1) + " ! fbank num_mel_bins=7 preset=kaldi ! null");
  EXPECT_EQ(graph->executor().format(1).channels, 7);
}

TEST_F(Negotiation, ReadyMadeGraphsGetTheirConversions) {
  std::vector<std::string> notes;
  GraphOptions options;
  options.insert_conversions = true;
  options.note = [&](std::string_view note) { notes.emplace_back(note); };
  const std::string out = (folder_.path() / "a.npy").string(), by_hand = (folder_.path() / "b.npy").string();
  const std::string source = wav(44100, 2);
  const auto graph = run_graph(source + " ! fbank ! npy path=" + out, options);
  EXPECT_EQ(notes, (std::vector<std::string>{"inserted `downmix` before fbank",
                                             "inserted `resample rate=16000` before fbank"}));
  EXPECT_EQ(graph->inserted().size(), 2u);
  run_graph(source + " ! downmix ! resample rate=16000 ! fbank ! npy path=" + by_hand);
  EXPECT_EQ(read_npy(out).bytes, read_npy(by_hand).bytes);
  EXPECT_EQ(read_npy(out).rows, 98);
  // Nothing helps here.
  EXPECT_NE(failure_of(source + " ! jsonl", options).find("jsonl wants events"), std::string::npos);
}

TEST_F(Negotiation, ResampledTimesAreThoseOfTheSource) {
  GraphOptions options;
  options.nodes = test_nodes();
  run_graph(wav(44100, 1) + " ! resample rate=16000 ! fbank ! keep", options);
  EXPECT_EQ(Keep::format.clock.sample_rate, 44100);
  EXPECT_EQ(Keep::format.clock.first_sample(100), 44100);
}

TEST(Graph, UsesAnotherFftWhenAskedTo) {
  const TemporaryFolder folder;
  const std::string source = "wav path=" + (folder.path() / "a.wav").string() + " ! fbank scale=int16 fft=";
  write_recording(folder.path() / "a.wav", make_samples(16000));
  GraphOptions options;
  options.nodes = test_nodes();
  if (!features::have_fftw()) {
    EXPECT_NE(failure_of(source + "fftw ! keep", options).find("FFTW"), std::string::npos);
    return;
  }
  run_graph(source + "own ! keep", options);
  const std::vector<float> own = Keep::values;
  run_graph(source + "fftw ! keep", options);
  ASSERT_EQ(Keep::values.size(), own.size());
  for (std::size_t i = 0; i < own.size(); ++i) ASSERT_NEAR(Keep::values[i], own[i], 1e-3) << i;
}

TEST(Graph, ReadsFiles) {
  const TemporaryFolder folder;
  write_recording(folder.path() / "a.wav", make_samples(1600));
  const fs::path rnlg = folder.path() / "a.rnlg";
  std::ofstream(rnlg) << "# features\nwav path=" << (folder.path() / "a.wav").string()
                      << "\n! fbank\n! null\n";
  auto graph = Graph::load(rnlg.string(), {});
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  EXPECT_TRUE((*graph)->run().ok());
  std::ofstream(rnlg) << "wav path=a !\n! null";
  EXPECT_EQ(Graph::load(rnlg.string(), {}).status().text(),
            rnlg.string() + ": line 2, column 1: expected a node, found '!'");
  EXPECT_EQ(Graph::load((folder.path() / "no").string(), {}).status().code(), Code::not_found);
}

TEST(Cmvn, NormalisesWithOneNumberOrOnePerDimension) {
  Rows::dims = 3;
  Rows::values = {1, 2, 3, 5, 6, 7};
  GraphOptions options;
  options.nodes = test_nodes();
  run_graph("rows ! cmvn mean=1 deviation=2 ! keep", options);
  EXPECT_EQ(Keep::values, (std::vector<float>{0, 0.5f, 1, 2, 2.5f, 3}));
  run_graph("rows ! cmvn mean=1,2,3 deviation=1,2,4 ! keep", options);
  EXPECT_EQ(Keep::values, (std::vector<float>{0, 0, 0, 4, 2, 1}));
  EXPECT_EQ(failure_of("rows ! cmvn mean=1,2 ! keep", options),
            "mean of cmvn has 2 numbers, its input has 3 dimensions");
  EXPECT_EQ(failure_of("rows ! cmvn deviation=0 ! keep", options),
            "cmvn: deviation: every number must be above 0");
  EXPECT_EQ(failure_of("rows ! cmvn mean=1,,2 ! keep", options),
            "cmvn: mean: '' is not a number; expected numbers separated by commas");
}

}  // namespace
}  // namespace runnel::pipeline::test
