// What the program says to input that is wrong: one clear sentence, an exit code, and no half-written output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/crc32c.h"
#include "base/host/npy.h"
#include "compiler/write/writer.h"
#include "inference/model/model_generated.h"
#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class BadInput : public testing::Test {
 protected:
  void SetUp() override { write_wav(file("good.wav"), tone_words(1, 16000)); }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  // What a user can do with a model, each with an output that must not appear.
  void refuse_model(const std::string& path, const std::string& sentence) const {
    const std::vector<std::string> before = names_in(folder_.path());
    EXPECT_EQ(call({"listen", path, "--wav", file("good.wav")}).out, "");
    refusal({"listen", path, "--wav", file("good.wav")}, sentence);
    refusal({"batch", path, file("good.wav"), "-o", file("out.jsonl")}, sentence);
    refusal({"infer", path, "-i", "logmel=" + file("good.wav"), "-o", file("out")}, sentence);
    refusal({"import", path, "-o", file("out.rnl")}, sentence);
    refusal({"inspect", path}, sentence);
    refusal({"check", path}, sentence);
    refusal({"bench", path}, sentence);
    refusal({"run", "wav path=" + file("good.wav") + " ! fbank num_mel_bins=40 ! infer model=" + path +
                        " ! npy path=" + file("out.npy")},
            sentence);
    EXPECT_EQ(names_in(folder_.path()), before);
  }
  // The same for a recording.
  void refuse_recording(const std::string& path, const std::string& sentence) const {
    const std::vector<std::string> before = names_in(folder_.path());
    refusal({"listen", model(), "--wav", path}, sentence);
    refusal({"features", path, "-o", file("out.npy")}, sentence);
    refusal({"check", model(), path}, sentence);
    refusal({"run", "wav path=" + path + " ! wav path=" + file("out.wav")}, sentence);
    EXPECT_EQ(names_in(folder_.path()), before);
    refusal({"batch", model(), path, file("good.wav"), "-o", file("out.jsonl")}, "1 of 2 recordings failed");
    const std::vector<Json> records = json_lines(read_text(file("out.jsonl")));
    ASSERT_FALSE(records.empty());
    EXPECT_EQ(records[0]["type"], "error");
    EXPECT_THAT(records[0]["reason"].get<std::string>(), HasSubstr(sentence));
    fs::remove(file("out.jsonl"));
  }
  runnel::test::TemporaryFolder folder_;
};

// ---- models
// --------------------------------------------------------------------------------------------------------

TEST_F(BadInput, FilesThatAreNotModels) {
  refuse_model(file("missing.rnl"), "missing.rnl");
  write_text(file("empty.rnl"), "");
  refuse_model(file("empty.rnl"), "empty.rnl");
  write_text(file("garbage.rnl"),
             "neither a model nor anything like it, and long enough to hold the head of one");
  refuse_model(file("garbage.rnl"), "garbage.rnl");
  fs::create_directory(file("folder.rnl"));
  refuse_model(file("folder.rnl"), "folder.rnl");
  const std::string whole = read_text(model());
  write_text(file("half.rnl"), whole.substr(0, whole.size() / 2));
  refuse_model(file("half.rnl"), "half.rnl");
  std::string flipped = whole;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 4);
  write_text(file("flipped.rnl"), flipped);
  refuse_model(file("flipped.rnl"), "flipped.rnl");
}

// The bundled model with other numbers for some of its operators, and the checksum that belongs to it.
std::string with_operators_of_the_future(std::string bytes) {
  auto* file = reinterpret_cast<std::uint8_t*>(bytes.data());
  for (const fb::Section* section : *fb::GetModel(file)->sections()) {
    if (section->kind() != fb::SectionKind::graph) continue;
    const auto* graph = flatbuffers::GetRoot<fb::Graph>(section->data()->data());
    // Fields can be read through the generated classes, and set through the table beneath them.
    const auto set = [](const auto* table, flatbuffers::voffset_t field, auto value) {
      const std::uint8_t* at = reinterpret_cast<const flatbuffers::Table*>(table)->GetAddressOf(field);
      ASSERT_NE(at, nullptr) << "the field has its default value and no place";
      std::memcpy(const_cast<std::uint8_t*>(at), &value, sizeof value);
    };
    const auto& operators = *graph->operators();
    set(operators.Get(1), fb::Operator::VT_CODE, std::uint16_t{997});
    set(operators.Get(4), fb::Operator::VT_CODE, std::uint16_t{998});
    set(operators.Get(7), fb::Operator::VT_CODE, std::uint16_t{999});
    set(section, fb::Section::VT_CRC32C,
        crc32c(std::as_bytes(std::span(section->data()->data(), section->data()->size()))));
  }
  return bytes;
}

