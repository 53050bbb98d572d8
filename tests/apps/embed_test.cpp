// What `runnel embed` makes of models that are no streams, as users of the program meet it. That it computes
// the same is shown on boards (scripts/firmware_nodes.sh).
#include <gtest/gtest.h>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;

fs::path data() { return runnel::test::data_folder(); }
bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void embed(const std::string& model, const std::string& folder) {
  call_well({"embed", model, "-o", folder, "--name", "leaf", "--front-end", "cmvn mean=0 deviation=1",
             "--decision", "detect activation=none labels=calm,stimulus", "--sample-rate", "10", "--samples",
             "float32"});
  EXPECT_TRUE(says(read_text(fs::path(folder) / "leaf.h"), "#define RUNNEL_LEAF_HOP 1\n"));
}

// A file without a plan of streaming gets none on its way into ROM: frames of a window would be counted along
// another axis.
TEST(Embed, ClassifiersOfWindowsKeepTheirWindows) {
  RUNNEL_NEEDS_DATA();
  const runnel::test::TemporaryFolder folder;
  const std::string model = folder.path() / "leaf.rnl";
  for (const char* name : {"mbedtfo_fcn", "mbedtfo_cnn_trained"}) {
    call_well({"import", (data() / "executorch" / name).string() + ".pte", "-o", model, "--usage", "window",
               "--window", "100", "--hop", "50"});
    embed(model, folder.path() / name);
  }
}

TEST(Embed, QuantizedClassifiersKnowTheirWindows) {
  RUNNEL_NEEDS_DATA();
  const runnel::test::TemporaryFolder folder;
  const std::string model = folder.path() / "leaf.rnl";
  std::string signal = "mV\n";
  for (int i = 0; i < 800; ++i) signal += std::to_string(i * 37 % 101 - 50) + "\n";
  write_text(folder.path() / "signal.csv", signal);
  const std::string network = (data() / "executorch/mbedtfo_cnn_trained.pte").string(),
                    calibration = folder.path() / "signal.csv";
  call_well({"quantize", network, "--calib", calibration, "-o", model, "--window", "100", "--hop", "50",
             "--quiet"});
  EXPECT_TRUE(
      says(call_well({"inspect", model}).out, "usage      window of 100 frames of 1 values, every 50\n"));
  embed(model, folder.path() / "embedded");
  refusal(
      {"quantize", network, "--calib", calibration, "-o", model, "--window", "100", "--hop", "0", "--quiet"},
      "hop 0, expected at least 1 frames");
}

// The name of the file is written into comments and must not leave them.
TEST(Embed, NamesOfFilesAreNoCode) {
  const runnel::test::TemporaryFolder folder;
  const std::string name = folder.path() / "a\nint b;\\\n*$\177.rnl", embedded = folder.path() / "embedded";
  fs::copy_file(model(), name);
  call_well({"embed", name, "-o", embedded, "--name", "a"});
  for (const char* file : {"a.h", "a.cpp", "a_model.cpp", "CMakeLists.txt"}) {
    const std::string text = read_text(fs::path(embedded) / file);
    EXPECT_TRUE(says(text.substr(0, text.find('\n')), "a_int b;___$_.rnl"))
        << file << ": " << text.substr(0, 200);
  }
}

TEST(Embed, MemoryIsThatOfADevice) {
  const runnel::test::TemporaryFolder folder;
  const std::string embedded = folder.path() / "embedded";
  for (const char* flag : {"--memory", "--fast"}) {
    for (const char* bytes : {"-1", "67108865", "99999999999999999999"}) {
      const Output output = call({"embed", model(), "-o", embedded, flag, bytes});
      EXPECT_EQ(output.exit_code, 2) << flag << ' ' << bytes;
      EXPECT_TRUE(says(output.err, flag)) << output.err;
    }
  }
  EXPECT_FALSE(fs::exists(embedded));
}

// The tables of the fixed-point front end are numbers of the program; its interpreting node, which would
// compute them, is not in it.
TEST(Embed, FixedPointFrontEndsAreConstants) {
  RUNNEL_NEEDS_DATA();
  const runnel::test::TemporaryFolder folder;
  const std::string model = folder.path() / "alexa.rnl", embedded = folder.path() / "alexa";
  call_well({"import", (data() / "models/mww/alexa.json").string(), "-o", model});
  call_well({"embed", model, "-o", embedded});
  const std::string program = read_text(fs::path(embedded) / "alexa.cpp");
  EXPECT_TRUE(says(program, "static constexpr std::int16_t kWindow[] = {")) << program.substr(0, 1000);
  EXPECT_TRUE(says(program, "embed::place<RomMicrofrontend>(memory)"));
  EXPECT_FALSE(says(program, "pipeline/nodes/spectrum/microfrontend.h"));
}

// Its files are read here: on a device there are none.
TEST(Embed, DecodersOfSpeechHaveTheirTablesInRom) {
  const runnel::test::TemporaryFolder folder;
  const std::string grammar = folder.path() / "g.txt", embedded = folder.path() / "digits";
  write_text(grammar, "<d> = 0 | 1 | 2 | 3\n4 <d>+ [9]\n");
  const std::string decision =
      "ctc mode=beam blank=silence units=words partials=0 max_tokens=16 grammar=" + grammar;
  call_well({"embed", model(), "-o", embedded, "--decision", decision});
  const std::string program = read_text(fs::path(embedded) / "digits.cpp");
  EXPECT_TRUE(says(program, "constexpr decoding::WordArc kCtc")) << program.substr(0, 2000);
  EXPECT_TRUE(says(program, "->tables = &kCtc"));
  EXPECT_FALSE(says(program, "g.txt"));
  call_well({"embed", model(), "-o", embedded, "--decision", decision, "--step"});
  EXPECT_TRUE(says(read_text(fs::path(embedded) / "digits.cpp"), "->tables = &kCtc"));
  refusal({"embed", model(), "-o", embedded, "--decision", decision + " blank=99"}, "blank");
  write_text(grammar, "0 eleven\n");
  refusal({"embed", model(), "-o", embedded, "--decision", decision}, "\"eleven\" cannot be spelled");
}

}  // namespace
}  // namespace runnel::apps::test
