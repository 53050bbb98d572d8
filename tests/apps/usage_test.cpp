// Models that are used in steps and windows, and wake words, as users of the program meet them.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/apps/support.h"
#include "tests/support/npy.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;

fs::path data() { return runnel::test::data_folder(); }

fs::path chain_wav(const fs::path& folder, const std::string& name) {
  const auto bytes = runnel::test::read_file(data() / "oracles/chains" / (name + ".audio.s16"));
  std::vector<std::int16_t> samples(bytes.size() / 2);
  std::memcpy(samples.data(), bytes.data(), samples.size() * 2);
  write_wav(folder / (name + ".wav"), samples);
  return folder / (name + ".wav");
}

TEST(UsageOfModels, WakeWordsAreHeardByManifestAndByTheFileMadeOfIt) {
  RUNNEL_NEEDS_DATA();
  const runnel::test::TemporaryFolder folder;
  const std::string said = chain_wav(folder.path(), "alexa__alexa_test"),
                    other = chain_wav(folder.path(), "alexa__hey_mycroft_test");
  const std::string manifest = (data() / "models/mww/alexa.json").string(),
                    made = folder.path() / "alexa.rnl";
  call_well({"import", manifest, "-o", made});
  for (const std::string& model : {manifest, made}) {
    const std::vector<Json> events = events_of(call_well({"listen", model, "--wav", said}).out);
    ASSERT_EQ(events.size(), 1u) << model;
    EXPECT_EQ(events[0]["label"], "Alexa");
    EXPECT_EQ(events[0]["end"], 2.72);
    EXPECT_TRUE(events_of(call_well({"listen", model, "--wav", other}).out).empty());
    // Twice in one process, with another recording in between.
    const std::vector<Json> again =
        events_of(call_well({"batch", model, said, other, said, "-o", "-", "--jobs", "1"}).out);
    ASSERT_EQ(again.size(), 2u);
    EXPECT_EQ(again[0], again[1]);
    EXPECT_EQ(again[0]["end"], 2.72);
  }
  const std::string about = call_well({"inspect", made}).out;
  EXPECT_NE(about.find("step of 3 new frames of 40 values"), std::string::npos);
  EXPECT_NE(about.find("microwakeword.tensor_arena_size = 22348"), std::string::npos);
  EXPECT_NE(about.find("run in steps\n  first output after 3 frames (30 ms), then one every 3 frames (30 "
                       "ms)\n  23968 multiply-adds per step, 7989 per frame\n"),
            std::string::npos)
      << about;
  const Json json = Json::parse(call_well({"inspect", made, "--json"}).out);
  EXPECT_EQ(json["usage"]["advance"], 3);
  EXPECT_NEAR(json["macs_per_frame"].get<double>(), 23968 / 3.0, 0.01);
  EXPECT_NE(call_well({"profile", made, "--runs", "5"}).out.find("one step of 3 frames: "),
            std::string::npos);
  EXPECT_NE(call_well({"check", made}).err.find("the model runs in steps and keeps its own state"),
            std::string::npos);
  const Json bench = Json::parse(call_well({"bench", made, "--seconds", "0.05"}).out);
  EXPECT_EQ(bench["mode"], "steps");
  EXPECT_NEAR(bench["frames_per_second"].get<double>() * bench["median_us"].get<double>(), 3e6, 1);
  // The release of a manifest is just below its threshold: it follows a lower one.
  EXPECT_EQ(events_of(call_well({"listen", made, "--wav", said, "--threshold", "0.3"}).out).size(), 1u);
}

// The recording ends with the word: the runs whose mean decides come after it.
TEST(UsageOfModels, AWordAtTheEndOfARecordingIsHeardWithSilenceAfterIt) {
  RUNNEL_NEEDS_DATA();
  const std::string model = (data() / "models/mww/alexa.json").string(),
                    said = (data() / "models/openwakeword/alexa_test.wav").string();
  const std::string other = (data() / "models/openwakeword/hey_mycroft_test.wav").string();
  EXPECT_TRUE(events_of(call_well({"listen", model, "--wav", said}).out).empty());
  const std::vector<Json> events =
      events_of(call_well({"listen", model, "--wav", said, "--tail", "0.5"}).out);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["label"], "Alexa");
  EXPECT_GT(events[0]["end"], 0.625);
  EXPECT_LT(events[0]["end"], 0.8);
  const std::vector<Json> all =
      events_of(call_well({"batch", model, other, said, "-o", "-", "--tail", "0.5"}).out);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0], events[0]);
}