TEST_F(BadInput, AllOperatorsThatAreUnknownAreNamedAtOnce) {
  write_text(file("future.rnl"), with_operators_of_the_future(read_text(model())));
  write_wav(file("x.wav"), tone_words(1, 16000));
  const std::vector<std::int8_t> values(98 * 40);
  ASSERT_TRUE(write_npy(file("x.npy"), DType::int8, std::vector<std::int64_t>{1, 98, 40},
                        std::as_bytes(std::span(values)))
                  .ok());
  const std::vector<std::vector<std::string>> calls = {
      {"listen", file("future.rnl"), "--wav", file("x.wav")},
      {"batch", file("future.rnl"), file("x.wav"), "-o", file("out.jsonl")},
      {"infer", file("future.rnl"), "-i", "logmel=" + file("x.npy"), "-o", file("out")},
      {"inspect", file("future.rnl")},
      {"check", file("future.rnl")},
      {"bench", file("future.rnl")}};
  for (const std::vector<std::string>& arguments : calls) {
    const std::string line = refusal(arguments, "operators that this build does not have: ");
    for (const char* name : {"number 997 version 1", "number 998 version 1", "number 999 version 1"})
      EXPECT_THAT(line, HasSubstr(name));
    EXPECT_THAT(line, HasSubstr("future.rnl"));
  }
  EXPECT_FALSE(fs::exists(file("out.jsonl")));
}

TEST_F(BadInput, AllOperatorsOfAnotherToolThatAreUnknownAreNamedAtOnce) {
  std::string bytes = read_text(fs::path(RUNNEL_SOURCE_FOLDER) / "models/digits/digits_c_s8.espdl");
  const auto rename = [&](std::size_t from, const std::string& old, const std::string& fresh) {
    // A FlatBuffers string: its length, then its letters.
    const std::string length{static_cast<char>(old.size()), 0, 0, 0};
    const std::size_t at = bytes.find(length + old + '\0', from);
    ASSERT_NE(at, std::string::npos) << old;
    bytes.replace(at + 4, old.size(), fresh);
  };
  rename(0, "Conv", "Warp");
  rename(0, "RequantizeLinear", "TransmogrifyBits");
  rename(0, "Add", "Sew");
  write_text(file("strange.espdl"), bytes);
  refuse_model(file("strange.espdl"), "strange.espdl");
  const std::string line = refusal({"import", file("strange.espdl"), "-o", file("out.rnl")}, "");
  for (const char* name : {"Warp", "TransmogrifyBits", "Sew"}) EXPECT_THAT(line, HasSubstr(name));
}

// A model of one operator, to look at names of files.
std::string small_model(const std::string& output, const std::string& middle) {
  compiler::Graph graph;
  graph.name = "small";
  const auto tensor = [](const std::string& name) {
    compiler::Tensor out;
    out.name = name;
    out.shape = {1, 6, 2};
    out.dtype = DType::int8;
    out.exponents = {-4};
    return out;
  };
  graph.tensors = {tensor("x"), tensor(middle), tensor(output)};
  graph.nodes = {{"first",
                  OpCode::add,
                  Arithmetic::exact,
                  {0, 0},
                  {1},
                  compiler::BinaryOptions{},
                  kernels::Rounding::half_up},
                 {"second",
                  OpCode::add,
                  Arithmetic::exact,
                  {1, 0},
                  {2},
                  compiler::BinaryOptions{},
                  kernels::Rounding::half_up}};
  graph.inputs = {0};
  graph.outputs = {2};
  graph.pipeline.usage = UsageKind::stream;
  const auto written = compiler::write_model(graph);
  EXPECT_TRUE(written.ok()) << written.status().text();
  if (!written.ok()) return "";
  return {reinterpret_cast<const char*>(written->bytes.data()), written->bytes.size()};
}

TEST_F(BadInput, NamesOfTensorsBecomeNamesOfFiles) {
  write_text(file("x.bin"), std::string(12, '\1'));
  const auto infer = [&](const std::string& output, const std::string& middle, const std::string& to) {
    write_text(file("small.rnl"), small_model(output, middle));
    call_well({"infer", file("small.rnl"), "-i", "x=" + file("x.bin"), "-o", file(to), "--dump", "all"});
    return names_in(file(to));
  };
  EXPECT_EQ(infer("../up/a b:0", "M\xc3\xbc.L-1_x", "a"),
            (std::vector<std::string>{".._up_a_b_0.npy", "M__.L-1_x.npy"}));
  const std::string longest(300, 'n');
  EXPECT_EQ(infer(longest, "m", "b"), (std::vector<std::string>{"m.npy", longest.substr(0, 200) + ".npy"}));
  // Two tensors must not share a file.
  write_text(file("small.rnl"), small_model("a/b", "a:b"));
  refusal({"infer", file("small.rnl"), "-i", "x=" + file("x.bin"), "-o", file("c"), "--dump", "all"},
          "a_b.npy");
  EXPECT_FALSE(fs::exists(file("c")));
}

