// runnel npu on a compiled model, as it comes and imported.
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;

class NpuVerbs : public testing::Test {
 protected:
  static std::string network(const char* target = "u55-128") {
    return (runnel::test::data_folder() / "ethosu/vela" / target / "kws_ref_model_vela.tflite").string();
  }
  static std::string recorded(const char* what) {
    return (runnel::test::data_folder() / "ethosu/io" / (std::string("kws_ref_model.") + what + ".0.bin"))
        .string();
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  // The bytes of the model's output.
  std::vector<std::byte> simulate(const std::string& model, const std::string& folder,
                                  const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"npu", "sim",       model, "-i", "input_1=" + recorded("in0"),
                                          "-o",  file(folder)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    call_well(arguments);
    for (const auto& entry : fs::directory_iterator(file(folder))) {
      if (entry.path().filename().string().rfind("ofm_", 0) == 0) continue;
      auto bytes = runnel::test::read_file(entry.path());
      if (bytes.size() > 128) bytes.erase(bytes.begin(), bytes.begin() + 128);
      return bytes;
    }
    return {};
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(NpuVerbs, TheImportedModelGivesTheRecordedBytesToo) {
  RUNNEL_NEEDS_DATA();
  const auto expected = runnel::test::read_file(recorded("out0"));
  EXPECT_EQ(simulate(network(), "direct"), expected);
  call_well({"import", network(), "-o", file("kws.rnl")});
  EXPECT_EQ(simulate(file("kws.rnl"), "imported", {"--dump-ofm", "2,8"}), expected);
  int maps = 0;
  for (const auto& entry : fs::directory_iterator(file("imported")))
    maps += entry.path().filename().string().rfind("ofm_", 0) == 0 ? 1 : 0;
  EXPECT_EQ(maps, 2);
}

// A network for the Ethos-U85 through every verb that runs models.
TEST_F(NpuVerbs, U85Everywhere) {
  RUNNEL_NEEDS_DATA();
  const std::string model =
      (runnel::test::data_folder() / "ethosu85/u85-256/kws_ref_model_vela.tflite").string();
  const auto expected = runnel::test::read_file(recorded("out0"));
  EXPECT_EQ(simulate(model, "direct", {"--dump-ofm", "5,8"}), expected);
  call_well({"import", model, "-o", file("kws.rnl")});
  call_well({"infer", file("kws.rnl"), "-i", "input_1=" + recorded("in0"), "-o", file("inferred")});
  for (const auto& entry : fs::directory_iterator(file("inferred"))) {
    auto bytes = runnel::test::read_file(entry.path());
    ASSERT_GT(bytes.size(), expected.size());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                           bytes.end() - static_cast<std::ptrdiff_t>(expected.size())));
  }
  call_well({"npu", "validate", model, "--accelerator", "ethos-u85-256"});
  call_well({"check", file("kws.rnl")});
  EXPECT_NE(call_well({"profile", model, "--runs", "2"}).out.find("ethos-u"), std::string::npos);
  EXPECT_EQ(Json::parse(call_well({"bench", model, "--seconds", "0.05"}).out)["type"], "bench");
  // The arena holds input and output.
  std::istringstream regions(call_well({"npu", "regions", model, "--json"}).out);
  std::string line;
  std::vector<Json> lines;
  while (std::getline(regions, line)) lines.push_back(Json::parse(line));
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0]["kind"], "constants");
  EXPECT_EQ(lines[0]["bytes"], 31344);
  EXPECT_EQ(lines[0]["read"], Json({0, 31232}));
  EXPECT_EQ(lines[0]["written"], nullptr);
  EXPECT_EQ(lines[1]["written"][1].get<int>() <= lines[1]["bytes"].get<int>(), true);
  EXPECT_EQ(lines[3]["port"], "input");
  EXPECT_EQ(lines[3]["bytes"], 490);
  EXPECT_EQ(lines[4]["port"], "output");
  EXPECT_EQ(lines[4]["bytes"], 12);
  call_well({"npu", "dump", model, "-o", file("dumped")});
  int weights = 0, scales = 0;
  for (const auto& entry : fs::directory_iterator(file("dumped"))) {
    weights += entry.path().filename().string().rfind("weights_0_", 0) == 0 ? 1 : 0;
    scales += entry.path().filename().string().rfind("scales_0_", 0) == 0 ? 1 : 0;
  }
  EXPECT_EQ(weights, 11) << "one of ten layers in two parts";
  EXPECT_EQ(scales, 11);
}

