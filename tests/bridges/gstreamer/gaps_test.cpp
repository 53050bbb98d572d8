// Time: gaps, seeks, flushes, segments, streams that begin again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "library/runnel_host.h"
#include "tests/bridges/gstreamer/harness.h"
#include "tests/bridges/sound.h"

namespace runnel::bridges::test {
namespace {

using Samples = std::vector<std::int16_t>;

Samples part(const Samples& all, std::size_t from, std::size_t to) {
  return {all.begin() + static_cast<std::ptrdiff_t>(from), all.begin() + static_cast<std::ptrdiff_t>(to)};
}

GstClockTime at(std::size_t sample) { return gst_util_uint64_scale_round(sample, GST_SECOND, 16000); }

// What the library says about pieces with lost samples before each.
std::string library_hears(const std::vector<std::pair<std::uint64_t, Samples>>& pieces) {
  runnel_program* program = nullptr;
  runnel_node* node = nullptr;
  EXPECT_EQ(runnel_load_file(digits().c_str(), (std::string("decision='") + kEager + "'").c_str(), &program),
            RUNNEL_OK);
  EXPECT_EQ(runnel_prepare(program, nullptr, &node), RUNNEL_OK);
  for (const auto& [lost, samples] : pieces) {
    EXPECT_EQ(runnel_lost(node, lost), RUNNEL_OK);
    EXPECT_EQ(runnel_push_int16(node, samples.data(), samples.size()), RUNNEL_OK);
  }
  EXPECT_EQ(runnel_end(node), RUNNEL_OK);
  std::string lines;
  runnel_event event;
  while (runnel_poll(node, &event) == 1) lines += std::string(runnel_line(node)) + "\n";
  runnel_close(node);
  runnel_release(program);
  return lines;
}

guint64 lost_of(const Harness& harness) {
  guint64 lost = 0;
  g_object_get(harness.element(), "lost-samples", &lost, nullptr);
  return lost;
}

TEST(GstGaps, AJumpOfTheTimeIsAGapOfTheExactLength) {
  const Samples all = tones(6), before = part(all, 0, 40000), after = part(all, 48007, all.size());
  const std::string expected = library_hears({{0, before}, {8007, after}});
  ASSERT_FALSE(expected.empty());
  Harness harness;
  EXPECT_EQ(harness.push(before), GST_FLOW_OK);
  EXPECT_EQ(harness.push(after, at(48007)), GST_FLOW_OK);
  harness.end();
  EXPECT_EQ(lost_of(harness), 8007U);
  EXPECT_EQ(harness.lines(), expected);
}

TEST(GstGaps, AGapEventIsTheSameGap) {
  const Samples all = tones(6), before = part(all, 0, 40000), after = part(all, 48007, all.size());
  Harness harness;
  EXPECT_EQ(harness.push(before), GST_FLOW_OK);
  EXPECT_TRUE(harness.send(gst_event_new_gap(at(40000), at(4000))));
  EXPECT_TRUE(harness.send(gst_event_new_gap(at(44000), at(48007) - at(44000))));
  EXPECT_EQ(harness.push(after, at(48007)), GST_FLOW_OK);
  harness.end();
  EXPECT_EQ(lost_of(harness), 8007U);
  EXPECT_EQ(harness.lines(), library_hears({{0, before}, {8007, after}}));
}

TEST(GstGaps, GapsCanBecomeSilenceOfTheExactLength) {
  const Samples all = tones(6);
  Samples silent = all;
  std::fill(silent.begin() + 40000, silent.begin() + 60013, 0);
  const std::string expected = program_hears(silent);
  for (const bool event : {false, true}) {
    Harness harness(Properties{{"on-gap", "zeros"}});
    EXPECT_EQ(harness.push(part(all, 0, 40000)), GST_FLOW_OK);
    if (event) {
      EXPECT_TRUE(harness.send(gst_event_new_gap(at(40000), at(60013) - at(40000))));
    }
    EXPECT_EQ(harness.push(part(all, 60013, all.size()), at(60013)), GST_FLOW_OK);
    harness.end();
    EXPECT_EQ(harness.lines(), expected) << event;
  }
  // Silence at the end is part of the stream.
  Samples longer = all;
  longer.resize(all.size() + 16000);
  Harness harness(Properties{{"on-gap", "zeros"}});
  EXPECT_EQ(harness.push(all), GST_FLOW_OK);
  EXPECT_TRUE(harness.send(gst_event_new_gap(at(all.size()), GST_SECOND)));
  harness.end();
  EXPECT_EQ(harness.lines(), program_hears(longer));
}

TEST(GstGaps, AFewSamplesCountOnlyWhereABufferIsMarked) {
  const Samples all = tones(4);
  for (const bool marked : {false, true}) {
    Harness harness;
    EXPECT_EQ(harness.push(part(all, 0, 16000)), GST_FLOW_OK);
    const Samples rest = part(all, 16000, all.size());
    EXPECT_EQ(harness.push(rest.data(), rest.size(), 2, at(16010), 160, 16000, marked), GST_FLOW_OK);
    harness.end();
    EXPECT_EQ(lost_of(harness), marked ? 10U : 0U);
    EXPECT_EQ(harness.lines(),
              marked ? library_hears({{0, part(all, 0, 16000)}, {10, rest}}) : program_hears(all));
  }
}

TEST(GstGaps, AClockThatDriftsMakesNoGapsAndTimesFollowIt) {
  const Samples all = tones(6);
  Harness harness;
  // Each buffer is 1 ms late: 0.6 s at the end, more than any tolerance of a single jump.
  for (std::size_t i = 0; i < all.size() / 160; ++i)
    EXPECT_EQ(harness.push(part(all, i * 160, i * 160 + 160), at(i * 160) + i * GST_MSECOND), GST_FLOW_OK);
  harness.end();
  EXPECT_EQ(lost_of(harness), 0U);
  const std::vector<Fields> events = harness.messages();
  ASSERT_FALSE(events.empty());
  std::string lines;
  for (const Fields& event : events) {
    lines += text_in(event.get(), "json") + "\n";
    const std::int64_t end = sample_in(event.get(), "end-sample");
    const auto late = static_cast<GstClockTime>(end / 160) * GST_MSECOND;
    EXPECT_EQ(time_in(event.get(), "end"), at(static_cast<std::size_t>(end)) + late);
  }
  EXPECT_EQ(lines, program_hears(all));
}

TEST(GstGaps, AFlushingSeekBeginsAnewAtItsPlaceInTheRecording) {
  const Samples all = tones(8), tail = part(all, 64000, all.size());
  Harness harness;
  EXPECT_EQ(harness.push(part(all, 0, 30000)), GST_FLOW_OK);
  harness.lines();
  EXPECT_TRUE(harness.send(gst_event_new_flush_start()));
  EXPECT_TRUE(harness.send(gst_event_new_flush_stop(TRUE)));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.start = segment.time = segment.position = 4 * GST_SECOND;
  EXPECT_TRUE(harness.send(gst_event_new_segment(&segment)));
  EXPECT_EQ(harness.push(tail, 4 * GST_SECOND), GST_FLOW_OK);
  harness.end();
  const std::vector<Fields> events = harness.messages();
  ASSERT_FALSE(events.empty());
  std::string lines;
  for (const Fields& event : events) {
    lines += text_in(event.get(), "json") + "\n";
    EXPECT_GE(time_in(event.get(), "start"), 4 * GST_SECOND);
  }
  // 4 s are whole frames: what is heard in the tail alone, 4 s later.
  EXPECT_EQ(lines, library_hears({{64000, tail}}));
  const std::string alone = program_hears(tail);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), std::count(alone.begin(), alone.end(), '\n'));
  EXPECT_EQ(lost_of(harness), 0U);
}

