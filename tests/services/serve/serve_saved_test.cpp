// Streams that are saved and go on elsewhere: what follows is what would have followed.
#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "services/serve/stream.h"
#include "tests/services/serve/models.h"
#include "tests/services/serve/support.h"

namespace runnel::serve::test {
namespace {

constexpr Seal kSeal{"RNLTEST1", 7};

// What a worker has: streams that step together.
struct Worker {
  Worker(std::size_t count, const pipeline::GraphOptions& base) : shared(count), options(base) {
    options.nodes = nodes;
    options.shared = &shared;
  }
  std::unique_ptr<Stream> make(const std::string& around) {
    auto stream = Stream::make(around, {}, options);
    EXPECT_TRUE(stream.ok()) << stream.status().text();
    return stream.ok() ? std::move(*stream) : nullptr;
  }
  pipeline::SharedSessions shared;
  std::vector<const pipeline::NodeType*> nodes = served_nodes(pipeline::host_nodes());
  pipeline::GraphOptions options;
};

// One piece of a recording: samples from `at`, after a gap where `lost` is not 0.
struct Piece {
  std::size_t at = 0, count = 0;
  std::int64_t lost = 0;
};

std::vector<Piece> pieces_of(std::size_t samples, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Piece> all;
  for (std::size_t at = 0; at < samples;) {
    Piece piece{at, std::min<std::size_t>(1 + random() % 1600, samples - at), 0};
    if (random() % 9 == 0) piece.lost = 1 + random() % 5000;
    at += piece.count;
    all.push_back(piece);
  }
  return all;
}

void give(Together& steps, Stream& stream, const std::vector<std::int16_t>& samples, const Piece& piece) {
  if (piece.lost > 0) stream.lose(piece.lost);
  stream.give(std::as_bytes(std::span(samples).subspan(piece.at, piece.count)));
  while (stream.waiting() > 0) {
    Together::Turn turn(&stream);
    steps.step({&turn, 1});
    ASSERT_TRUE(turn.status.ok()) << turn.status.text();
  }
}

std::vector<std::byte> saved(Stream& stream) {
  std::vector<std::byte> bytes(stream.saved_bytes());
  const Status status = stream.save(bytes, kSeal);
  EXPECT_TRUE(status.ok()) << status.text();
  return bytes;
}

TEST(ServeSaved, GoesOnElsewhere) {
  Digits digits;
  const pipeline::GraphOptions options = digits.options();
  const std::string front = "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600";
  const std::string decision = " ! detect threshold=0.1 release=0.05 smoothing_frames=1 refractory_frames=1";
  std::vector<std::string> graphs = {digits.around(), digits.around(front, 4)};
  for (const UsageKind kind : {UsageKind::step, UsageKind::window, UsageKind::whole})
    graphs.push_back(front + " ! infer model=" + model_of(kind, digits.folder()) + decision);
  const std::string around = digits.around();
  graphs.push_back(around.substr(0, around.rfind("detect")) +
                   "ctc blank=10 units=words silence_after=0.1 partials=0.05");
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    SCOPED_TRACE(graphs[g]);
    const std::vector<std::int16_t> samples = sound(3, static_cast<unsigned>(g + 1));
    const std::vector<Piece> pieces = pieces_of(samples.size(), static_cast<unsigned>(g));
    Together steps;
    std::string expected;
    {
      Worker alone(1, options);
      const auto stream = alone.make(graphs[g]);
      ASSERT_NE(stream, nullptr);
      ASSERT_TRUE(stream->saveable().ok()) << stream->saveable().text();
      stream->begin("a", &expected);
      for (const Piece& piece : pieces) give(steps, *stream, samples, piece);
      ASSERT_TRUE(stream->end().ok());
      EXPECT_NE(expected, "");
    }
    // Two workers; the stream goes from one to the other after each few pieces, where something else ran.
    Worker first(3, options), second(3, options);
    Worker* const workers[] = {&first, &second};
    std::unique_ptr<Stream> streams[2], others[2];
    std::string found, noise;
    for (int i = 0; i < 2; ++i) {
      streams[i] = workers[i]->make(graphs[g]);
      others[i] = workers[i]->make(graphs[g]);
      ASSERT_TRUE(streams[i] != nullptr && others[i] != nullptr);
      others[i]->begin("other", &noise);
    }
    streams[0]->begin("a", &found);
    int at = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (i % 3 == 2) {
        const std::vector<std::byte> state = saved(*streams[at]);
        EXPECT_EQ(saved(*streams[at]), state) << "saving changes nothing";
        at = 1 - at;
        give(steps, *others[at], samples, pieces[i]);
        streams[at]->begin("a", &found);
        const Status status = streams[at]->restore(state, kSeal);
        ASSERT_TRUE(status.ok()) << status.text();
        EXPECT_EQ(saved(*streams[at]), state) << "the same state has the same bytes";
      }
      give(steps, *streams[at], samples, pieces[i]);
    }
    ASSERT_TRUE(streams[at]->end().ok());
    EXPECT_EQ(found, expected);
  }
}

// Bytes of another program, cut or changed ones are refused; a stream is never left in between.
TEST(ServeSaved, ForeignBytesAreRefused) {
  Digits digits;
  Worker worker(2, digits.options());
  const auto stream = worker.make(digits.around()), fresh = worker.make(digits.around());
  ASSERT_TRUE(stream != nullptr && fresh != nullptr);
  const std::vector<std::int16_t> samples = sound(2, 5);
  std::string text, other;
  Together steps;
  stream->begin("a", &text);
  fresh->begin("a", &other);
  const Piece first{0, 16000, 0};
  give(steps, *fresh, samples, first);
  const std::string beginning = std::exchange(other, {});
  EXPECT_NE(beginning, "");
  for (const Piece& piece : pieces_of(samples.size(), 5)) give(steps, *stream, samples, piece);
  const std::vector<std::byte> state = saved(*stream);
  EXPECT_EQ(stream->restore(state, {kSeal.magic, 8}).code(), Code::mismatch);
  EXPECT_EQ(stream->restore(state, {"RNLTEST2", 7}).code(), Code::invalid_data);
  EXPECT_EQ(saved(*stream), state);
  for (std::size_t size = 0; size < state.size(); size += 97)
    EXPECT_FALSE(stream->restore(std::span(state).first(size), kSeal).ok()) << size;
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> forged = state;
    for (std::uint32_t k = 0; k <= random() % 4; ++k)
      forged[kSealBytes + random() % (forged.size() - kSealBytes)] ^=
          static_cast<std::byte>(1 + random() % 255);
    seal(forged, kSeal);  // a right checksum
    const Status status = fresh->restore(forged, kSeal);
    if (status.ok()) {
      give(steps, *fresh, samples, {0, 1600, 0});
    } else {
      if (++refused % 50 != 1) continue;
      other.clear();
      give(steps, *fresh, samples, first);
      EXPECT_EQ(other, beginning) << "it was at its start";
    }
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace runnel::serve::test
