// Decoders of speech as users of the program meet them. The bundled digits take the part of a recogniser: its
// labels are the tokens, and "silence" is the blank.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;

// Two recordings of sound that the model makes something of.
class Speech : public testing::Test {
 protected:
  Speech() {
    write_wav(file("a.wav"), tone_words(4, 16000));
    write_wav(file("b.wav"), tone_words(2, 16000));
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  static std::string decision(const std::string& more = "") {
    return "ctc blank=silence units=words silence_after=0.3 " + more;
  }
  std::vector<std::string> batch(const std::string& format, const std::string& output) const {
    return {"batch",    model(), file("a.wav"), file("b.wav"),
            "-o",       output,  "--decision",  decision("partials=0"),
            "--format", format,  "--no-timing"};
  }
  // The texts of final results by the name of their recording.
  std::map<std::string, std::string> texts(const std::string& lines) const {
    std::map<std::string, std::string> found;
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) {
      const Json record = Json::parse(line);
      if (record["type"] != "final") continue;
      std::string& text = found[fs::path(record["source"].get<std::string>()).filename().string()];
      text += (text.empty() ? "" : " ") + record["text"].get<std::string>();
    }
    return found;
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(Speech, ListenAndBatchHearTheSame) {
  const auto listened = call_well({"listen", model(), "--wav", file("a.wav"), "--decision", decision()}).out;
  EXPECT_NE(listened.find("{\"type\":\"partial\""), std::string::npos);
  const auto batched = texts(call_well(batch("jsonl", "-")).out);
  ASSERT_EQ(batched.size(), 2U);
  EXPECT_EQ(texts(listened).at("a.wav"), batched.at("a.wav"));
  EXPECT_EQ(call_well(batch("txt", "-")).out,
            "a " + batched.at("a.wav") + "\nb " + batched.at("b.wav") + "\n");
}

TEST_F(Speech, BatchWritesSubtitlesAndWords) {
  call_well(batch("srt", file("subtitles")));
  EXPECT_EQ(names_in(file("subtitles")), (std::vector<std::string>{"a.srt", "b.srt"}));
  EXPECT_TRUE(read_text(file("subtitles") + "/a.srt").starts_with("1\n00:00:0"));
  call_well(batch("vtt", file("web")));
  EXPECT_TRUE(read_text(file("web") + "/b.vtt").starts_with("WEBVTT\n\n"));
  call_well(batch("ctm", file("words.ctm")));
  const std::string words = read_text(file("words.ctm"));
  EXPECT_TRUE(words.starts_with("a 1 0."));
  EXPECT_NE(words.find("\nb 1 "), std::string::npos);
  EXPECT_NE(read_text(file("words.ctm.index.jsonl")).find("\"type\":\"transcript\""), std::string::npos);
  // A run that goes on where it ended has the same bytes.
  const std::string before = read_text(file("subtitles.index.jsonl"));
  fs::remove(file("subtitles") + "/b.srt");
  auto again = batch("srt", file("subtitles"));
  again.push_back("--resume");
  call_well(again);
  EXPECT_EQ(read_text(file("subtitles.index.jsonl")), before);
  EXPECT_TRUE(fs::exists(file("subtitles") + "/b.srt"));
}

TEST_F(Speech, WordErrorsOfARun) {
  call_well(batch("jsonl", file("run.jsonl")));
  const auto heard = texts(read_text(file("run.jsonl")));
  write_text(file("text.tsv"),
             "a.wav\t" + heard.at("a.wav") + "\tmade here\nb.wav\t" + heard.at("b.wav") + " extra\n");
  const Json score =
      Json::parse(call_well({"score", file("run.jsonl"), "--labels", file("text.tsv"), "--wer"}).out);
  EXPECT_EQ(score["type"], "wer");
  EXPECT_EQ(score["errors"], 1);
  EXPECT_EQ(score["deletions"], 1);
  EXPECT_EQ(score["files"][1]["deletions"], 1);
  const auto table =
      call_well({"score", file("run.jsonl"), "--labels", file("text.tsv"), "--cer", "--table"}).out;
  EXPECT_NE(table.find("95 % interval"), std::string::npos);
  refusal({"score", file("run.jsonl"), "--labels", file("text.tsv"), "--wer", "--cer"},
          "expected --wer or --cer");
}

TEST_F(Speech, RefusesInOneSentence) {
  auto formats = batch("srt", "-");
  refusal(formats, "-o -: --format srt needs a folder");
  refusal({"batch", model(), file("a.wav"), "-o", file("x"), "--give", "outputs", "--format", "ctm"},
          "--format ctm holds text: expected --give events");
  write_text(file("tokens.txt"), "a 0\nb 1\n");
  refusal({"listen", model(), "--wav", file("a.wav"), "--decision", "ctc tokens=" + file("tokens.txt")},
          "tokens.txt: 2 tokens, but infer gives 12 classes");
  write_text(file("words.txt"), "1\neleven\n");
  refusal({"listen", model(), "--wav", file("a.wav"), "--decision",
           decision("mode=beam lexicon=" + file("words.txt"))},
          "words.txt, line 2: \"eleven\" cannot be spelled");
}

}  // namespace
}  // namespace runnel::apps::test
