// runnel infer: raw tensors in and out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/host/npy.h"
#include "tests/apps/support.h"
#include "tests/support/npy.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using runnel::test::Npy;
using testing::Contains;
using testing::HasSubstr;

constexpr std::int64_t kFrames = 98, kBins = 40, kClasses = 12;

class InferVerb : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_of_model_ = std::make_unique<runnel::test::TemporaryFolder>();
    call_well({"import", RUNNEL_SOURCE_FOLDER "/models/digits/digits_c_s8.espdl", "-o", frames_first()});
  }
  static void TearDownTestSuite() { folder_of_model_.reset(); }
  // The digits network of a file that has time before channels, so that frames are its rows.
  static std::string frames_first() { return (folder_of_model_->path() / "digits.rnl").string(); }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  Npy logits(const std::string& folder) const {
    return runnel::test::read_npy(folder_.path() / folder / "logits.npy");
  }

  // Plausible log-mel integers (scale 1/4), different for every seed.
  static std::vector<std::int8_t> frames(std::int64_t count, std::uint32_t seed = 1) {
    std::vector<std::int8_t> values(static_cast<std::size_t>(count * kBins));
    for (std::int8_t& value : values) {
      seed = seed * 1664525 + 1013904223;
      value = static_cast<std::int8_t>(10 + (seed >> 26));
    }
    return values;
  }
  template <class T>
  std::string write(const std::string& name, DType dtype, const std::vector<std::int64_t>& shape,
                    const std::vector<T>& values) const {
    EXPECT_TRUE(write_npy(file(name), dtype, shape, std::as_bytes(std::span(values))).ok());
    return file(name);
  }
  std::string write_frames(const std::string& name, const std::vector<std::int8_t>& values) const {
    return write(name, DType::int8, {1, static_cast<std::int64_t>(values.size()) / kBins, kBins}, values);
  }
  void infer(const std::string& from, const std::string& to, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"infer", frames_first(), "-i", "logmel=" + from, "-o", file(to)});
    EXPECT_EQ(call_well(more).out, "") << "results are files; stdout stays empty";
  }
  runnel::test::TemporaryFolder folder_;
  static inline std::unique_ptr<runnel::test::TemporaryFolder> folder_of_model_;
};

TEST_F(InferVerb, TakesThreeFormsOfTheSameInput) {
  const auto values = frames(kFrames);
  infer(write_frames("x.npy", values), "npy");
  const Npy expected = logits("npy");
  EXPECT_EQ(expected.shape, (std::vector<std::size_t>{1, kFrames, kClasses}))
      << "the layout of the source file";
  EXPECT_EQ(expected.dtype, "|i1");
  EXPECT_EQ(names_in(file("npy")), std::vector<std::string>{"logits.npy"});

  write_text(file("x.bin"), std::string(reinterpret_cast<const char*>(values.data()), values.size()));
  infer(file("x.bin"), "bin");
  EXPECT_EQ(logits("bin").bytes, expected.bytes);

  // Halfway between two integers is rounded, far outside saturates.
  std::vector<float> floats;
  for (const std::int8_t value : values) floats.push_back(static_cast<float>(value) / 4 + 0.1f);
  infer(write("f.npy", DType::float32, {1, kFrames, kBins}, floats), "float");
  EXPECT_EQ(logits("float").bytes, expected.bytes);
}

TEST_F(InferVerb, StreamedInBlocksEqualsWhole) {
  for (const std::int64_t count : {1L, 98L, 131L}) {
    const std::string input =
        write_frames("x" + std::to_string(count) + ".npy", frames(count, static_cast<std::uint32_t>(count)));
    const std::string whole = "whole" + std::to_string(count);
    infer(input, whole);
    ASSERT_EQ(logits(whole).shape, (std::vector<std::size_t>{1, static_cast<std::size_t>(count), kClasses}));
    for (const int chunk : {1, 2, 7, 50, 200}) {
      const std::string folder = whole + "-" + std::to_string(chunk);
      infer(input, folder, {"--chunk", std::to_string(chunk)});
      EXPECT_EQ(logits(folder).shape, logits(whole).shape);
      EXPECT_EQ(logits(folder).bytes, logits(whole).bytes) << count << " frames in blocks of " << chunk;
    }
  }
}

