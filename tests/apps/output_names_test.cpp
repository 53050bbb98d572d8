// Names of files that promise another format than the verb writes are refused, before the work and
// everywhere.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

TEST(OutputNames, ThatPromiseAnotherFormatAreRefusedByEveryVerb) {
  const runnel::test::TemporaryFolder folder;
  const std::string wav = folder.path() / "a.wav";
  write_wav(wav, tone_words(1, 16000));
  const auto out = [&](const char* name) { return (folder.path() / name).string(); };
  struct Case {
    std::vector<std::string> call;
    const char* expected;
  };
  const Case cases[] = {
      {{"import", model(), "-o", out("x.pte")}, "expected .rnl"},
      {{"import", model(), "-o", out("x.npy")}, "expected .rnl"},
      {{"export", model(), "-o", out("x.tflite")}, "expected .espdl"},
      {{"quantize", "no.onnx", "--calib", "no.npy", "-o", out("x.tflite")}, "expected .rnl or .espdl"},
      {{"quantize", "no.onnx", "--calib", "no.npy", "-o", out("x.rnl"), "--report", out("x.csv")},
       "expected .json"},
      {{"npu", "compile", model(), "-o", out("x.espdl")}, "expected .rnl or .tflite or .pte"},
      {{"embed", model(), "-o", out("x.rnl")}, "expected the name of a folder"},
      {{"infer", model(), "-i", "features=" + wav, "-o", out("x.npy")}, "expected the name of a folder"},
      {{"features", wav, "-o", out("x.wav")}, "expected .npy"},
      {{"features", wav, "-o", out("x.npy"), "--png", out("x.jpg")}, "expected .png"},
      {{"features", wav, wav, "-o", out("x.npy"), "--format", "csv"}, "expected .csv"},
      {{"batch", model(), wav, "-o", out("x.csv"), "--format", "jsonl"}, "expected .jsonl or .ndjson"},
      {{"batch", model(), wav, "-o", out("x.wav")}, "expected .jsonl or .ndjson"},
      {{"score", "no.jsonl", "--labels", "no.csv", "--png", out("x.svg")}, "expected .png"},
      {{"run", "wav path=" + wav + " ! npy path=" + out("x.csv")}, "expected .npy"},
      {{"run", "wav path=" + wav + " ! wav path=" + out("x.flac")}, "expected .wav"},
      {{"run", "wav path=" + wav + " ! fbank ! png path=" + out("x.npy")}, "expected .png"},
  };
  for (const Case& one : cases) {
    const std::string line = refusal(one.call, "is not what is written here, ");
    EXPECT_NE(line.find(one.expected), std::string::npos) << line;
  }
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a.wav"});
}

}  // namespace
}  // namespace runnel::apps::test
