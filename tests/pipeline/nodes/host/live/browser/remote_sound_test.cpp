// The sound of browsers: resampled as the node does it, and gaps of the right length.
#include "pipeline/nodes/host/live/browser/remote_sound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "base/host/heap_memory.h"

namespace runnel::pipeline {
namespace {

using std::chrono::milliseconds;
using Samples = std::vector<std::int16_t>;

Samples tone(std::size_t count, int rate = 48000) {
  Samples samples(count);
  for (std::size_t i = 0; i < count; ++i)
    samples[i] =
        static_cast<std::int16_t>(std::lround(9000 * std::sin(0.02 * static_cast<double>(i) * 48000 / rate) +
                                              3000 * std::sin(0.3 * static_cast<double>(i))));
  return samples;
}
std::vector<float> resampled(const Samples& samples, int from, int to) {
  HeapMemory memory;
  features::ResamplerSpec spec;
  spec.in_rate = from;
  spec.out_rate = to;
  auto resampler = features::Resampler::make(spec, best_isa(), memory);
  EXPECT_TRUE(resampler.ok());
  std::vector<float> in(samples.size());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(samples[i]) / 32768;
  std::vector<float> out(resampler->max_outputs(in.size()) + resampler->max_flush_outputs() + 1);
  std::size_t count = resampler->push(in, out).outputs;
  for (std::size_t more = 1; more > 0; count += more) more = resampler->flush(std::span(out).subspan(count));
  out.resize(count);
  return out;
}

// Blocks with the gaps before them.
struct Heard {
  std::vector<float> samples;
  std::vector<std::pair<std::int64_t, std::int64_t>> gaps;  // position, length
};
Heard hear(RemoteSound& sound, std::size_t block = 333) {
  Heard heard;
  std::vector<float> room(block);
  std::int64_t position = 0;
  while (sound.wait(milliseconds(0))) {
    std::int64_t lost = 0;
    const std::size_t count = sound.take(room, lost);
    if (lost > 0) heard.gaps.emplace_back(position, lost);
    position += lost + static_cast<std::int64_t>(count);
    heard.samples.insert(heard.samples.end(), room.begin(),
                         room.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return heard;
}
RemoteSound::Speaker speaker(std::string session, int rate = 48000, std::int64_t first = 0,
                             bool over = false) {
  return {.rate = rate, .session = std::move(session), .first = first, .takes_over = over};
}
const RemoteSound::Time kStart = RemoteSound::Time() + std::chrono::hours(1);

TEST(RemoteSound, IsResampledToTheBit) {
  for (const int rate : {8000, 16000, 22050, 44100, 48000, 96000}) {
    const Samples samples = tone(20000, rate);
    RemoteSound sound(16000);
    const auto turn = sound.begin(speaker("a", rate));
    ASSERT_TRUE(turn.ok()) << turn.status().text();
    std::mt19937 random(1);
    for (std::size_t at = 0; at < samples.size();) {
      const std::size_t count = std::min<std::size_t>(samples.size() - at, 1 + random() % 2000);
      EXPECT_TRUE(sound.push(*turn, std::span(samples).subspan(at, count), kStart));
      at += count;
    }
    EXPECT_TRUE(sound.end(*turn));
    const Heard heard = hear(sound);
    EXPECT_EQ(heard.samples, resampled(samples, rate, 16000)) << rate;
    EXPECT_TRUE(heard.gaps.empty());
  }
}

// The same page comes back: the gap has the length that its numbers say, and what follows lies where it would
// lie without the gap.
TEST(RemoteSound, OfAPageThatComesBackHasAnExactGap) {
  const Samples samples = tone(48000);
  for (const std::int64_t missing : {1, 2, 3, 4, 960, 10000}) {
    RemoteSound sound(16000);
    const auto first = sound.begin(speaker("a"));
    sound.push(*first, std::span(samples).first(9601), kStart);
    sound.end(*first);
    const std::int64_t back = 9601 + missing;
    const auto second = sound.begin(speaker("a", 48000, back));
    ASSERT_TRUE(second.ok());
    sound.push(*second, std::span(samples).subspan(static_cast<std::size_t>(back)),
               kStart + std::chrono::seconds(100));
    sound.end(*second);
    const Heard heard = hear(sound);
    ASSERT_EQ(heard.gaps.size(), 1U);
    const auto [position, lost] = heard.gaps.front();
    EXPECT_EQ(position, 3201);
    // The next output is at a multiple of three samples, and at least one is lost.
    const std::int64_t start = std::max((back + 2) / 3, position + 1);
    EXPECT_EQ(lost, start - position);
    EXPECT_EQ(static_cast<std::int64_t>(heard.samples.size()) + lost, 16000);
    const auto rest = resampled({samples.begin() + 3 * start, samples.end()}, 48000, 16000);
    EXPECT_EQ(std::vector<float>(heard.samples.begin() + position, heard.samples.end()), rest) << missing;
    EXPECT_EQ(sound.facts().exact_lost, lost);
  }
}

TEST(RemoteSound, WithinATurnLosesWhatThePageSays) {
  const Samples samples = tone(30000);
  RemoteSound sound(16000);
  const auto turn = sound.begin(speaker("a"));
  sound.push(*turn, std::span(samples).first(3000), kStart);
  EXPECT_TRUE(sound.lose(*turn, 6000));
  sound.push(*turn, std::span(samples).subspan(9000, 3000), kStart);
  EXPECT_TRUE(sound.lose(*turn, 0));
  EXPECT_TRUE(sound.lose(*turn, -5));
  EXPECT_TRUE(sound.lose(*turn, std::int64_t{1} << 60)) << "at most an hour at once";
  sound.push(*turn, std::span(samples).first(3000), kStart);
  sound.end(*turn);
  const Heard heard = hear(sound);
  ASSERT_EQ(heard.gaps.size(), 2U);
  EXPECT_EQ(heard.gaps[0], (std::pair<std::int64_t, std::int64_t>(1000, 2000)));
  EXPECT_EQ(heard.gaps[1].second, 16000 * 3600);
}

// Another page, or the same one started anew: the clock of this machine says how long the pause was.
TEST(RemoteSound, OfAnotherPageHasAGapByTheClock) {
  const Samples samples = tone(4800);  // 100 ms
  RemoteSound sound(16000);
  const auto first = sound.begin(speaker("a"));
  sound.push(*first, samples, kStart);
  sound.end(*first);
  const auto second = sound.begin(speaker("b", 44100));
  sound.push(*second, std::span(samples).first(4410), kStart + milliseconds(2100));  // 2 s after the last
  EXPECT_TRUE(sound.lose(*second, 441));
  sound.push(*second, samples, kStart + milliseconds(2110));
  sound.end(*second);
  const auto third = sound.begin(speaker("c"));
  sound.push(*third, samples, kStart + milliseconds(2120));  // it cannot have been there before
  const Heard heard = hear(sound);
  ASSERT_EQ(heard.gaps.size(), 3U);
  EXPECT_EQ(heard.gaps[0], (std::pair<std::int64_t, std::int64_t>(1600, 32000)));
  EXPECT_EQ(heard.gaps[1], (std::pair<std::int64_t, std::int64_t>(1600 + 32000 + 1600, 160)));
  EXPECT_EQ(heard.gaps[2].second, 1);
  EXPECT_EQ(sound.facts().estimated_lost, 32001);
  EXPECT_EQ(sound.facts().exact_lost, 160);
}

TEST(RemoteSound, HasOneSpeakerAtATime) {
  const Samples samples = tone(960);
  RemoteSound sound(16000);
  const auto first = sound.begin(speaker("a"));
  EXPECT_TRUE(sound.push(*first, samples, kStart));
  const auto second = sound.begin(speaker("b"));
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().text().find("another page has the microphone"), std::string::npos);
  EXPECT_TRUE(sound.push(*first, samples, kStart));
  const auto over = sound.begin(speaker("b", 48000, 0, true));
  ASSERT_TRUE(over.ok());
  EXPECT_FALSE(sound.push(*first, samples, kStart));
  EXPECT_FALSE(sound.lose(*first, 100));
  EXPECT_FALSE(sound.end(*first)) << "the turn of another one must not end with it";
  EXPECT_TRUE(sound.push(*over, samples, kStart));
  // The same page, whose old connection is half open, needs no permission.
  EXPECT_TRUE(sound.begin(speaker("b", 48000, 5000)).ok());
}

TEST(RemoteSound, RefusesWhatNoMicrophoneIs) {
  RemoteSound sound(16000);
  for (const int rate : {-1, 0, 7999, 16001, 192025, 1 << 30})
    EXPECT_FALSE(sound.begin(speaker("a", rate)).ok()) << rate;
  EXPECT_FALSE(sound.begin(speaker("a", 48000, -1)).ok());
  EXPECT_FALSE(sound.begin(speaker("a", 48000, std::int64_t{1} << 50)).ok());
  EXPECT_FALSE(sound.wait(milliseconds(0)));
}

// Nobody takes the sound: ten seconds are kept, and the rest is counted.
TEST(RemoteSound, KeepsTenSeconds) {
  RemoteSound sound(16000);
  const Samples second = tone(16000, 16000);
  const auto turn = sound.begin(speaker("a", 16000));
  for (int i = 0; i < 15; ++i) sound.push(*turn, second, kStart);
  Heard heard = hear(sound);
  EXPECT_EQ(heard.samples.size(), 159999U) << "the last one waits for its successor";
  EXPECT_EQ(sound.facts().overload_lost, 5 * 16000);
  sound.push(*turn, second, kStart);
  heard = hear(sound);
  ASSERT_EQ(heard.gaps.size(), 1U);
  EXPECT_EQ(heard.gaps.front().second, 5 * 16000);
}

TEST(RemoteSound, GoesFromOneThreadToAnother) {
  RemoteSound sound(16000);
  const Samples samples = tone(960);
  std::thread speaks([&] {
    const auto turn = sound.begin(speaker("a"));
    for (int i = 0; i < 200; ++i) sound.push(*turn, samples, kStart);
    sound.end(*turn);
  });
  std::size_t heard = 0;
  std::vector<float> room(777);
  while (heard < 64000) {
    std::int64_t lost = 0;
    if (!sound.wait(milliseconds(20000))) break;
    heard += sound.take(room, lost);
    EXPECT_EQ(lost, 0);
  }
  speaks.join();
  EXPECT_EQ(heard, 64000U);
}

}  // namespace
}  // namespace runnel::pipeline