TEST_F(InferVerb, ASequenceHasOneMoreAxis) {
  std::vector<std::int8_t> steps;
  std::vector<std::byte> expected;
  for (std::uint32_t step = 0; step < 3; ++step) {
    const auto values = frames(kFrames, step + 7);
    steps.insert(steps.end(), values.begin(), values.end());
    const std::string folder = "step" + std::to_string(step);
    infer(write_frames(folder + ".npy", values), folder);
    const Npy out = logits(folder);
    expected.insert(expected.end(), out.bytes.begin(), out.bytes.end());
  }
  infer(write("steps.npy", DType::int8, {3, 1, kFrames, kBins}, steps), "sequence", {"--sequence"});
  EXPECT_EQ(logits("sequence").shape, (std::vector<std::size_t>{3, 1, kFrames, kClasses}));
  EXPECT_EQ(logits("sequence").bytes, expected);
}

TEST_F(InferVerb, DumpWritesEveryTensorThatIsComputed) {
  const std::string input = write_frames("x.npy", frames(kFrames));
  infer(input, "plain");
  infer(input, "all", {"--dump", "all"});
  const Json about = Json::parse(call_well({"inspect", frames_first(), "--json"}).out);
  std::vector<std::string> expected;
  for (const Json& op : about["operators"]) {
    for (const Json& output : op["outputs"]) expected.push_back(output.get<std::string>() + ".npy");
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(expected.size(), 16u);
  EXPECT_EQ(names_in(file("all")), expected);
  EXPECT_EQ(logits("all").bytes, logits("plain").bytes);
}

// Every tensor of a stream, put together from its blocks, is the one of the whole run.
TEST_F(InferVerb, DumpsOfAStreamEqualThoseOfTheWholeRun) {
  const std::string input = write_frames("x.npy", frames(131));
  infer(input, "whole", {"--dump", "all"});
  const auto names = names_in(file("whole"));
  EXPECT_EQ(names.size(), 16u);
  for (const char* chunk : {"1", "4", "50", "200"}) {
    const std::string to = std::string("chunk") + chunk;
    infer(input, to, {"--dump", "all", "--chunk", chunk});
    ASSERT_EQ(names_in(file(to)), names);
    for (const std::string& name : names) {
      const Npy whole = runnel::test::read_npy(folder_.path() / "whole" / name),
                streamed = runnel::test::read_npy(folder_.path() / to / name);
      EXPECT_EQ(streamed.shape, whole.shape) << name << " in blocks of " << chunk;
      EXPECT_EQ(streamed.bytes, whole.bytes) << name << " in blocks of " << chunk;
    }
  }
}

TEST_F(InferVerb, DumpTakesNames) {
  const std::string input = write_frames("x.npy", frames(kFrames));
  const Json about = Json::parse(call_well({"inspect", frames_first(), "--json"}).out);
  const std::string first = about["operators"][0]["outputs"][0], second = about["operators"][3]["outputs"][0];
  std::vector<std::string> expected = {first + ".npy", "logits.npy", second + ".npy"};
  std::sort(expected.begin(), expected.end());
  infer(input, "whole", {"--dump", first + "," + second});
  infer(input, "streamed", {"--dump", first + "," + second, "--chunk", "7"});
  EXPECT_EQ(names_in(file("whole")), expected);
  EXPECT_EQ(names_in(file("streamed")), expected);
  for (const std::string& name : expected) {
    EXPECT_EQ(runnel::test::read_npy(folder_.path() / "whole" / name).bytes,
              runnel::test::read_npy(folder_.path() / "streamed" / name).bytes)
        << name;
  }
  // Each step is one clip.
  const auto values = frames(kFrames);
  infer(write("steps.npy", DType::int8, {1, 1, kFrames, kBins}, values), "steps",
        {"--sequence", "--dump", first});
  const Npy one = runnel::test::read_npy(folder_.path() / "whole" / (first + ".npy")),
            step = runnel::test::read_npy(folder_.path() / "steps" / (first + ".npy"));
  EXPECT_EQ(step.bytes, one.bytes);
  EXPECT_EQ(step.shape.size(), one.shape.size() + 1);
}

TEST_F(InferVerb, DequantizeWritesFloats) {
  const std::string input = write_frames("x.npy", frames(kFrames));
  infer(input, "integers");
  infer(input, "floats", {"--dequantize"});
  const Json about = Json::parse(call_well({"inspect", frames_first(), "--json"}).out);
  int exponent = 0;
  for (const Json& tensor : about["tensors"]) {
    if (tensor["name"] == "logits") exponent = tensor["exponents"][0];
  }
  const auto integers = logits("integers").as<std::int8_t>();
  const auto floats = logits("floats").as<float>();
  EXPECT_EQ(logits("floats").dtype, "<f4");
  ASSERT_EQ(floats.size(), integers.size());
  for (std::size_t i = 0; i < floats.size(); ++i)
    ASSERT_EQ(floats[i], std::ldexp(static_cast<float>(integers[i]), exponent)) << i;
}

TEST_F(InferVerb, WrongInputsAreNamed) {
  const std::string good = write_frames("x.npy", frames(kFrames));
  const std::string out = file("out");
  const auto refused = [&](std::vector<std::string> more, const std::string& sentence) {
    more.insert(more.begin(), {"infer", frames_first(), "-o", out});
    refusal(more, sentence);
    EXPECT_FALSE(fs::exists(out)) << "a refused call leaves a folder";
  };
  refused({}, "no file for input logmel [1,98,40]");
  refused({"-i", "logmal=" + good}, "no input \"logmal\"");
  // The name is checked before the files: one that is not there, and another input's that does not fit.
  refused({"-i", "logmal=no_such_file.npy"}, "no input \"logmal\"; the model has logmel");
  refused({"-i", "logmel=no_such_file.npy", "-i", "logmal=" + good},
          "no input \"logmal\"; the model has logmel");
  refused({"-i", good}, "expected NAME=FILE");
  refused({"-i", "logmel=" + file("nothing.npy")}, "nothing.npy");
  write_text(file("empty.npy"), "");
  refused({"-i", "logmel=" + file("empty.npy")}, "empty.npy");
  write_text(file("text.npy"), "not an array at all, but long enough to be one");
  refused({"-i", "logmel=" + file("text.npy")}, "text.npy");
  write_text(file("short.bin"), std::string(41, 'x'));
  refused({"-i", "logmel=" + file("short.bin")}, "41 bytes, expected a multiple of 40");
  refused({"-i", "logmel=" + write("bins.npy", DType::int8, {1, 2, 41}, std::vector<std::int8_t>(82))},
          "41 on axis 2, expected 40");
  refused({"-i", "logmel=" + write("rank.npy", DType::int8, {2, 40}, std::vector<std::int8_t>(80))},
          "rank 2, expected 3");
  refused({"-i", "logmel=" + write("type.npy", DType::int16, {1, 1, 40}, std::vector<std::int16_t>(40))},
          "int16, expected int8 or float32");
  refusal({"infer", RUNNEL_SOURCE_FOLDER "/models/digits/digits.onnx", "-i",
           "logmel=" + write("float.npy", DType::int8, {1, 40, 1}, std::vector<std::int8_t>(40)), "-o", out},
          "int8, expected float32 for input logmel");
  refused({"-i", "logmel=" + good, "--dump", "logit"},
          "--dump logit: no operator computes a tensor of this name, did you mean logits?");
  refused({"-i", "logmel=" + good, "--state", "logits=logmel"}, "--state needs --sequence");
  refused({"-i", "logmel=" + good, "--sequence"}, "rank 3, expected 4");
  // The folder cannot be made: there is a file of this name.
  write_text(file("taken"), "mine");
  refusal({"infer", frames_first(), "-i", "logmel=" + good, "-o", file("taken")}, "taken");
  EXPECT_EQ(read_text(file("taken")), "mine");
}

}  // namespace
}  // namespace runnel::apps::test
