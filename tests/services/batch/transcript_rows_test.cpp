#include "services/batch/transcript_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "services/batch/graph_worker.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::batch::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kRate = 1000;

// Words of half a second each.
std::vector<SpokenWord> utterance(std::int64_t start, const std::vector<std::string>& words) {
  std::vector<SpokenWord> spoken;
  for (const std::string& word : words) {
    spoken.push_back({word, start, start + 500, 0.75F});
    start += 500;
  }
  return spoken;
}

TEST(TranscriptText, SubtitlesHaveNumbersAndTimes) {
  const std::vector<std::vector<SpokenWord>> two = {utterance(1250, {"turn", "on"}),
                                                    utterance(3723456, {"a<b", "&"})};
  EXPECT_EQ(transcript_text(two, OutputFormat::srt, "k", kRate),
            "1\n00:00:01,250 --> 00:00:02,250\nturn on\n\n2\n01:02:03,456 --> 01:02:04,456\na<b &\n\n");
  EXPECT_EQ(
      transcript_text(two, OutputFormat::vtt, "k", kRate),
      "WEBVTT\n\n00:00:01.250 --> 00:00:02.250\nturn on\n\n01:02:03.456 --> 01:02:04.456\na&lt;b &amp;\n\n");
  EXPECT_EQ(transcript_text({}, OutputFormat::srt, "k", kRate), "");
  EXPECT_EQ(transcript_text({}, OutputFormat::vtt, "k", kRate), "WEBVTT\n\n");
}

TEST(TranscriptText, LongUtterancesAreCutBetweenWords) {
  // 7 seconds are 14 words; 84 characters are 10 words of 7 letters and 9 spaces, as 79 fit and 87 do not.
  const std::string by_time =
      transcript_text({utterance(0, std::vector<std::string>(15, "a"))}, OutputFormat::srt, "k", kRate);
  EXPECT_THAT(by_time, StartsWith("1\n00:00:00,000 --> 00:00:07,000\na a a a a a a a a a a a a "
                                  "a\n\n2\n00:00:07,000 --> 00:00:07,500\na\n\n"));
  const std::string by_length =
      transcript_text({utterance(0, std::vector<std::string>(11, "üüüüüüü"))}, OutputFormat::srt, "k", kRate);
  EXPECT_THAT(by_length, HasSubstr("2\n00:00:05,000 --> 00:00:05,500\n")) << "characters, not bytes";
}

TEST(TranscriptText, WordsAndLines) {
  const std::vector<std::vector<SpokenWord>> two = {utterance(1250, {"turn", "on it"}),
                                                    utterance(4000, {"now"})};
  EXPECT_EQ(transcript_text(two, OutputFormat::ctm, "a/b", kRate),
            "a/b 1 1.250 0.500 turn 0.7500\na/b 1 1.750 0.500 on_it 0.7500\na/b 1 4.000 0.500 now 0.7500\n");
  EXPECT_EQ(transcript_text(two, OutputFormat::txt, "a/b", kRate), "a/b turn on it now\n");
  EXPECT_EQ(transcript_text({}, OutputFormat::txt, "a/b", kRate), "a/b\n") << "silence has a line too";
}

// A front end in place of a recogniser: what it says means nothing, but it is always the same.
class TranscriptRowsTest : public testing::Test {
 protected:
  TranscriptRowsTest() {
    std::string tokens = "<blk>\n";
    for (int i = 1; i < 80; ++i) tokens += "▁w" + std::to_string(i) + "\n";
    std::ofstream(file("t.txt")) << tokens;
    pipeline::test::write_recording(file("a.wav"), pipeline::test::make_samples(20000));
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  Outcome process(const std::string& sink) {
    pipeline::GraphOptions options;
    options.insert_conversions = true;
    GraphWorker worker("fbank preset=kaldi num_mel_bins=80 ! ctc tokens=" + file("t.txt") + " ! " + sink, {},
                       options);
    auto recording = parse_recording(file("a.wav"));
    look_at(*recording);
    recording->named = recording->path.rfind('/') + 1;
    return worker.process(*recording);
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(TranscriptRowsTest, GivesTheWordsOfARecording) {
  const Outcome text = process("transcript_rows to=txt"), words = process("transcript_rows to=ctm");
  ASSERT_EQ(text.counts.code, Code::ok) << text.records;
  EXPECT_THAT(text.records, StartsWith("a w"));
  EXPECT_THAT(text.index, HasSubstr("\"type\":\"transcript\""));
  EXPECT_THAT(text.index, HasSubstr("\"key\":\"a\""));
  const auto spaces = std::count(text.records.begin(), text.records.end(), ' '),
             lines = std::count(words.records.begin(), words.records.end(), '\n');
  EXPECT_GT(lines, 3);
  EXPECT_EQ(spaces, lines) << "as many words in both";
  EXPECT_THAT(process("event_rows").records, HasSubstr(",w"));
}

TEST_F(TranscriptRowsTest, WritesAFileOfSubtitles) {
  const Outcome outcome = process("transcript_rows to=vtt folder=" + file("subtitles"));
  ASSERT_EQ(outcome.counts.code, Code::ok) << outcome.records;
  EXPECT_THAT(outcome.records, HasSubstr("\"file\":\"subtitles/a.vtt\""));
  const std::string text = pipeline::test::read_text(file("subtitles") + "/a.vtt");
  EXPECT_THAT(text, StartsWith("WEBVTT\n\n00:0"));
  EXPECT_THAT(outcome.records, HasSubstr("\"bytes\":" + std::to_string(text.size()) + "}"));
}

// The decision of another node: its labels are words.
TEST_F(TranscriptRowsTest, TakesLabelsOfOtherDecisions) {
  std::string labels = "w0";
  for (int i = 1; i < 80; ++i) labels += ",w" + std::to_string(i);
  pipeline::GraphOptions options;
  GraphWorker worker(
      "fbank preset=kaldi num_mel_bins=80 ! detect mode=clip labels=" + labels + " ! transcript_rows to=txt",
      {}, options);
  auto recording = parse_recording(file("a.wav"));
  look_at(*recording);
  EXPECT_THAT(worker.process(*recording).records, HasSubstr(" w"));
}

}  // namespace
}  // namespace runnel::batch::test
