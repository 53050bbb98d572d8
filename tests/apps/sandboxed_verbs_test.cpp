// Verbs that read a model in the sandbox, as a user calls them, and what they leave.
#include <gmock/gmock.h>

#include <cstdint>
#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>

#include "tests/apps/hostile_files.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST_F(HostileFiles, LeaveNoHalfFile) {
  const std::string path = written("constants.onnx", large_constants(2));
  for (const char* const sandbox : {"", "--sandbox"}) {
    std::vector<std::string> arguments = {"import", path, "-o", file("out.rnl"), "--max-memory", "200"};
    if (*sandbox != '\0') arguments.emplace_back(sandbox);
    EXPECT_NE(call(arguments).exit_code, 0);
    EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"constants.onnx"});
  }
}

TEST_F(HostileFiles, RecordingsThatPromiseMuch) {
  // Headers of .wav files with a few samples.
  const auto wav = [&](const std::string& name, std::uint32_t rate, std::uint16_t channels) {
    const auto little = [](std::uint64_t value, int size) {
      std::string out;
      for (int i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * i));
      return out;
    };
    const std::string samples(4096, '\1');
    const std::string format = little(1, 2) + little(channels, 2) + little(rate, 4) +
                               little(std::uint64_t{rate} * channels * 2, 4) +
                               little(std::uint64_t{channels} * 2, 2) + little(16, 2);
    return written(name, "RIFF" + little(36 + samples.size(), 4) + "WAVEfmt " + little(16, 4) + format +
                             "data" + little(samples.size(), 4) + samples);
  };
  refusal({"run", "wav path=" + wav("fast.wav", 2'000'000'000, 1) + " ! null"},
          "expected 1 to 1024 channels at 1 to 10000000 Hz");
  refusal({"run", "wav path=" + wav("wide.wav", 16000, 65535) + " ! null"}, "wide.wav: ");
}

class SandboxedVerbs : public HostileFiles {
 protected:
  // Runs it with and without --sandbox; the outputs are the same, and the first says its locks.
  Output both(std::vector<std::string> arguments) const {
    const Output plain = call(arguments);
    arguments.emplace_back("--sandbox");
    const Output inside = call(arguments);
    EXPECT_EQ(inside.exit_code, plain.exit_code) << inside.err;
    EXPECT_EQ(inside.out, plain.out) << arguments[0];
    EXPECT_THAT(inside.err, HasSubstr(": in a sandbox, with "));
    EXPECT_THAT(plain.err, testing::Not(HasSubstr(": in a sandbox")));
    return inside;
  }
  void SetUp() override {
    const Output tried = call({"inspect", model(), "--sandbox"});
    if (tried.err.find("no sandbox can be made") != std::string::npos)
      GTEST_SKIP() << "SKIPPED: " << tried.err;
  }
};

TEST_F(SandboxedVerbs, GiveTheSame) {
  both({"inspect", model()});
  both({"inspect", model(), "--json"});
  both({"check", model()});
  const std::string source = RUNNEL_SOURCE_FOLDER "/models/digits/digits_c_s8.espdl";
  both({"inspect", source});
  call_well({"import", source, "-o", file("plain.rnl")});
  EXPECT_EQ(call({"import", source, "-o", file("inside.rnl"), "--sandbox"}).exit_code, 0);
  EXPECT_EQ(read_text(file("inside.rnl")), read_text(file("plain.rnl")));
  EXPECT_EQ(names_in(folder_.path()), (std::vector<std::string>{"inside.rnl", "plain.rnl"}));
}

TEST_F(SandboxedVerbs, ReadOnnxFiles) {
  const Output inside = call(
      {"import", RUNNEL_SOURCE_FOLDER "/models/digits/digits.onnx", "-o", file("inside.rnl"), "--sandbox"});
  if (inside.err.find("does not read") != std::string::npos)
    GTEST_SKIP() << "SKIPPED: this build reads no .onnx files";
  EXPECT_EQ(inside.exit_code, 0) << inside.err;
  call_well({"import", RUNNEL_SOURCE_FOLDER "/models/digits/digits.onnx", "-o", file("plain.rnl")});
  EXPECT_EQ(read_text(file("inside.rnl")), read_text(file("plain.rnl")));
}

TEST_F(SandboxedVerbs, GetTheModelBesideAManifest) {
  RUNNEL_NEEDS_DATA();
  const std::string manifest = (runnel::test::data_folder() / "models/mww/alexa.json").string();
  call_well({"import", manifest, "-o", file("plain.rnl")});
  const Output inside = call({"import", manifest, "-o", file("inside.rnl"), "--sandbox"});
  EXPECT_EQ(inside.exit_code, 0) << inside.err;
  EXPECT_EQ(read_text(file("inside.rnl")), read_text(file("plain.rnl")));
}

TEST_F(SandboxedVerbs, CheckWithARecording) {
  write_wav(file("a.wav"), tone_words(1, 16000));
  const Output inside = call({"check", model(), file("a.wav"), "--sandbox"});
  if (inside.err.find("only with Landlock") != std::string::npos) GTEST_SKIP() << "SKIPPED: " << inside.err;
  EXPECT_EQ(inside.exit_code, 0) << inside.err;
  EXPECT_EQ(inside.out, call({"check", model(), file("a.wav")}).out);
}

TEST_F(SandboxedVerbs, RefuseWhatIsNotThere) {
  refusal({"import", file("none.onnx"), "-o", file("out.rnl"), "--sandbox"}, "none.onnx: no such file");
  refusal({"check", file("none.rnl"), "--sandbox"}, "none.rnl");
}

// The limits of a text between its markers: value and what it is of.
std::vector<std::string> rows_of(const std::string& text, const std::regex& row) {
  std::vector<std::string> rows;
  std::istringstream lines(text);
  std::smatch found;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, found, row)) rows.push_back(found[1].str() + " | " + found[2].str());
  return rows;
}

