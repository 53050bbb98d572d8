#include "bridges/gstreamer/sound_times.h"

#include <gtest/gtest.h>

namespace runnel::gstreamer::test {
namespace {

TEST(SoundTimes, FollowsTheAnchorBeforeASample) {
  SoundTimes times;
  EXPECT_EQ(times.time_of(0), GST_CLOCK_TIME_NONE);
  times.add(1000, 5 * GST_SECOND, 48000);
  times.add(49000, 6 * GST_SECOND, 48000);  // as predicted
  times.add(97000, 7 * GST_SECOND + GST_MSECOND, 48000);
  EXPECT_EQ(times.time_of(1000), 5 * GST_SECOND);
  EXPECT_EQ(times.time_of(49000), 6 * GST_SECOND);
  EXPECT_EQ(times.time_of(96952), 7 * GST_SECOND - GST_MSECOND);
  EXPECT_EQ(times.time_of(97048), 7 * GST_SECOND + 2 * GST_MSECOND);
  // Before the first one.
  EXPECT_EQ(times.time_of(952), 5 * GST_SECOND - GST_MSECOND);
  EXPECT_EQ(times.time_of(1000 - 6 * 48000), GST_CLOCK_TIME_NONE);
  EXPECT_EQ(times.sample_at(7 * GST_SECOND), 97000 - 48);
}

TEST(SoundTimes, RoundsToTheNearestSample) {
  EXPECT_EQ(samples_in(22675, 44100), 1);
  EXPECT_EQ(samples_in(-22675, 44100), -1);
  EXPECT_EQ(samples_in(11000, 44100), 0);
  for (std::int64_t samples = 0; samples < 100000; samples += 77)
    EXPECT_EQ(samples_in(static_cast<GstClockTimeDiff>(duration_of(samples, 44100)), 44100), samples);
}

}  // namespace
}  // namespace runnel::gstreamer::test