// Blocks of several frames: the file says so, and every verb that steps the stream keeps to them.
TEST_F(NpuVerbs, ModelsCompiledForBlocksRunEverywhere) {
  const std::string wav = file("tones.wav");
  write_wav(wav, tone_words(4.0, 16000));
  const std::string decision =
      "detect threshold=0.4 release=0.3 smoothing_frames=10 refractory_frames=10 ignore=\"\"";
  const auto events = [&](const std::string& at) {
    return events_of(call_well({"listen", at, "--wav", wav, "--decision", decision}).out);
  };
  const auto expected = events(model());
  ASSERT_GT(expected.size(), 3u);
  for (const int block : {1, 2, 3, 4, 8}) {
    SCOPED_TRACE(block);
    const std::string compiled = file("blocks.rnl");
    call_well({"npu", "compile", model(), "-o", compiled, "--block", std::to_string(block), "--quiet"});
    EXPECT_EQ(Json::parse(call_well({"inspect", compiled, "--json"}).out)["block_multiple"], block);
    const Json checked = Json::parse(call_well({"check", compiled, "--frames", "61"}).out);
    EXPECT_EQ(checked["exact"], true);
    EXPECT_EQ(checked["blocks"][0], block);
    EXPECT_EQ(events(compiled), expected);
    call_well({"batch", compiled, wav, "-o", file("out.jsonl"), "--decision", decision});
    EXPECT_EQ(events_of(read_text(file("out.jsonl"))), expected);
  }
  refusal(
      {"run", "wav path=" + wav +
                  " ! fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600 ! infer chunk=12 model=" +
                  file("blocks.rnl") + " ! null"},
      "a block of 12 frames, expected a positive multiple of 8");
}

// The commands of docs/npu.md, exactly as that page says.
#ifdef RUNNEL_HAVE_ONNX
TEST_F(NpuVerbs, TheTenCommandsOfThePage) {
  RUNNEL_NEEDS_DATA();
  const std::string page = read_text(RUNNEL_SOURCE_FOLDER "/docs/npu.md");
  const std::string begin = "```sh ten\n";
  const std::size_t from = page.find(begin) + begin.size();
  std::istringstream block(page.substr(from, page.find("```", from) - from));
  fs::copy_file(RUNNEL_SOURCE_FOLDER "/models/digits/digits.onnx", file("words.onnx"));
  fs::copy_file(RUNNEL_SOURCE_FOLDER "/models/digits/labels.txt", file("words.txt"));
  fs::create_directory(file("recordings"));
  std::vector<std::string> recordings = names_in(runnel::test::data_folder() / "digits/calib_wav");
  for (std::size_t i = 0; i < 24; ++i)
    fs::copy_file(runnel::test::data_folder() / "digits/calib_wav" / recordings.at(i),
                  file("recordings/" + recordings[i]));
  write_wav(file("word.wav"), tone_words(2.0, 16000));
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  int commands = 0;
  for (std::string line; std::getline(block, line); ++commands) {
    // Words, with quotes around some.
    std::vector<std::string> words(1);
    bool quoted = false;
    for (const char letter : line) {
      if (letter == '"')
        quoted = !quoted;
      else if (letter == ' ' && !quoted)
        words.emplace_back();
      else
        words.back() += letter;
    }
    EXPECT_EQ(words.at(0), "runnel");
    words.erase(words.begin());
    const Output output = call(words);
    EXPECT_EQ(output.exit_code, 0) << line << "\n" << output.err;
  }
  fs::current_path(before);
  EXPECT_EQ(commands, 10);
  for (const char* made :
       {"words.tflite", "words.pte", "firmware/words_npu/words_npu.h", "firmware/words/words.h"})
    EXPECT_TRUE(fs::exists(file(made))) << made;
}
#endif

