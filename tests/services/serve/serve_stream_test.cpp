// Streams without a network: what they share, and that sharing changes nothing.
#include <gtest/gtest.h>

#include "services/serve/stream.h"
#include "tests/services/serve/models.h"
#include "tests/services/serve/support.h"

namespace runnel::serve::test {
namespace {

struct Streams {
  explicit Streams(std::size_t count) : shared(count) {
    options.nodes = nodes;
    options.shared = &shared;
  }
  std::unique_ptr<Stream> make(const std::string& around) {
    auto stream = Stream::make(around, {}, options);
    EXPECT_TRUE(stream.ok()) << stream.status().text();
    return stream.ok() ? std::move(*stream) : nullptr;
  }
  Digits digits;
  pipeline::SharedSessions shared;
  std::vector<const pipeline::NodeType*> nodes = served_nodes(pipeline::host_nodes());
  pipeline::GraphOptions options = digits.options();
};

// The model, tables of the front end and the memory of a step exist once: what a stream has of its own is a
// history of sound, features and decisions.
TEST(ServeStream, SharesWhatItDoesNotChange) {
  Streams all(50);
  const std::string around = all.digits.around();
  std::vector<std::unique_ptr<Stream>> streams;
  streams.push_back(all.make(around));
  ASSERT_NE(streams.back(), nullptr);
  const std::size_t once = all.shared.memory_bytes();
  EXPECT_GT(once, 50 * 10'000U) << "sessions of all streams";
  for (int i = 1; i < 50; ++i) streams.push_back(all.make(around));
  EXPECT_EQ(all.shared.memory_bytes(), once);
  EXPECT_LT(streams.back()->memory_bytes(), 16'000U);
}

// Two streams in turn, whose packets have other sizes, give what each gives alone: nothing of one is left to
// the other.
TEST(ServeStream, GivesWhatItGivesAlone) {
  const std::vector<std::int16_t> sounds[] = {sound(3, 1), sound(3, 2)};
  const std::size_t packets[] = {1600, 730};
  std::string alone[2], together[2];
  const auto give = [](Stream& stream, const std::vector<std::int16_t>& samples, std::size_t& at,
                       std::size_t count) {
    const std::size_t taken = std::min(count, samples.size() - at);
    stream.give(std::as_bytes(std::span(samples).subspan(at, taken)));
    at += taken;
  };
  Together steps;
  for (int i = 0; i < 2; ++i) {
    Streams own(1);
    const auto stream = own.make(own.digits.around());
    stream->begin("a", &alone[i]);
    for (std::size_t at = 0; at < sounds[i].size();) {
      give(*stream, sounds[i], at, packets[i]);
      Together::Turn turn(stream.get());
      steps.step({&turn, 1});
      ASSERT_TRUE(turn.status.ok());
    }
    ASSERT_TRUE(stream->end().ok());
    EXPECT_NE(alone[i], "");
  }
  Streams both(2);
  const std::unique_ptr<Stream> streams[] = {both.make(both.digits.around()),
                                             both.make(both.digits.around())};
  std::size_t at[2] = {};
  for (int i = 0; i < 2; ++i) streams[i]->begin("a", &together[i]);
  while (at[0] < sounds[0].size() || at[1] < sounds[1].size()) {
    Together::Turn turns[] = {Together::Turn(streams[0].get()), Together::Turn(streams[1].get())};
    for (int i = 0; i < 2; ++i) give(*streams[i], sounds[i], at[i], packets[i]);
    steps.step(turns);
    for (const Together::Turn& turn : turns) ASSERT_TRUE(turn.status.ok());
  }
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(streams[i]->end().ok());
    EXPECT_EQ(together[i], alone[i]);
  }
}

// What a decoder has heard is the same for clients as in a run, partial results too.
TEST(ServeStream, GivesTheTextOfDecoders) {
  Streams own(1);
  std::string around = own.digits.around();
  around =
      around.substr(0, around.rfind("detect")) + "ctc blank=10 units=words silence_after=0.1 partials=0.05";
  const std::vector<std::int16_t> samples = sound(3, 1);
  std::string expected, found;
  for (const std::string& line : own.digits.offline(samples, "a", around)) expected += line + "\n";
  EXPECT_NE(expected.find("{\"type\":\"partial\""), std::string::npos);
  EXPECT_NE(expected.find("{\"type\":\"final\""), std::string::npos);
  const auto stream = own.make(around);
  ASSERT_NE(stream, nullptr);
  stream->begin("a", &found);
  Together steps;
  for (std::size_t at = 0; at < samples.size(); at += 730) {
    stream->give(
        std::as_bytes(std::span(samples).subspan(at, std::min<std::size_t>(730, samples.size() - at))));
    Together::Turn turn(stream.get());
    steps.step({&turn, 1});
    ASSERT_TRUE(turn.status.ok());
  }
  ASSERT_TRUE(stream->end().ok());
  EXPECT_EQ(found, expected);
}

// Models that are no streams run together too, more of them than there are seats, and give what a run gives.
// Packets have other sizes, some hold several steps, and streams end in the middle of one.
TEST(ServeStream, StepsWindowsAndClipsRunTogether) {
  constexpr std::size_t kStreams = 21;
  for (const UsageKind kind : {UsageKind::step, UsageKind::window, UsageKind::whole}) {
    SCOPED_TRACE(name_of(kind));
    Streams all(kStreams);
    const std::string around =
        "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600 ! infer model=" +
        model_of(kind, all.digits.folder()) +
        " ! detect threshold=0.1 release=0.05 smoothing_frames=1 refractory_frames=1";
    std::vector<std::vector<std::int16_t>> sounds;
    std::vector<std::string> expected(kStreams), found(kStreams);
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<std::size_t> at(kStreams);
    std::size_t events = 0;
    for (std::size_t i = 0; i < kStreams; ++i) {
      sounds.push_back(sound(1 + 0.037 * static_cast<double>(i), static_cast<unsigned>(i)));
      for (const std::string& line : all.digits.offline(sounds[i], "a", around)) {
        expected[i] += line + "\n";
        ++events;
      }
      streams.push_back(all.make(around));
      ASSERT_NE(streams.back(), nullptr);
      streams[i]->begin("a", &found[i]);
    }
    EXPECT_GE(events, kStreams);
    Together steps;
    for (bool any = true; any;) {
      any = false;
      std::vector<Together::Turn> turns;
      for (std::size_t i = 0; i < kStreams; ++i) {
        const std::size_t count = std::min<std::size_t>(300 + 171 * i, sounds[i].size() - at[i]);
        if (count == 0) continue;
        any = true;
        const std::size_t left = streams[i]->waiting() / 2;
        streams[i]->give(std::as_bytes(std::span(sounds[i]).subspan(at[i] - left, left + count)));
        at[i] += count;
        turns.emplace_back(streams[i].get());
      }
      steps.step(turns);
      for (const Together::Turn& turn : turns) ASSERT_TRUE(turn.status.ok()) << turn.status.text();
    }
    for (std::size_t i = 0; i < kStreams; ++i) {
      while (streams[i]->waiting() > 0) {
        Together::Turn turn(streams[i].get());
        steps.step({&turn, 1});
        ASSERT_TRUE(turn.status.ok());
      }
      ASSERT_TRUE(streams[i]->end().ok());
      EXPECT_EQ(found[i], expected[i]) << "stream " << i;
    }
    // One of them once more: nothing is left of what it heard before.
    std::string again;
    streams[4]->begin("a", &again);
    for (std::size_t first = 0; first < sounds[4].size(); first += 1000) {
      streams[4]->give(std::as_bytes(
          std::span(sounds[4]).subspan(first, std::min<std::size_t>(1000, sounds[4].size() - first))));
      Together::Turn turn(streams[4].get());
      steps.step({&turn, 1});
      ASSERT_TRUE(turn.status.ok());
    }
    ASSERT_TRUE(streams[4]->end().ok());
    EXPECT_EQ(again, expected[4]);
  }
}

// Buffers for formats of any number take memory for few sizes.
TEST(ServeStream, SharedBuffersAreFew) {
  pipeline::SharedSessions shared(1);
  std::byte* const first = shared.buffer(0, 1000);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(shared.buffer(0, 1024), first);
  EXPECT_NE(shared.buffer(1, 1000), first);
  for (std::size_t bytes = 1; bytes <= 1 << 16; bytes += 7) EXPECT_NE(shared.buffer(0, bytes), nullptr);
  EXPECT_LT(shared.memory_bytes(), 1U << 18);
}

}  // namespace
}  // namespace runnel::serve::test