TEST(Limits, AreThoseOfTheHeaderAndThePage) {
  const std::string help = call_well({"help", "limits"}).out;
  const std::vector<std::string> printed = rows_of(help, std::regex("  (\\S.*?)  +(\\S.*)"));
  EXPECT_GT(printed.size(), 50U);

  // Each constant of the header is printed, and nothing else is.
  const std::string header = read_text(RUNNEL_SOURCE_FOLDER "/base/limits.h"),
                    table = read_text(RUNNEL_SOURCE_FOLDER "/apps/call/limits.cpp");
  const std::regex constant("inline constexpr \\S+ (k\\w+) =");
  std::set<std::string> names;
  for (auto each = std::sregex_iterator(header.begin(), header.end(), constant);
       each != std::sregex_iterator(); ++each)
    names.insert((*each)[1].str());
  for (const std::string& name : names) EXPECT_THAT(table, HasSubstr("limits::" + name + ", ")) << name;
  EXPECT_EQ(names.size(), printed.size());

  const fs::path page = RUNNEL_SOURCE_FOLDER "/docs/security.md";
  std::string text = read_text(page);
  const std::string first = "<!-- limits -->\n", last = "<!-- end of limits -->";
  const std::size_t begin = text.find(first) + first.size(), end = text.find(last);
  ASSERT_LE(begin, end);
  std::string rows;
  std::istringstream lines(help);
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line);) {
    if (line.empty()) continue;
    std::smatch found;
    if (std::regex_match(line, found, std::regex("  (\\S.*?)  +(\\S.*)")))
      rows += "| " + found[1].str() + " | " + found[2].str() + " |\n";
    else
      rows += (rows.empty() ? "" : "\n") + std::string("| ") + line + " | of |\n|---|---|\n";
  }
  if (std::getenv("RUNNEL_UPDATE_DOCS") != nullptr) write_text(page, text.replace(begin, end - begin, rows));
  EXPECT_EQ(text.substr(begin, text.find(last) - begin), rows) << "RUNNEL_UPDATE_DOCS=1 writes the table";
}

}  // namespace
}  // namespace runnel::apps::test
