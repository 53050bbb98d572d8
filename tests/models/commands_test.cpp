// The bundled recogniser of commands by its name: it streams exactly, hears what it is told, and how well it
// hears digits of people whom it was not trained on (docs/accuracy.md). commands.wav was made by espeak-ng,
// voice en-us, with a second between the phrases: like voices are in the training, so that it shows that the
// parts fit together, and nothing about accuracy.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;

const std::string kPhrases = RUNNEL_SOURCE_FOLDER "/tests/models/commands.wav";

// The final results of a run, as records.
std::vector<Json> finals(const std::string& lines) {
  std::vector<Json> found = json_lines(lines);
  std::erase_if(found, [](const Json& record) { return record["type"] != "final"; });
  return found;
}

TEST(CommandsModel, StreamsExactly) {
  const std::vector<Json> lines = json_lines(call_well({"check", "commands"}).out);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back()["exact"], true);
  EXPECT_EQ(lines.back()["streamed"], true);
  EXPECT_EQ(lines.back()["lookahead_frames"], 0.0);
}

TEST(CommandsModel, HearsPhrases) {
  const std::vector<Json> heard = finals(call_well({"listen", "commands", "--wav", kPhrases}).out);
  const std::vector<std::string> said = {"turn on the light", "call three one four", "stop the music"};
  ASSERT_EQ(heard.size(), said.size());
  for (std::size_t i = 0; i < said.size(); ++i) {
    EXPECT_EQ(heard[i]["text"], said[i]);
    EXPECT_EQ(heard[i]["segment"], i);
    EXPECT_EQ(heard[i]["stable"], heard[i]["words"].size());
  }
  // When it was said; CTC finds phones late, never early.
  EXPECT_NEAR(heard[0]["start"].get<double>(), 0.25 + 0.2, 0.25);
  EXPECT_NEAR(heard[0]["end"].get<double>(), 1.0 + 0.1, 0.25);
}

TEST(CommandsModel, HearsTheSameInOtherBlocks) {
  // `listen` steps frame by frame, `batch` by 32 frames.
  const runnel::test::TemporaryFolder folder;
  const std::string records = (folder.path() / "records.jsonl").string();
  call_well({"batch", "commands", kPhrases, "-o", records});
  const std::vector<Json> listened = finals(call_well({"listen", "commands", "--wav", kPhrases}).out),
                          batched = finals(read_text(records));
  ASSERT_EQ(listened.size(), batched.size());
  for (std::size_t i = 0; i < batched.size(); ++i) {
    for (const char* const field : {"text", "start", "end", "tokens", "words"})
      EXPECT_EQ(listened[i][field], batched[i][field]) << field;
  }
}

TEST(CommandsModel, HearsNothingInSilence) {
  const runnel::test::TemporaryFolder folder;
  const std::string quiet = (folder.path() / "quiet.wav").string();
  write_wav(quiet, std::vector<std::int16_t>(5 * 16000));
  EXPECT_EQ(finals(call_well({"listen", "commands", "--wav", quiet}).out).size(), 0U);
}

TEST(CommandsModel, TakesAnotherGrammar) {
  const runnel::test::TemporaryFolder folder;
  const std::string grammar = (folder.path() / "digits.txt").string();
  write_text(grammar, "(call | zero | one | two | three | four | five | six | seven | eight | nine)+\n");
  const std::string lexicon = RUNNEL_SOURCE_FOLDER "/models/commands/lexicon.txt";
  const std::vector<Json> heard = finals(
      call_well({"listen", "commands", "--wav", kPhrases, "--decision",
                 "ctc mode=beam silence_after=0.7 lexicon='" + lexicon + "' grammar='" + grammar + "'"})
          .out);
  ASSERT_GE(heard.size(), 2U);
  EXPECT_EQ(heard[1]["text"], "call three one four");
}

TEST(CommandsModel, IsListedWithItsCard) {
  for (const Json& model : json_lines(call_well({"models", "--json"}).out)) {
    if (model["name"] != "commands") continue;
    EXPECT_EQ(model["licence"], "Apache-2.0");
    EXPECT_NE(model["about"].get<std::string>().find("commands"), std::string::npos);
    EXPECT_EQ(model["labels"].size(), 40U);
    return;
  }
  ADD_FAILURE() << "`runnel models` does not list commands";
}

// Word errors of single digits with all commands allowed, beside which nothing is known of what may come.
class CommandsAccuracy : public testing::Test {
 protected:
  // `recordings`: paths with their text. Returns the record of `score --wer`.
  Json errors_of(const std::string& name,
                 const std::vector<std::pair<fs::path, std::string>>& recordings) const {
    const std::string records = (folder_.path() / "records.jsonl").string(),
                      labels = (folder_.path() / "text.tsv").string();
    std::vector<std::string> arguments = {"batch", "commands", "-o", records};
    std::ofstream truth(labels);
    for (const auto& [path, text] : recordings) {
      arguments.push_back(path.string());
      truth << path.filename().string() << '\t' << text << '\n';
    }
    truth.close();
    call_well(arguments);
    const Json score = Json::parse(call_well({"score", records, "--labels", labels, "--wer"}).out);
    std::printf("| %s | %zu | %d | %d | %.1f (%.1f to %.1f) |\n", name.c_str(), recordings.size(),
                score["words"].get<int>(), score["errors"].get<int>(), 100 * score["rate"].get<double>(),
                100 * score["low"].get<double>(), 100 * score["high"].get<double>());
    return score;
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(CommandsAccuracy, OfDigitsOfStrangers) {
  RUNNEL_NEEDS_DATA();
  const std::vector<std::string> digits = {"zero", "one", "two",   "three", "four",
                                           "five", "six", "seven", "eight", "nine"};
  // Two speakers of the Free Spoken Digit Dataset that no training heard, 8 kHz:
  // NUMBER_DIGIT_SPEAKER_TAKE.wav.
  std::vector<std::pair<fs::path, std::string>> theo, nicolas, others;
  for (const auto& entry : fs::directory_iterator(runnel::test::data_folder() / "digits/eval_wav")) {
    const std::string name = entry.path().filename().string();
    if (name.find("theo") == std::string::npos && name.find("nicolas") == std::string::npos) continue;
    auto& mine = name.find("theo") != std::string::npos ? theo : nicolas;
    mine.emplace_back(entry.path(), digits.at(static_cast<std::size_t>(name.at(4) - '0')));
  }
  // Two more people, 16 kHz. Lines FILE<tab>TEXT<tab>LICENCE<tab>SOURCE: those whose text is a digit.
  const fs::path set = runnel::test::data_folder() / "speech/set";
  std::ifstream lines(set / "text.tsv");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string file, text;
    std::getline(fields, file, '\t');
    std::getline(fields, text, '\t');
    if (std::ranges::find(digits, text) != digits.end()) others.emplace_back(set / file, text);
  }
  for (auto* const list : {&theo, &nicolas, &others}) std::ranges::sort(*list);
  ASSERT_EQ(theo.size(), 50U);
  ASSERT_EQ(nicolas.size(), 50U);
  ASSERT_EQ(others.size(), 60U);
  std::printf(
      "| single digits, all commands allowed | files | words | errors | per cent |\n|---|---|---|---|---|\n");
  EXPECT_LE(errors_of("theo, 8 kHz", theo)["errors"].get<int>(), 12);
  EXPECT_LE(errors_of("nicolas, 8 kHz", nicolas)["errors"].get<int>(), 22);
  EXPECT_LE(errors_of("two others, 16 kHz", others)["errors"].get<int>(), 3);
}

}  // namespace
}  // namespace runnel::apps::test