TEST(GstGaps, AFlushDropsWhatIsInside) {
  // A decision that comes at the end only.
  const Samples all = tones(2);
  Harness harness(Properties{{"decision", "detect mode=clip"}});
  EXPECT_EQ(harness.push(all), GST_FLOW_OK);
  EXPECT_TRUE(harness.send(gst_event_new_flush_start()));
  EXPECT_TRUE(harness.send(gst_event_new_flush_stop(TRUE)));
  EXPECT_EQ(harness.lines(), "");
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  EXPECT_TRUE(harness.send(gst_event_new_segment(&segment)));
  EXPECT_EQ(harness.push(all), GST_FLOW_OK);
  harness.end();
  const std::string lines = harness.lines();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1);
}

TEST(GstGaps, ABackwardJumpAndANewStreamEndTheOldOne) {
  const Samples all = tones(3);
  const std::string once = program_hears(all);
  ASSERT_FALSE(once.empty());
  Harness harness;
  EXPECT_EQ(harness.push(all), GST_FLOW_OK);
  EXPECT_EQ(harness.push(all, 0), GST_FLOW_OK);  // the times begin again
  EXPECT_TRUE(harness.send(gst_event_new_stream_start("another")));
  EXPECT_EQ(harness.lines(), once + once);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.base = 6 * GST_SECOND;
  EXPECT_TRUE(harness.send(gst_event_new_segment(&segment)));
  EXPECT_EQ(harness.push(all, 0), GST_FLOW_OK);
  // A jump of years is a new stream, and no gap to be filled.
  EXPECT_EQ(harness.push(all, GST_SECOND * 3600 * 24 * 400), GST_FLOW_OK);
  harness.end();
  const std::string lines = harness.lines();
  EXPECT_TRUE(lines.starts_with(once));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2 * std::count(once.begin(), once.end(), '\n'));
  EXPECT_EQ(lost_of(harness), 0U);
}

