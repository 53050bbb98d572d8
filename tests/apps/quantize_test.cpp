// runnel quantize: recordings and a float model in, an integer model that proves itself out.
#include <gmock/gmock.h>

#include <fstream>
#include <limits>
#include <sstream>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kFrontEnd = "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600";

class QuantizeVerb : public testing::Test {
 protected:
  static std::string data(const std::string& name) { return (runnel::test::data_folder() / name).string(); }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  // A few of the calibration recordings.
  std::string recordings(int count) const {
    const fs::path to = folder_.path() / "calib";
    fs::create_directories(to);
    for (const auto& entry : fs::directory_iterator(data("digits/calib_wav"))) {
      if (count-- > 0) fs::create_symlink(entry.path(), to / entry.path().filename());
    }
    return to.string();
  }
  Output refused(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "quantize");
    arguments.insert(arguments.end(), {"-o", file("bad.rnl"), "--quiet"});
    const Output output = call(arguments);
    EXPECT_EQ(output.exit_code, 1) << output.err;
    EXPECT_FALSE(fs::exists(file("bad.rnl")));
    EXPECT_FALSE(fs::exists(file("bad.rnl.part")));
    return output;
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(QuantizeVerb, RecordingsThroughTheFrontEndThatTheModelKeeps) {
  RUNNEL_NEEDS_DATA();
  const Output output =
      call_well({"quantize", data("digits/digits.onnx"), "--calib", recordings(12), "--frontend", kFrontEnd,
                 "--without", "search", "--without", "equalize", "-o", file("digits.rnl"), "--report",
                 file("report.json"), "--decision", "detect mode=clip", "--target", "esp32p4", "--quiet"});
  EXPECT_THAT(output.err, HasSubstr("methods used: round, bias"));
  const Json report = Json::parse(std::ifstream(file("report.json")), nullptr, false);
  EXPECT_LT(report["outputs"][0]["noise_to_signal"].get<double>(), 0.03);
  EXPECT_EQ(report["operators"].size(), 15u);
  const Json checked = Json::parse(call_well({"check", file("digits.rnl")}).out, nullptr, false);
  EXPECT_EQ(checked["exact"], true) << checked.dump();
  EXPECT_THAT(call_well({"inspect", file("digits.rnl")}).out,
              testing::AllOf(HasSubstr("fbank preset=kaldi"), HasSubstr("num_mel_bins=40"),
                             HasSubstr("preemphasis_coefficient=0.97")));
  // The model decides on recordings with what it carries.
  call_well({"batch", file("digits.rnl"), data("digits/calib_wav"), "-o", file("out.jsonl")});
  EXPECT_GT(fs::file_size(file("out.jsonl")), 1000u);
}

// With default settings this takes minutes, unless it is said before the work.
TEST_F(QuantizeVerb, AStreamThatCannotBeIsRefusedBeforeTheWork) {
  RUNNEL_NEEDS_DATA();
  const Output output = refused({data("speech/conformer/c_alibi.onnx"), "--calib",
                                 data("speech/conformer/c_alibi_x.npy"), "--attention-window", "16"});
  EXPECT_THAT(
      output.err,
      HasSubstr("c_alibi.onnx: time is taken to be axis 2 of input 'x' [1,200,80], as PyTorch has it, "
                "after batch and channels (--time-axis says otherwise); an attention window, but no "
                "product of queries and keys over all frames"));
}

// A table of windows with the six channels as the network takes them, all columns kept.
void normalize(const fs::path& from, const fs::path& results, const fs::path& to) {
  const Json how = Json::parse(std::ifstream(results), nullptr, false);
  std::ifstream in(from);
  std::ofstream out(to);
  out.precision(9);
  std::string line;
  for (bool heading = true; std::getline(in, line); heading = false) {
    std::istringstream cells(line);
    std::string cell;
    for (std::size_t i = 0; std::getline(cells, cell, ','); ++i) {
      out << (i > 0 ? "," : "");
      if (heading || i < 2 || i > 7)
        out << cell;
      else
        out << (std::stod(cell) - how["mean"][i - 2].get<double>()) / how["std"][i - 2].get<double>();
    }
    out << '\n';
  }
}

// Windows of sensors: the columns of numbers and labels are no data, and lines are frames.
TEST_F(QuantizeVerb, TablesByTheNamesOfTheirColumns) {
  RUNNEL_NEEDS_DATA();
  for (const char* name : {"calib_64_windows.csv", "test_300_windows.csv"})
    normalize(data(std::string("trained/har/") + name), data("trained/har/H1_results.json"), file(name));
  const std::vector<std::string> of = {data("trained/har/H1.onnx"), "--calib", file("calib_64_windows.csv"),
                                       "--shape", "feats=1x6x128"};
  EXPECT_THAT(refused(of).err,
              testing::AllOf(HasSubstr("9 columns (window, t, total_acc_x"),
                             HasSubstr("6 (a line is a frame of 6 values, 128 lines are a clip)")));
  std::vector<std::string> call = of;
  const char* const columns = "total_acc_x,total_acc_y,total_acc_z,body_gyro_x,body_gyro_y,body_gyro_z";
  call.insert(call.begin(), "quantize");
  call.insert(call.end(), {"--columns", columns, "--eval", file("test_300_windows.csv"), "--labels",
                           data("trained/har/test_300_labels.i32"), "-o", file("har.rnl"), "--report",
                           file("report.json"), "--methods", "bias,search", "--clips", "16", "--quiet"});
  const Output output = call_well(call);
  EXPECT_THAT(output.err,
              HasSubstr("a line is a frame of 6 values, 128 lines are a clip, turned into the layout "
                        "of input feats"));
  const Json report = Json::parse(std::ifstream(file("report.json")), nullptr, false);
  EXPECT_EQ(report["evaluation"]["float_correct"], 284) << "the same as from arrays";
  EXPECT_GE(report["evaluation"]["quantized_correct"].get<int>(), 280);
}

TEST_F(QuantizeVerb, ListsOfMethodsTakeCommas) {
  RUNNEL_NEEDS_DATA();
  const auto methods = [&](const std::vector<std::string>& more) {
    std::vector<std::string> call = {"quantize",    data("digits/digits.onnx"),
                                     "--calib",     recordings(4),
                                     "--front-end", kFrontEnd,
                                     "-o",          file("out.rnl"),
                                     "--quiet"};
    call.insert(call.end(), more.begin(), more.end());
    return call_well(call).err;
  };
  EXPECT_THAT(methods({"--without", "equalize,search,round"}), HasSubstr("methods used: bias\n"));
  EXPECT_THAT(refused({data("digits/digits.onnx"), "--calib", "x", "--with", "tqt,fast"}).err,
              HasSubstr("method \"fast\", expected equalize"));
}

TEST_F(QuantizeVerb, SettingsOfMethodsHaveTheirDefaultsInTheHelp) {
  const std::string help = call({"quantize", "--help"}).out;
  for (const char* option :
       {"--tqt-steps INT:INT in [1 - 1000000]=240", "--tqt-lr FLOAT:FLOAT in [1e-09 - 1]=0.01",
        "--tqt-block-size", "--tqt-int-lambda", "--tqt-gamma",
        "--tqt-is-scale-trainable TEXT:{true,false}=true", "--tqt-interested-layers",
        "--equalization-iterations INT:INT in [1 - 1000]=1", "--equalization-value-threshold",
        "--equalization-opt-level INT:{1,2}=2", "--equalization-interested-layers", "--scale-of", "--columns",
        "--rows"})
    EXPECT_THAT(help, HasSubstr(option));
}

TEST_F(QuantizeVerb, AStatedScaleIsTheScaleOfTheLayer) {
  RUNNEL_NEEDS_DATA();
  const auto call = [&](const std::string& scale) {
    return std::vector<std::string>{data("trained/har/H1.onnx"),
                                    "--shape",
                                    "feats=1x6x128",
                                    "--calib",
                                    data("trained/har/test_300_norm.f32"),
                                    "--clips",
                                    "8",
                                    "--methods",
                                    "bias",
                                    "--scale-of",
                                    scale};
  };
  for (const char* wrong : {"x", "=2^3", "Conv=", "Conv=2^", "Conv=0.3", "Conv=-1", "Conv=2^x"})
    EXPECT_THAT(refused(call(wrong)).err, HasSubstr("expected NODE=2^-5, or a power of two as a number"))
        << wrong;
  EXPECT_THAT(refused(call("nothing=0.25")).err, HasSubstr("there is no operator \"nothing\""));
}

TEST_F(QuantizeVerb, ArraysAndAccuracyOfFloatIntegersAndStream) {
  RUNNEL_NEEDS_DATA();
  const Output output =
      call_well({"quantize", data("trained/M3.onnx"), "--shape", "feats=1x40x98", "--calib",
                 data("trained/calib_64_fbank_norm.f32"), "--clips", "16", "--with", "round", "--without",
                 "search", "-o", file("m3.rnl"), "--eval", data("trained/eval_300_fbank_norm.f32"),
                 "--labels", data("trained/labels.csv"), "--quiet"});
  EXPECT_THAT(output.err, HasSubstr("evaluation: 300 clips, correct: float 261, quantized 2"));
  EXPECT_THAT(output.err, HasSubstr("streamed 2"));
  EXPECT_EQ(output.out, "");
}

// A protobuf field that holds bytes, and one that holds a number below 128.
std::string part(int field, const std::string& bytes) {
  std::string out(1, static_cast<char>(field * 8 + 2));
  std::size_t size = bytes.size();
  for (; size >= 128; size /= 128) out += static_cast<char>(size % 128 + 128);
  return out + static_cast<char>(size) + bytes;
}
std::string number(int field, int value) { return {static_cast<char>(field * 8), static_cast<char>(value)}; }

// An .onnx file of opset 17 with float input x [1, 2, 4] and output y. `open`: names of axes of x without
// size.
std::string onnx_model(const std::string& nodes_and_constants,
                       const std::vector<std::string>& open = {"", "", ""}) {
  std::string shape;
  const int sizes[] = {1, 2, 4};
  for (std::size_t i = 0; i < 3; ++i)
    shape += part(1, open[i].empty() ? number(1, sizes[i]) : part(2, open[i]));
  const std::string x = part(1, "x") + part(2, part(1, number(1, 1) + part(2, shape)));
  return number(1, 8) +
         part(7, nodes_and_constants + part(2, "graph") + part(11, x) + part(12, part(1, "y"))) +
         part(8, number(2, 17));
}
std::string onnx_node(const std::string& op, const std::string& name, const std::vector<std::string>& inputs,
                      const std::string& output, const std::string& attribute = "") {
  std::string node;
  for (const std::string& input : inputs) node += part(1, input);
  return part(1, node + part(2, output) + part(3, name) + part(4, op) +
                     (attribute.empty() ? "" : part(5, attribute)));
}
// 4 x 4 weights.
std::string onnx_weights(const std::string& name, std::vector<float> values) {
  values.resize(16, 0.25f);
  return part(5, number(1, 4) + number(1, 4) + number(2, 1) + part(8, name) +
                     part(9, std::string(reinterpret_cast<const char*>(values.data()), 64)));
}

TEST_F(QuantizeVerb, ModelsThatCannotBeQuantizedAreRefusedWithAllThatIsWrongAndNoFile) {
  const auto write = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  };
  std::vector<float> clips(8 * 10);
  for (std::size_t i = 0; i < clips.size(); ++i) clips[i] = static_cast<float>(i * 37 % 19) / 7 - 1.3f;
  const std::string data = write(
      "clips.f32", std::string(reinterpret_cast<const char*>(clips.data()), clips.size() * sizeof(float)));
  const auto why = [&](const std::string& model, const std::string& calibration) {
    return refused({write("model.onnx", model), "--calib", calibration}).err;
  };
  const std::string fine =
      onnx_model(onnx_node("MatMul", "layer", {"x", "w"}, "y") + onnx_weights("w", {1, -2, 0.3f}));
  const Output made =
      call_well({"quantize", write("model.onnx", fine), "--calib", data, "-o", file("fine.rnl"), "--quiet"});
  EXPECT_TRUE(fs::exists(file("fine.rnl"))) << made.err;