// The forms of other tools: recorded bytes after reading back, and no violation; names that say something
// else are refused.
TEST_F(NpuVerbs, WritesFilesOfOtherTools) {
  RUNNEL_NEEDS_DATA();
  const std::string original = (runnel::test::data_folder() / "ethosu/models/kws_ref_model.tflite").string();
  for (const char* ending : {".tflite", ".pte"}) {
    const std::string compiled = file(std::string("kws") + ending);
    const Output told = call_well({"npu", "compile", original, "-o", compiled});
    EXPECT_NE(told.err.find("on the NPU"), std::string::npos);
    call_well({"npu", "validate", compiled, "--accelerator", "ethos-u55-128"});
    std::vector<std::string> inputs = Json::parse(call_well({"inspect", compiled, "--json"}).out)["inputs"];
    call_well({"infer", compiled, "-i", inputs.at(0) + "=" + recorded("in0"), "-o", file("out")});
    for (const auto& entry : fs::directory_iterator(file("out"))) {
      auto bytes = runnel::test::read_file(entry.path());
      bytes.erase(bytes.begin(), bytes.begin() + 128);
      EXPECT_EQ(bytes, runnel::test::read_file(recorded("out0"))) << ending;
    }
    fs::remove_all(file("out"));
  }
  refusal({"npu", "compile", original, "-o", file("kws.onnx")},
          ".onnx is not what is written here, expected .rnl or .tflite or .pte");
  refusal({"npu", "compile", model(), "-o", file("d.tflite"), "--block", "1"}, "only a .rnl file can say");
  refusal({"import", original, "-o", file("imported.pte")},
          ".pte is not what is written here, expected .rnl");
  refusal({"npu", "compile", original, "-o", file("u65.pte"), "--accelerator", "ethos-u65-256"},
          "fast scratch memory");
  EXPECT_FALSE(fs::exists(file("kws.onnx")) || fs::exists(file("d.tflite")) ||
               fs::exists(file("imported.pte")) || fs::exists(file("u65.pte")));
}

// Every layer of the original is found again; a compiled form of another network is not one.
TEST_F(NpuVerbs, CompareFindsTheLayers) {
  RUNNEL_NEEDS_DATA();
  const auto data = runnel::test::data_folder();
  const std::string original = (data / "ethosu/models/kws_ref_model.tflite").string();
  for (const fs::path& compiled : {data / "ethosu85/u85-256/kws_ref_model_vela.tflite",
                                   data / "ethosu/vela/u55-128/kws_ref_model_vela.tflite"}) {
    std::istringstream lines(call_well({"npu", "compare", original, compiled.string(), "--json"}).out);
    std::string line;
    int layers = 0, parts = 0;
    while (std::getline(lines, line)) {
      const Json layer = Json::parse(line);
      if (layer["operation"] != "CONV" && layer["operation"] != "DEPTHWISE") continue;
      ++layers;
      EXPECT_EQ(layer["differing"], 0) << line;
      parts += layer["first_channel"].get<int>() > 0 ? 1 : 0;
    }
    EXPECT_GE(layers, 10) << compiled;
    EXPECT_GE(parts, 1) << compiled << ": layers in several parts";
  }
  const Output other =
      call({"npu", "compare", original, (data / "ethosu85/u85-256/str_ww_ref_model_vela.tflite").string()});
  EXPECT_NE(other.exit_code, 0);
  EXPECT_NE(other.err.find("bytes, the original has 490"), std::string::npos) << other.err;
}

TEST_F(NpuVerbs, EstimateSaysWhatWasRecorded) {
  RUNNEL_NEEDS_DATA();
  const Output output = call_well({"npu", "estimate", network(), "--system", "Ethos_U65_High_End",
                                   "--memory-mode", "Shared_Sram", "--json"});
  std::istringstream lines(output.out);
  std::string line;
  int count = 0;
  Json last;
  for (; std::getline(lines, line); ++count) last = Json::parse(line, nullptr, false);
  EXPECT_EQ(count, 43) << "42 operations and their sums";
  EXPECT_EQ(last["macs"], 2824792);
  EXPECT_EQ(last["npu_cycles"], 82966);
  EXPECT_NEAR(last["cycles"].get<double>(), 83601.9, 1e-6);
  EXPECT_EQ(last["memory"]["sram"]["read"].get<double>() + last["memory"]["sram"]["written"].get<double>(),
            295664);
  const Output text = call_well({"npu", "estimate", network("u65-256")});
  EXPECT_NE(text.out.find("ethos-u65-256, Ethos_U65_High_End, Dedicated_Sram"), std::string::npos);
}