TEST_F(BadInput, AFrontEndThatDoesNotFitTheModel) {
  for (const char* front_end : {"fbank preset=kaldi num_mel_bins=23", "fbank preset=kaldi"}) {
    const std::string line =
        refusal({"listen", model(), "--wav", file("good.wav"), "--front-end", front_end}, "23");
    EXPECT_THAT(line, HasSubstr("40"));
    EXPECT_EQ(call({"listen", model(), "--wav", file("good.wav"), "--front-end", front_end}).out, "");
  }
  write_text(file("bare.rnl"), small_model("y", "m"));
  refusal({"listen", file("bare.rnl"), "--wav", file("good.wav")}, "the model has no front end");
  refusal({"listen", file("bare.rnl"), "--wav", file("good.wav"), "--front-end", "fbank"},
          "the model has no decision");
}

// ---- graphs
// --------------------------------------------------------------------------------------------------------

TEST_F(BadInput, NamesThatAreUnknownGetASuggestion) {
  const std::string source = "wav path=" + file("good.wav");
  refusal({"run", source + " ! fbnak ! null"}, "there is no node 'fbnak', did you mean 'fbank'?");
  refusal({"run", source + " ! fbank num_mel_bin=40 ! null"}, "did you mean 'num_mel_bins'?");
  refusal({"run", source + " ! fbank preset=kadli ! null"}, "did you mean kaldi?");
  refusal({"run", source + " ! fbank window_type=hamning ! null"}, "hamming");
  refusal({"features", file("good.wav"), "-o", file("out.npy"), "--preset", "kadli"}, "did you mean kaldi?");
  refusal({"features", file("good.wav"), "-o", file("out.npy"), "--set", "num_mel_bin=40"},
          "did you mean 'num_mel_bins'?");
  refusal({"features", file("good.wav"), "-o", file("out.npy"), "--set", "num_mel_bins"},
          "expected NAME=VALUE");
  refusal({"listen", model(), "--wav", file("good.wav"), "--decision", "detect threshhold=1"},
          "did you mean 'threshold'?");
  refusal({"run", file("nothing.rnlg")}, "nothing.rnlg");
  refusal({"run", ""}, "the graph is empty");
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"good.wav"});
}

// ---- recordings
// ----------------------------------------------------------------------------------------------------

TEST_F(BadInput, RecordingsThatAreNone) {
  refuse_recording(file("missing.wav"), "missing.wav: there is no such file");
  fs::create_directory(file("folder"));
  refusal({"listen", model(), "--wav", file("folder")}, "folder: is a folder, expected a recording");
  fs::remove(file("folder"));
  write_text(file("text.wav"), "Dear reader,\nthis is a letter and no recording.\n");
  refuse_recording(file("text.wav"), "text.wav: not a recording that can be read");
  write_text(file("empty.wav"), "");
  refuse_recording(file("empty.wav"), "empty.wav: not a recording that can be read");
}

TEST_F(BadInput, RecordingsThatAreBroken) {
  write_text(file("silent.wav"), wav_bytes("", 16000, 1, 16, 1, 0));
  refuse_recording(file("silent.wav"), "silent.wav: has no samples");
  const std::string second(32000, '\0');
  write_text(file("lying.wav"), wav_bytes(second, 16000, 1, 16, 1, 64000));
  refuse_recording(file("lying.wav"), "lying.wav: the header promises 64000 bytes");
  write_text(file("channels.wav"), wav_bytes(second, 16000, 0, 16, 1, 32000));
  refuse_recording(file("channels.wav"), "channels.wav");
  write_text(file("rate.wav"), wav_bytes(second, 0, 1, 16, 1, 32000));
  refuse_recording(file("rate.wav"), "rate.wav");
  std::vector<float> floats(16000, 0.25f);
  floats[5000] = std::numeric_limits<float>::quiet_NaN();
  const std::string data(reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float));
  write_text(file("nan.wav"), wav_bytes(data, 16000, 1, 32, 3, static_cast<std::uint32_t>(data.size())));
  refuse_recording(file("nan.wav"), "nan.wav: sample 5000 of channel 0 is not a number");
}