  // Operators that there are not, and attributes of those that there are.
  const std::string last = part(1, "select_last_index") + number(3, 1) + "\xa0\x01\x02";  // type: INT
  const std::string unsupported = why(
      onnx_model(onnx_node("Frobnicate", "odd", {"x"}, "a") + onnx_node("Bernoulli", "strange", {"a"}, "y") +
                 onnx_node("ArgMax", "largest", {"x"}, "z", last)),
      data);
  EXPECT_THAT(unsupported, HasSubstr("opset 17: operators that are not supported: Bernoulli (1), Frobnicate "
                                     "(1): nodes \"strange\", \"odd\""));
  EXPECT_THAT(unsupported, HasSubstr("node \"largest\" (ArgMax): the last of equal elements"));
  // Axes of unknown size.
  EXPECT_THAT(why(onnx_model(onnx_node("Relu", "relu", {"x"}, "y"), {"batch", "bins", "time"}), data),
              HasSubstr("input \"x\" leaves axes 1 (bins) and 2 (time) open, expected only batch and time"));
  // Weights that are no numbers, and numbers that no exponent can hold.
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(
      why(onnx_model(onnx_node("MatMul", "layer", {"x", "w"}, "y") + onnx_weights("w", {0, 0, nan})), data),
      HasSubstr("(node \"layer\")"));
  EXPECT_THAT(
      why(onnx_model(onnx_node("MatMul", "layer", {"x", "w"}, "y") + onnx_weights("w", {3e36f})), data),
      HasSubstr("node \"layer\": weights at 2^"));
  // Data of another shape, and data that says nothing.
  EXPECT_THAT(why(fine, write("seven.f32", std::string(7 * 4, 'x'))), HasSubstr("expected a multiple of"));
  EXPECT_THAT(why(fine, write("silent.f32", std::string(16 * 4, '\0'))),
              HasSubstr("silent.f32 clip 0: the same value throughout"));
  // An error that only floats keep.
  EXPECT_THAT(refused({write("model.onnx", fine), "--calib", data, "--max-error", "1e-20"}).err,
              HasSubstr("more than 1e-20"));
}

