// Outputs of workers that share a queue: continued, merged, refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/host/npy.h"
#include "services/batch/merge.h"
#include "services/batch/queue/queue_output.h"
#include "tests/support/data.h"

namespace runnel::batch::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

JournalHead head_for(OutputFormat format, std::uint32_t call = 1, const std::string& queue = "q of today") {
  JournalHead head{
      .call = call, .shard = {}, .prefix = {}, .timing = false, .format = format, .queue = queue};
  if (format == OutputFormat::npy) head.prefix = array_header({}, 0);
  return head;
}

Recording recording_at(std::int64_t index) {
  Recording recording;
  recording.path = "set/" + std::to_string(index) + ".wav";
  recording.named = 4;
  recording.index = index;
  return recording;
}

Outcome line_outcome(std::int64_t index, const std::string& word = "event") {
  Outcome outcome;
  outcome.counts.events = 1;
  outcome.counts.audio_seconds = 1;
  outcome.records = "{\"type\":\"" + word + "\",\"number\":" + std::to_string(index) + "}\n";
  return outcome;
}

Outcome array_outcome(std::int64_t index, std::int64_t values) {
  Outcome outcome;
  const RowShape shape{DType::float32, values};
  const std::vector<float> row(static_cast<std::size_t>(values), static_cast<float>(index));
  outcome.records.assign(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float));
  outcome.index = array_line("set/" + std::to_string(index) + ".wav", std::to_string(index), 1, shape, 100);
  return outcome;
}

class QueueOutputTest : public testing::Test {
 protected:
  fs::path file(const std::string& name) const { return folder_.path() / name; }
  // An output with these places of the queue, complete if `total` is not -1.
  void write(const std::string& name, const std::vector<std::int64_t>& places, std::int64_t total,
             const JournalHead& head = head_for(OutputFormat::jsonl)) {
    auto output = QueueOutput::open(file(name), head);
    ASSERT_TRUE(output.ok()) << output.status().text();
    for (const std::int64_t place : places) {
      ASSERT_TRUE(output
                      ->append(recording_at(place), head.format == OutputFormat::npy ? array_outcome(place, 3)
                                                                                     : line_outcome(place))
                      .ok());
    }
    ASSERT_TRUE(output->sync().ok());
    if (total >= 0) {
      ASSERT_TRUE(output->finish(total).ok());
    }
  }
  Result<std::string> merged(const std::vector<std::string>& names) {
    std::vector<fs::path> paths;
    for (const std::string& name : names) paths.push_back(file(name));
    std::string text;
    index_.clear();
    RUNNEL_ASSIGN(const Merged all, merge(
                                        paths,
                                        [&](std::string_view some) {
                                          text += some;
                                          return Status();
                                        },
                                        [&](OutputFormat, std::string_view line, std::int64_t at) {
                                          index_ += std::to_string(at) + ' ' + std::string(line) + '\n';
                                          return Status();
                                        }));
    totals_ = all.totals;
    return text;
  }
  std::string refused(const std::vector<std::string>& names) {
    const auto text = merged(names);
    EXPECT_FALSE(text.ok());
    return std::string(text.status().text());
  }
  runnel::test::TemporaryFolder folder_;
  std::string index_;
  Totals totals_;
};