TEST_F(BadInput, ARecordingShorterThanOneFrameIsNoFailure) {
  write_wav(file("short.wav"), tone_words(0.01, 16000));
  const Json summary = expect_records(call_well({"listen", model(), "--wav", file("short.wav")}).out);
  EXPECT_EQ(summary["events"], 0);
  EXPECT_EQ(summary["audio_seconds"], 0.01);
}

// ---- outputs
// -------------------------------------------------------------------------------------------------------

TEST_F(BadInput, ProcessorsThatNobodyEmbedsFor) {
  // A slip for --accelerator.
  refusal(
      {"npu", "compile", model(), "-o", file("compiled.rnl"), "--target", "ethos-u55-128"},
      "target \"ethos-u55-128\" of a .rnl file; only of .espdl files it says what they were quantized for");
  refusal({"npu", "compile", model(), "-o", file("compiled.rnl"), "--accelerator", "ethos-u99"}, "ethos-u99");
  refusal({"embed", model(), "-o", file("embedded"), "--target", "cortex-m99"},
          "--target cortex-m99: expected cortex-m4, cortex-m7, cortex-m55, rv32imac, rv32imafc or rv64gc");
  EXPECT_FALSE(fs::exists(file("embedded")));
}

// A file or a folder of that name would never be found.
TEST_F(BadInput, ArraysDoNotGoToTheStandardOutput) {
  fs::create_directory(file("set"));
  fs::copy_file(file("good.wav"), file("set/good.wav"));
  refusal({"features", file("good.wav"), "-o", "-"}, "-o -: an array needs a file");
  refusal({"features", file("set"), "-o", "-"}, "-o -: --format files needs a folder");
  EXPECT_FALSE(fs::exists("-") || fs::exists("-.index.jsonl"));
}

TEST_F(BadInput, NumbersThatAreNone) {
  refusal({"serve", model(), "--idle", "nan"}, "--idle: expected a finite number, found nan");
  refusal({"listen", model(), "--wav", file("good.wav"), "--speed", "NaN"},
          "--speed: expected a finite number, found NaN");
  refusal({"bench", model(), "--seconds", "nan"}, "--seconds: expected a finite number");
  refusal({"batch", model(), file("good.wav"), "-o", file("out.jsonl"), "--progress", "-nan"},
          "--progress: expected a finite number");
  EXPECT_EQ(names_in(folder_.path()), (std::vector<std::string>{"good.wav"}));
}

// Whoever reads them to their end never comes back.
TEST_F(BadInput, DevicesThatNeverEnd) {
  fs::create_symlink("/dev/zero", file("zero.rnlg"));
  fs::create_symlink("/dev/zero", file("zero.json"));
  write_text(file("events.jsonl"), "");
  refusal({"run", file("zero.rnlg")}, "zero.rnlg: more than 1048576 bytes");
  refusal({"serve", model(), "--token-file", "/dev/zero"}, "/dev/zero: more than 1048576 bytes");
  refusal({"batch", model(), "@/dev/zero", "-o", file("out.jsonl")},
          "/dev/zero, line 1: more than 1048576 bytes without a line end");
  refusal({"score", file("zero.json"), "--labels", file("events.jsonl")},
          "zero.json: cannot be opened as a file");
}

TEST_F(BadInput, OutputsThatCannotBeWritten) {
  const std::string nowhere = file("nowhere/out");
  fs::create_directory(file("taken"));
  const std::vector<std::string> before = names_in(folder_.path());
  for (const std::string& out : {nowhere, file("taken"), file("good.wav/out")}) {
    SCOPED_TRACE(out);
    refusal(
        {"import", (fs::path(RUNNEL_SOURCE_FOLDER) / "models/digits/digits_c_s8.espdl").string(), "-o", out},
        out + ": cannot create");
    refusal({"batch", model(), file("good.wav"), "-o", out}, out + ": cannot create");
    refusal({"run", "wav path=" + file("good.wav") + " ! fbank ! npy path=" + out}, out + ": cannot create");
    refusal({"run", "wav path=" + file("good.wav") + " ! wav path=" + out}, out + ": cannot create");
  }
  refusal({"features", file("good.wav"), "-o", nowhere}, nowhere + ": cannot create");
  EXPECT_EQ(names_in(folder_.path()), before);
  EXPECT_EQ(names_in(file("taken")), std::vector<std::string>{});
}

}  // namespace
}  // namespace runnel::apps::test