// What can be known at once is said at once, and what is no place for a file is left as it is.
TEST_F(QuantizeVerb, PlacesLabelsAndNumbersAreCheckedFirst) {
  const std::string model = file("model.onnx"), data = file("clips.f32");
  std::ofstream(model, std::ios::binary)
      << onnx_model(onnx_node("MatMul", "layer", {"x", "w"}, "y") + onnx_weights("w", {1, -2, 0.3f}));
  std::vector<float> clips(8 * 3);
  for (std::size_t i = 0; i < clips.size(); ++i) clips[i] = static_cast<float>(i * 37 % 19) / 7 - 1.3f;
  std::ofstream(data, std::ios::binary)
      << std::string(reinterpret_cast<const char*>(clips.data()), clips.size() * sizeof(float));
  const auto why = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"quantize", model, "--calib", data, "--quiet", "--methods", "none"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Output output = call(arguments);
    EXPECT_EQ(output.exit_code, 1) << output.err;
    EXPECT_FALSE(fs::exists(file("out.rnl")));
    return output.err;
  };
  EXPECT_THAT(why({"-o", file("none/out.rnl")}), HasSubstr("there is no folder"));
  EXPECT_THAT(why({"-o", file("out.rnl"), "--report", file("none/report.json")}),
              HasSubstr("there is no folder"));
  EXPECT_THAT(why({"-o", file("out.rnl"), "--save-table", file("none/table.txt")}),
              HasSubstr("there is no folder"));
  EXPECT_THAT(why({"-o", folder_.path().string()}), HasSubstr("a folder, expected a file"));
  EXPECT_THAT(why({"-o", file("out.tflite")}),
              HasSubstr("is not what is written here, expected .rnl or .espdl"));
  const Output endless =
      call({"quantize", model, "--calib", data, "-o", file("out.rnl"), "--max-error", "nan"});
  EXPECT_EQ(endless.exit_code, 2) << endless.err;
  EXPECT_THAT(endless.err, HasSubstr("finite"));
  EXPECT_THAT(why({"-o", file("out.rnl"), "--decision", "detect ! !"}), HasSubstr("column"));
  EXPECT_THAT(why({"-o", file("out.rnl"), "--bits-of", "layer=16", "--bits-of", "layer=8"}),
              HasSubstr("\"layer\" more than once"));
  // Classes: the output is [1, 2, 4].
  const auto labelled = [&](const std::string& labels, std::vector<std::string> more = {}) {
    std::ofstream(file("labels.csv")) << "label_id\n" << labels;
    more.insert(more.end(), {"-o", file("out.rnl"), "--eval", data, "--labels", file("labels.csv")});
    return why(more);
  };
  std::ofstream(file("classes.txt")) << "a\nb\n";
  EXPECT_THAT(labelled("0\n1\n"), HasSubstr("2 labels for 3 clips"));
  EXPECT_THAT(labelled("0\n1\n4\n"), HasSubstr("a label of 4"));
  EXPECT_THAT(labelled("0\n1\n2\n", {"--classes", file("classes.txt")}),
              HasSubstr("a label of 2 for 2 classes"));
  std::ofstream(file("classes.txt")) << "a\nb\nc\n";
  EXPECT_THAT(labelled("0\n1\n2\n", {"--classes", file("classes.txt")}),
              HasSubstr("the 3 classes that were named"));
  EXPECT_THAT(why({"-o", file("out.rnl"), "--classes", file("classes.txt")}),
              HasSubstr("3 labels for an output of 4 channels"));
  if (fs::is_character_file("/dev/full")) {
    fs::create_symlink("/dev/full", file("full"));
    EXPECT_THAT(why({"-o", file("full")}), HasSubstr("No space left"));
    EXPECT_THAT(why({"-o", file("out.rnl"), "--report", file("full")}), HasSubstr("No space left"));
    EXPECT_TRUE(fs::is_character_file(file("full")));
  }
}