TEST(GstGaps, AfterTheEndAFlushBeginsAgain) {
  const Samples all = tones(3);
  Harness harness;
  EXPECT_EQ(harness.push(all), GST_FLOW_OK);
  harness.end();
  const std::string once = harness.lines();
  EXPECT_EQ(once, program_hears(all));
  EXPECT_TRUE(harness.send(gst_event_new_flush_start()));
  EXPECT_TRUE(harness.send(gst_event_new_flush_stop(TRUE)));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  EXPECT_TRUE(harness.send(gst_event_new_segment(&segment)));
  EXPECT_EQ(harness.push(all), GST_FLOW_OK);
  harness.end();
  EXPECT_EQ(harness.lines(), once);
}

TEST(GstGaps, NewCapsBeginANewStream) {
  const Samples all = tones(3);
  Harness harness;
  EXPECT_EQ(harness.push(all), GST_FLOW_OK);
  gst_harness_set_src_caps_str(harness.get(),
                               "audio/x-raw,format=S16LE,rate=16000,channels=2,layout=interleaved");
  Samples stereo;
  for (const std::int16_t sample : all) stereo.insert(stereo.end(), {sample, sample});
  EXPECT_EQ(harness.push(stereo.data(), all.size(), 4, 0), GST_FLOW_OK);
  harness.end();
  EXPECT_EQ(harness.lines(), program_hears(all) + program_hears(stereo, 16000, 2));
}

TEST(GstGaps, BuffersWithoutTimesFollowEachOther) {
  const Samples all = tones(3);
  Harness harness;
  EXPECT_EQ(harness.push(all, GST_CLOCK_TIME_NONE), GST_FLOW_OK);
  harness.end();
  EXPECT_EQ(harness.lines(), program_hears(all));
}

TEST(GstGaps, SoundBackwardsIsPassedOnUnheard) {
  Harness harness;
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.rate = -1;
  segment.stop = 10 * GST_SECOND;
  EXPECT_TRUE(harness.send(gst_event_new_segment(&segment)));
  EXPECT_EQ(harness.push(tones(3)), GST_FLOW_OK);
  harness.end();
  EXPECT_EQ(gst_harness_buffers_received(harness.get()), 300U);
  EXPECT_EQ(harness.lines(), "");
}

}  // namespace
}  // namespace runnel::bridges::test
