// Decoders of speech as users of the program meet them. The bundled digits take the part of a recogniser: its
// labels are the tokens, and "silence" is the blank. A streaming Zipformer2-CTC, as published but with random
// weights, shows that a recogniser's file and its tokens are all it takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

// ---- streaming Zipformer2-CTC, 66 s of speech

class SpeechZipformer : public testing::Test {
 protected:
  static std::string data(const std::string& name) {
    return (runnel::test::data_folder() / "speech/zipformer" / name).string();
  }
  std::string model() const { return (folder_.path() / "asr.rnl").string(); }
  void make(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"import", data("zipformer2_ctc_random.onnx"), "-o", model()};
    all.insert(all.end(), more.begin(), more.end());
    call_well(all);
  }
  runnel::test::TemporaryFolder folder_;
};

// Partial and final results, without the summary.
std::string results_of(const std::string& lines) {
  return lines.substr(0, lines.find("{\"type\":\"summary\""));
}

// All tokens of sherpa-onnx with its times. It does not run the chunk that the recording's end leaves
// incomplete, so that it ends after 205 chunks of 8 frames. Here zeros complete that chunk and what it looks
// ahead to; with these weights they and the last speech give three tokens more.
void expect_recorded(const std::string& lines, const std::string& recording) {
  constexpr double kFrame = 0.04, kCompleteFrames = 205 * 8;
  // A time is that of the first sample: frames of 25 ms are centred in their 10 ms.
  constexpr double kBeforeFrame = 0.0075;
  const Json recorded = Json::parse(read_text(recording));
  const std::size_t count = recorded["tokens"].size();
  ASSERT_EQ(count, 234U);
  std::vector<Json> found;
  for (const Json& record : json_lines(lines))
    if (record["type"] == "final")
      found.insert(found.end(), record["tokens"].begin(), record["tokens"].end());
  ASSERT_EQ(found.size(), count + 3);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double start = found[i]["start"];
    if (i >= count) {
      EXPECT_GE(start, kCompleteFrames * kFrame - kBeforeFrame - 0.0005);
      continue;
    }
    // Its pieces have a space where tokens.txt has sentencepiece's mark.
    EXPECT_EQ(found[i]["token"].get<std::string>(),
              "\u2581" + recorded["tokens"][i].get<std::string>().substr(1))
        << "token " << i;
    EXPECT_NEAR(start, std::max(0.0, recorded["timestamps"][i].get<double>() - kBeforeFrame), 0.000501)
        << "token " << i;
  }
}

TEST_F(SpeechZipformer, GivesTheTokensOfSherpaOnnx) {
  RUNNEL_NEEDS_DATA();
  make({"--tokens", data("tokens.txt")});
  const std::string run = call_well({"run", "wav path=" + data("speech_66s.flac") +
                                                " ! fbank preset=zipformer ! infer model=" + model() +
                                                " ! ctc tokens=" + data("tokens.txt") + " ! jsonl"})
                              .out;
  expect_recorded(run, data("recorded_result.json"));
  // The file says what comes before the network and after it; blocks are of another size.
  const std::string listened = call_well({"listen", model(), "--wav", data("speech_66s.flac")}).out;
  EXPECT_NE(listened.find("{\"type\":\"partial\""), std::string::npos);
  EXPECT_EQ(results_of(listened), results_of(run));
}

TEST_F(SpeechZipformer, AsksForItsTokens) {
  RUNNEL_NEEDS_DATA();
  make({});
  refusal({"listen", model(), "--wav", data("speech_66s.flac")}, "gives no labels: expected tokens=FILE");
  const std::string few = (folder_.path() / "few.txt").string();
  write_text(few, "<blk> 0\na 1\n");
  refusal({"import", data("zipformer2_ctc_random.onnx"), "-o", model(), "--tokens", few},
          "few.txt: 2 labels for an output of 500 channels");
}

}  // namespace
}  // namespace runnel::apps::test
