// Recordings through reused graphs, and long ones in pieces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sndfile.h>

#include <fstream>

#include "services/batch/graph_worker.h"
#include "services/batch/pieces.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::batch::test {
namespace {

using pipeline::test::make_samples;
using pipeline::test::write_recording;
using testing::HasSubstr;

class GraphWorkerTest : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  static Recording of(const std::string& path) {
    auto recording = parse_recording(path);
    look_at(*recording);
    return *recording;
  }
  static pipeline::GraphOptions options() {
    pipeline::GraphOptions options;
    options.insert_conversions = true;
    options.tick = 8192;
    return options;
  }
  std::string write(const std::string& name, std::size_t frames, int rate, int channels = 1,
                    int format = 0) const {
    write_recording(file(name),
                    make_samples(frames * static_cast<std::size_t>(channels), static_cast<unsigned>(frames)),
                    rate, channels, format);
    return file(name);
  }
  runnel::test::TemporaryFolder folder_;
};

// Everything that a front end can remember has to be forgotten between two recordings.
TEST_F(GraphWorkerTest, AGraphThatIsUsedAgainGivesWhatANewOneGives) {
  std::vector<std::string> paths;
  for (const int i : {0, 1, 2, 3, 4, 5})
    paths.push_back(write(std::to_string(i) + ".wav", static_cast<std::size_t>(3000 + 1711 * i),
                          i % 3 == 0 ? 8000 : 16000, i % 4 == 1 ? 2 : 1));
  for (const char* front :
       {"fbank preset=kaldi", "fbank preset=kaldi dither=1", "fbank preset=whisper",
        "fbank preset=kaldi snip_edges=false kind=mfcc", "microfrontend preset=microfrontend",
        "fbank preset=kaldi ! deltas", "fbank preset=kaldi ! stack"}) {
    SCOPED_TRACE(front);
    const std::string behind = std::string(front) + " ! frame_rows to=npy";
    GraphWorker one(behind, {}, options());
    for (int round = 0; round < 2; ++round) {
      for (const std::string& path : paths) {
        GraphWorker fresh(behind, {}, options());
        const Outcome again = one.process(of(path)), alone = fresh.process(of(path));
        ASSERT_EQ(again.counts.code, Code::ok) << again.records;
        EXPECT_TRUE(again.records == alone.records) << path;
        EXPECT_EQ(again.index, alone.index);
        EXPECT_EQ(again.counts.audio_seconds, alone.counts.audio_seconds);
      }
    }
    EXPECT_EQ(one.graphs_made(), 3) << "8 kHz, 16 kHz, and two channels";
  }
}

TEST_F(GraphWorkerTest, FailuresLeaveNothingBehindInTheGraph) {
  const std::string good = write("good.wav", 9000, 16000), behind = "fbank preset=kaldi ! frame_rows to=npy";
  write("cut.wav", 9000, 16000, 1, SF_FORMAT_FLAC | SF_FORMAT_PCM_16);
  std::filesystem::resize_file(file("cut.wav"), std::filesystem::file_size(file("cut.wav")) / 2);
  GraphWorker worker(behind, {}, options());
  const Outcome before = worker.process(of(good)), cut = worker.process(of(file("cut.wav"))),
                after = worker.process(of(good));
  EXPECT_EQ(cut.counts.code, Code::invalid_data);
  EXPECT_THAT(cut.records, HasSubstr("{\"type\":\"error\",\"source\":"));
  EXPECT_THAT(cut.records, HasSubstr("\"reason\":\"wav: "));
  EXPECT_TRUE(before.records == after.records);
}

TEST_F(GraphWorkerTest, PiecesGiveTheBitsOfTheWhole) {
  const std::vector<std::string> paths = {
      write("a.wav", 16000 * 9 + 77, 16000), write("b.wav", 8000 * 11 + 3, 8000),
      write("c.wav", 44100 * 8 + 1, 44100, 2),
      write("d.flac", 48000 * 7, 48000, 1, SF_FORMAT_FLAC | SF_FORMAT_PCM_16)};
  for (const char* front : {"fbank preset=kaldi", "fbank preset=kaldi snip_edges=false",
                            "fbank preset=kaldi frame_shift=12.5 kind=mfcc ! cmvn mean=1 deviation=2"}) {
    for (const double seconds : {1.0, 2.37}) {
      for (const std::string& path : paths) {
        SCOPED_TRACE(std::string(front) + " " + path + " " + std::to_string(seconds));
        const std::string behind = std::string(front) + " ! frame_rows to=npy";
        const SourceOptions sources{.wav = {}, .csv = {}, .npy = {}, .raw = {}, .tail = 0.31};
        GraphWorker whole(behind, sources, options());
        SpareThreads spare;
        spare.give(2);
        GraphWorker split(behind, sources, options(), {front, "pieces ! frame_rows to=npy", &spare, seconds});
        const Outcome expected = whole.process(of(path)), found = split.process(of(path));
        EXPECT_EQ(expected.counts.code, Code::ok) << expected.records;
        EXPECT_TRUE(found.records == expected.records);
        EXPECT_EQ(found.index, expected.index);
        EXPECT_NEAR(found.counts.audio_seconds, expected.counts.audio_seconds, 1e-9);
        EXPECT_EQ(split.split(), 1);
        EXPECT_EQ(spare.take(5), 2) << "they were given back";
      }
    }
  }
}

TEST_F(GraphWorkerTest, WhatRemembersEverythingIsNotSplit) {
  const std::string path = write("a.wav", 16000 * 5, 16000),
                    lossy = write("b.ogg", 16000 * 5, 16000, 1, SF_FORMAT_OGG | SF_FORMAT_VORBIS);
  SpareThreads spare;
  for (const char* front : {"microfrontend preset=microfrontend", "fbank preset=kaldi dither=1",
                            "fbank preset=whisper", "fbank preset=kaldi ! cmvn mode=utterance"}) {
    SCOPED_TRACE(front);
    GraphWorker worker(std::string(front) + " ! frame_rows to=npy", {}, options(),
                       {front, "pieces ! frame_rows to=npy", &spare, 1});
    (void)worker.process(of(path));
    EXPECT_EQ(worker.split(), 0);
  }
  GraphWorker worker("fbank preset=kaldi ! frame_rows to=npy", {}, options(),
                     {"fbank preset=kaldi", "pieces ! frame_rows to=npy", &spare, 1});
  EXPECT_EQ(worker.process(of(lossy)).counts.code, Code::ok);
  EXPECT_EQ(worker.split(), 0) << "nothing says that samples of this encoding are found exactly";
  EXPECT_EQ(worker.process(of(path)).counts.code, Code::ok);
  EXPECT_EQ(worker.split(), 1);
}

// A long recording that fails in the middle fails as without splitting.
TEST_F(GraphWorkerTest, AFailureInAPieceIsThatOfTheWhole) {
  const std::string path = write("a.flac", 16000 * 9, 16000, 1, SF_FORMAT_FLAC | SF_FORMAT_PCM_16);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) * 2 / 3);
  SpareThreads spare;
  const std::string behind = "fbank preset=kaldi ! frame_rows to=npy";
  GraphWorker whole(behind, {}, options()),
      split(behind, {}, options(), {"fbank preset=kaldi", "pieces ! frame_rows to=npy", &spare, 1});
  const Outcome expected = whole.process(of(path)), found = split.process(of(path));
  EXPECT_EQ(expected.counts.code, Code::invalid_data);
  EXPECT_EQ(found.records, expected.records);
  EXPECT_EQ(found.counts.audio_seconds, expected.counts.audio_seconds);
}

}  // namespace
}  // namespace runnel::batch::test