// The log-mel front end as .tflite leaves its input open: [1, 1] in the file. Measured against the recorded
// outputs of the same network as .onnx.
TEST(UsageOfModels, InputsThatATfliteFileLeavesOpenGetTheLengthOfTheData) {
  RUNNEL_NEEDS_DATA();
  const runnel::test::TemporaryFolder folder;
  const std::string model = (data() / "models/openwakeword/melspectrogram.tflite").string(),
                    name = "serving_default_input:0";
  const fs::path oracle = data() / "oracles/onnx/models__openwakeword__melspectrogram";
  const auto x = runnel::test::read_file(oracle / "c0.in0.bin"),
             y = runnel::test::read_file(oracle / "c0.out0.bin");
  const std::size_t samples = x.size() / sizeof(float);
  fs::copy_file(oracle / "c0.in0.bin", folder.path() / "x.bin");
  const auto close = [&](const std::string& out) {
    const auto found = runnel::test::read_npy(fs::path(out) / "PartitionedCall_0.npy");
    ASSERT_EQ(found.bytes.size(), y.size());
    float largest = 0, difference = 0;
    for (std::size_t i = 0; i < y.size() / sizeof(float); ++i) {
      float a = 0, b = 0;
      std::memcpy(&a, found.bytes.data() + i * sizeof a, sizeof a);
      std::memcpy(&b, y.data() + i * sizeof b, sizeof b);
      largest = std::max(largest, std::abs(b));
      difference = std::max(difference, std::abs(a - b));
    }
    EXPECT_LE(difference, 1e-5F * largest + 1e-6F);
  };
  call_well(
      {"infer", model, "-i", name + "=" + (folder.path() / "x.bin").string(), "-o", folder.path() / "data"});
  close(folder.path() / "data");
  call_well(
      {"import", model, "-o", folder.path() / "mel.rnl", "--shape", name + "=1x" + std::to_string(samples)});
  call_well({"infer", folder.path() / "mel.rnl", "-i", name + "=" + (folder.path() / "x.bin").string(), "-o",
             folder.path() / "shape"});
  close(folder.path() / "shape");
  refusal({"import", model, "-o", folder.path() / "no.rnl", "--shape", "sound=1x16000"},
          "a shape for input \"sound\", which the model does not have");
}

TEST(UsageOfModels, ImportStoresWindowsAndRefusesContradictions) {
  RUNNEL_NEEDS_DATA();
  const runnel::test::TemporaryFolder folder;
  const std::string source = (data() / "models/tflm/micro_speech_quantized.tflite").string(),
                    made = folder.path() / "speech.rnl";
  write_text(folder.path() / "labels.txt", "silence\nunknown\nyes\nno\n");
  call_well({"import", source, "-o", made, "--usage", "window", "--window", "49", "--hop", "5", "--front-end",
             "microfrontend preset=micro-speech dtype=int8", "--decision",
             "detect activation=none threshold=0.8 smoothing_frames=1", "--labels",
             folder.path() / "labels.txt"});
  for (const std::string word : {"yes", "no"}) {
    const std::vector<Json> events = events_of(
        call_well({"listen", made, "--wav", (data() / "models/tflm" / (word + "_1000ms.wav")).string()}).out);
    ASSERT_EQ(events.size(), 1u) << word;
    EXPECT_EQ(events[0]["label"], word);
    EXPECT_EQ(events[0]["end"], 0.99);
  }
  refusal({"import", source, "-o", made, "--usage", "window", "--step", "3"},
          "step 3 has no meaning for usage window");
  refusal({"import", source, "-o", made, "--window", "48"},
          "48 frames do not fit input 'Reshape_1' [1,1960]");
  refusal({"import", source, "-o", made, "--state", "a"}, "expected OUTPUT=INPUT");
  refusal({"import", source, "-o", made, "--state", "labels_softmax=b"},
          "no input \"b\"; the model has Reshape_1");
}

TEST(UsageOfModels, FixedPointFeaturesHaveTheLibrarysBytes) {
  RUNNEL_NEEDS_DATA();
  const runnel::test::TemporaryFolder folder;
  const fs::path wav = data() / "features/wav/tflm_yes_1000ms.wav", out = folder.path() / "f.npy";
  const auto expected =
      runnel::test::read_npy(data() / "features/microfrontend/microwakeword_tflm_yes_1000ms.npy");
  call_well({"features", wav, "-o", out, "--preset", "micro-wake-word"});
  const auto made = runnel::test::read_npy(out);
  EXPECT_EQ(made.dtype, "<u2");
  EXPECT_EQ(made.shape, (std::vector<std::size_t>{98, 40}));
  EXPECT_EQ(made.bytes, expected.bytes);
  call_well({"features", wav, "-o", out, "--preset", "micro-wake-word", "--set", "dtype=int8"});
  EXPECT_EQ(runnel::test::read_npy(out).dtype, "|i1");
  refusal({"features", wav, "-o", out, "--preset", "micro-speech", "--kind", "mfcc"}, "expected fbank");
  refusal({"run", "wav path=" + wav.string() + " ! fbank preset=micro-speech ! null"},
          "write `microfrontend preset=micro-speech`");
}

TEST(UsageOfModels, InferTakesALongInputInSteps) {
  RUNNEL_NEEDS_DATA();
  const runnel::test::TemporaryFolder folder;
  const std::string made = folder.path() / "alexa.rnl";
  call_well({"import", (data() / "models/mww/alexa.json").string(), "-o", made});
  const auto bytes = runnel::test::read_file(data() / "oracles/chains/alexa__alexa_test.features.i8");
  write_text(folder.path() / "x.bin", std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  call_well({"infer", made, "-i", "serving_default_input_audio:0=" + (folder.path() / "x.bin").string(), "-o",
             folder.path() / "out"});
  const auto y = runnel::test::read_npy(folder.path() / "out/StatefulPartitionedCall_0.npy");
  EXPECT_EQ(y.shape, (std::vector<std::size_t>{120, 1, 1}));
  EXPECT_EQ(y.bytes, runnel::test::read_file(data() / "oracles/chains/alexa__alexa_test.prob.u8"));
}

}  // namespace
}  // namespace runnel::apps::test