TEST_F(QuantizeVerb, BadInputsGiveSentencesAndNoFile) {
  RUNNEL_NEEDS_DATA();
  const std::string model = data("trained/M1.onnx"), calibration = data("trained/calib_64_fbank_norm.f32");
  EXPECT_THAT(refused({model, "--calib", calibration}).err,
              HasSubstr("input feats has no fixed size; give it with --shape"));
  EXPECT_THAT(refused({model, "--calib", calibration, "--shape", "feats=1x40x97"}).err,
              HasSubstr("expected a multiple of"));
  EXPECT_THAT(refused({model, "--calib", file("nothing")}).err, HasSubstr("there is no such file or folder"));
  EXPECT_THAT(refused({model, "--calib", calibration, "--shape", "feats=1x40x98", "--target", "esp8266"}).err,
              HasSubstr("expected generic, esp32"));
  EXPECT_THAT(refused({model, "--calib", calibration, "--shape", "feats=1x40x98", "--without", "magic"}).err,
              HasSubstr("expected equalize, round"));
  EXPECT_THAT(refused({model, "--calib", calibration, "--shape", "feats=1x40x98", "--bits-of", "nobody=16",
                       "--without", "search"})
                  .err,
              HasSubstr("no operator \"nobody\""));
  EXPECT_THAT(refused({model, "--calib", calibration, "--shape", "feats=1x40x98", "--scheme", "affine",
                       "--target", "esp32p4"})
                  .err,
              HasSubstr("shifts only"));
  EXPECT_THAT(
      refused({model, "--calib", recordings(2), "--frontend", "fbank preset=kaldi num_mel_bins=23"}).err,
      HasSubstr("23 values per frame, input feats is"));
  std::ofstream(file("silent.f32"), std::ios::binary) << std::string(40 * 98 * 4 * 3, '\0');
  EXPECT_THAT(refused({model, "--calib", file("silent.f32"), "--shape", "feats=1x40x98"}).err,
              HasSubstr("silent.f32 clip 0: the same value throughout"));
}

}  // namespace
}  // namespace runnel::apps::test