std::string u85_network() {
  return (runnel::test::data_folder() / "ethosu85/u85-256/kws_ref_model_vela.tflite").string();
}

TEST_F(NpuVerbs, EstimateRefusesWhatItDoesNotKnow) {
  RUNNEL_NEEDS_DATA();
  const Output system = call({"npu", "estimate", network(), "--system", "Ethos_U99"});
  EXPECT_NE(system.exit_code, 0);
  EXPECT_NE(system.err.find("no system configuration \"Ethos_U99\"; known are"), std::string::npos)
      << system.err;
  const Output old = call({"npu", "estimate", network(), "--what-if"});
  EXPECT_NE(old.exit_code, 0);
  EXPECT_NE(old.err.find("ethos-u55-128: --what-if, expected an Ethos-U85"), std::string::npos) << old.err;
  const std::string u85 = u85_network();
  const Output flash = call({"npu", "estimate", u85, "--system", "Ethos_U85_SYS_Flash_High"});
  EXPECT_NE(flash.exit_code, 0);
  EXPECT_NE(flash.err.find("the second memory cannot be written"), std::string::npos) << flash.err;
}

TEST_F(NpuVerbs, EstimateKnowsTheU85) {
  RUNNEL_NEEDS_DATA();
  const auto last_of = [](const Output& output) {
    std::istringstream lines(output.out);
    std::string line, last;
    while (std::getline(lines, line)) last = line;
    return Json::parse(last, nullptr, false);
  };
  const std::string u85 = u85_network();
  const Json sums = last_of(call_well({"npu", "estimate", u85, "--json"}));
  EXPECT_EQ(sums["accelerator"], "ethos-u85-256");
  EXPECT_EQ(sums["system"], "Ethos_U85_SYS_DRAM_Mid");
  EXPECT_EQ(sums["memory_mode"], "Dedicated_Sram_384KB");
  EXPECT_EQ(sums["npu_cycles"], 42067);
  EXPECT_EQ(sums["cycles"], 54311);
  EXPECT_EQ(sums["memory"]["dram"]["cycles"], 39347);
  const Json table = last_of(call_well({"npu", "estimate", u85, "--what-if", "--json"}));
  EXPECT_EQ(table["compiled_for"], "ethos-u85-256");
  EXPECT_EQ(table["cycles"]["ethos-u85-256"], 54311);
  EXPECT_GT(table["cycles"]["ethos-u85-128"], 54311);
  EXPECT_LT(table["cycles"]["ethos-u85-2048"], 54311);
  const Output text = call_well({"npu", "estimate", u85, "--what-if"});
  EXPECT_NE(text.out.find("256*"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("2 to 5  CONV"), std::string::npos) << text.out;
}

TEST_F(NpuVerbs, ProfileAndBenchSayEstimatedCycles) {
  RUNNEL_NEEDS_DATA();
  const std::string u85 = u85_network();
  const Json profile = Json::parse(call_well({"profile", u85, "--runs", "3", "--json"}).out);
  ASSERT_EQ(profile["npu"].size(), 1U);
  EXPECT_EQ(profile["npu"][0]["accelerator"], "ethos-u85-256");
  EXPECT_EQ(profile["npu"][0]["cycles"], 54311);
  EXPECT_NE(call_well({"profile", u85, "--runs", "3"}).out.find("operator 0 on ethos-u85-256: 54311 cycles"),
            std::string::npos);
  const Json bench = Json::parse(call_well({"bench", u85, "--seconds", "0.01"}).out);
  EXPECT_EQ(bench["npu"][0]["npu_cycles"], 42067);
  // Models without such parts say nothing of it.
  EXPECT_FALSE(Json::parse(call_well({"profile", model(), "--runs", "3", "--json"}).out).contains("npu"));
}

}  // namespace
}  // namespace runnel::apps::test