TEST_F(QueueOutputTest, AnyOrderAndAnyDoublesGiveTheSameBytes) {
  write("one", {0, 1, 2, 3, 4, 5}, 6);
  write("a", {5, 0, 3}, 6);
  write("b", {4, 3, 1, 0}, 6);
  write("c", {2, 4}, -1);  // of a worker that is dead
  const auto one = merged({"one"});
  ASSERT_TRUE(one.ok()) << one.status().text();
  EXPECT_EQ(totals_.recordings, 6);
  EXPECT_EQ(*one, read(file("one")));
  for (const auto& names :
       {std::vector<std::string>{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a", "one"}}) {
    const auto text = merged(names);
    ASSERT_TRUE(text.ok()) << text.status().text();
    EXPECT_EQ(*text, *one);
  }
  EXPECT_THAT(refused({"a", "b"}), HasSubstr("1 of 6 recordings of queue q of today are in none of these "
                                             "outputs, by their place in the queue: 3"));
  EXPECT_THAT(refused({"c"}), HasSubstr("none of these workers saw its end"));
  EXPECT_THAT(refused({"a", "nowhere"}), HasSubstr("nowhere: there is no such file"));
}

TEST_F(QueueOutputTest, GoesOnAfterAnyEnd) {
  write("whole", {0, 1, 2, 3}, 4);
  const std::string part = [&] {
    write("a", {0, 1, 2}, -1);
    return read(file("a.part"));
  }();
  const std::string journal = read(file("a.journal"));
  // Cut anywhere, as a power failure may leave it: what is whole in both files stays.
  std::size_t lost = 0;
  for (const std::size_t bytes :
       {part.size(), part.size() - 1, part.size() / 2, std::size_t{1}, std::size_t{0}}) {
    for (const std::size_t lines : {journal.size(), journal.size() - 1, journal.size() - 40}) {
      std::ofstream(file("a.part"), std::ios::binary) << part.substr(0, bytes);
      std::ofstream(file("a.journal"), std::ios::binary) << journal.substr(0, lines);
      auto output = QueueOutput::open(file("a"), head_for(OutputFormat::jsonl));
      ASSERT_TRUE(output.ok()) << output.status().text();
      lost += static_cast<std::size_t>(3 - output->before());
      for (std::int64_t place = 0; place < 4; ++place) {
        if (output->has(place)) continue;
        ASSERT_TRUE(output->append(recording_at(place), line_outcome(place)).ok());
      }
      ASSERT_TRUE(output->finish(4).ok());
      EXPECT_EQ(read(file("a")), read(file("whole"))) << bytes << " " << lines;
      fs::remove(file("a"));
    }
  }
  EXPECT_GT(lost, 10U);
}

TEST_F(QueueOutputTest, ACompleteOneGrowsWithItsQueue) {
  write("a", {1, 0}, 2);
  write("a", {2}, 3);
  write("whole", {0, 1, 2}, 3);
  EXPECT_FALSE(fs::exists(file("a.part")));
  EXPECT_EQ(*merged({"a"}), read(file("whole")));
  EXPECT_EQ(totals_.recordings, 3);
}

TEST_F(QueueOutputTest, ArraysHaveTheRowsThatAreTaken) {
  write("one.npy", {0, 1, 2}, 3, head_for(OutputFormat::npy));
  write("a.npy", {2, 1}, 3, head_for(OutputFormat::npy));
  write("b.npy", {1, 0}, -1, head_for(OutputFormat::npy));
  const auto one = merged({"one.npy"});
  ASSERT_TRUE(one.ok()) << one.status().text();
  EXPECT_EQ(*one, read(file("one.npy")));
  const std::string index = index_;
  const auto text = merged({"a.npy", "b.npy"});
  ASSERT_TRUE(text.ok()) << text.status().text();
  EXPECT_EQ(*text, *one);
  EXPECT_EQ(index_, index);
  const auto header = parse_npy_header(*text, text->size(), "merged");
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->shape[0], 3);
  // Another width in another worker's output.
  auto other = QueueOutput::open(file("c.npy"), head_for(OutputFormat::npy));
  ASSERT_TRUE(other->append(recording_at(0), array_outcome(0, 4)).ok());
  ASSERT_TRUE(other->finish(3).ok());
  EXPECT_THAT(refused({"a.npy", "c.npy"}), HasSubstr("has rows that are not of"));
}

TEST_F(QueueOutputTest, GoodResultsGoBeforeFailuresAndMustBeEqual) {
  write("a", {0}, 2);
  auto failed = QueueOutput::open(file("b"), head_for(OutputFormat::jsonl));
  for (const std::int64_t place : {0, 1}) {
    Outcome outcome;
    add_error(outcome, "set/x.wav", Status(Code::not_found, "there is no such file"));
    ASSERT_TRUE(failed->append(recording_at(place), outcome).ok());
  }
  ASSERT_TRUE(failed->finish(2).ok());
  const auto text = merged({"b", "a"});
  ASSERT_TRUE(text.ok()) << text.status().text();
  EXPECT_TRUE(text->starts_with(line_outcome(0).records + "{\"type\":\"error\"")) << *text;
  EXPECT_EQ(totals_.failures, 1);
  auto other = QueueOutput::open(file("c"), head_for(OutputFormat::jsonl));
  ASSERT_TRUE(other->append(recording_at(0), line_outcome(0, "another")).ok());
  ASSERT_TRUE(other->finish(2).ok());
  EXPECT_THAT(refused({"b", "a", "c"}), HasSubstr("different results of recording 1 of the queue"));
}

TEST_F(QueueOutputTest, WhatIsOfAnotherRunIsRefused) {
  write("a", {0}, 1);
  write("b", {0}, 1, head_for(OutputFormat::jsonl, 2));
  write("c", {0}, 1, head_for(OutputFormat::jsonl, 1, "q of yesterday"));
  EXPECT_THAT(refused({"a", "b"}), HasSubstr("another call"));
  EXPECT_THAT(refused({"a", "c"}), HasSubstr("is of queue q of yesterday"));
  for (const JournalHead& head :
       {head_for(OutputFormat::jsonl, 2), head_for(OutputFormat::jsonl, 1, "q of yesterday")})
    EXPECT_EQ(QueueOutput::open(file("a"), head).status().code(), Code::mismatch);
  // Two workers with one output.
  const auto first = QueueOutput::open(file("d"), head_for(OutputFormat::jsonl));
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(std::string(QueueOutput::open(file("d"), head_for(OutputFormat::jsonl)).status().text()),
              HasSubstr("another run is writing it"));
  // Changed since.
  const std::size_t bytes = read(file("a")).size();
  std::ofstream(file("a"), std::ios::binary) << std::string(bytes, 'x');
  EXPECT_THAT(refused({"a"}), HasSubstr("has changed since its journal was written"));
}

TEST_F(QueueOutputTest, TwoRecordingsWithOneKeyAreRefused) {
  auto output = QueueOutput::open(file("a.txt"), head_for(OutputFormat::txt));
  ASSERT_TRUE(output.ok()) << output.status().text();
  for (const std::int64_t place : {0, 1}) {
    Recording recording = recording_at(place);
    recording.id = "same";
    Outcome outcome;
    outcome.records = "same word\n";
    outcome.index = R"({"type":"rows","source":"x","rows":1})";
    ASSERT_TRUE(output->append(recording, outcome).ok());
  }
  ASSERT_TRUE(output->finish(2).ok());
  EXPECT_THAT(refused({"a.txt"}), HasSubstr("recordings 1 and 2 of the queue would both become same"));
}

}  // namespace
}  // namespace runnel::batch::test
