#include "pipeline/format.h"

#include <gtest/gtest.h>

namespace runnel::pipeline {
namespace {

TEST(Clock, KnowsTheSamplesOfWindows) {
  const Clock samples{.sample_rate = 16000};
  EXPECT_EQ(samples.rate(), 16000);
  EXPECT_EQ(samples.first_sample(5), 5);
  EXPECT_EQ(samples.end_sample(5), 6);
  const Clock frames = samples.windows(160, 0, 400);
  EXPECT_EQ(frames.rate(), 100);
  EXPECT_EQ(frames.first_sample(123), 123 * 160);
  EXPECT_EQ(frames.end_sample(123), 123 * 160 + 400);
  const Clock centred = samples.windows(160, -120, 400);
  EXPECT_EQ(centred.first_sample(0), -120);
}

TEST(Clock, StaysExactBehindAResampler) {
  // 44100 to 16000 Hz: 160 samples for 441 of the source; a 25 ms window at 16 kHz is 1102.5 source samples.
  const Clock resampled = Clock{.sample_rate = 44100}.resampled(160, 441);
  EXPECT_EQ(resampled.rate(), 16000);
  EXPECT_EQ(resampled.first_sample(160), 441);
  EXPECT_EQ(resampled.first_sample(1), 2);
  EXPECT_EQ(resampled.end_sample(1), 6);
  const Clock frames = resampled.windows(160, 0, 400);
  EXPECT_EQ(frames.rate(), 100);
  EXPECT_EQ(frames.first_sample(1000), 441000);
  EXPECT_EQ(frames.end_sample(0), 1103);
  // After 200 hours the time is still exact.
  EXPECT_EQ(frames.first_sample(72000000), 72000000LL * 441);
}

TEST(Clock, KeepsTheExtentOfFramesWhenEveryOtherOneIsTaken) {
  const Clock half = Clock{.sample_rate = 16000}.windows(160, 0, 400).every(1, 2);
  EXPECT_EQ(half.rate(), 50);
  EXPECT_EQ(half.first_sample(3), 960);
  EXPECT_EQ(half.end_sample(3), 1360);
}

TEST(Clock, SaysWhenARateIsNotWhole) {
  EXPECT_EQ((Clock{.sample_rate = 22050}.windows(256, 0, 1024).rate()), 0);
}

TEST(Milliseconds, AreRoundedHalfUp) {
  EXPECT_EQ(milliseconds(16000, 16000), 1000);
  EXPECT_EQ(milliseconds(8, 16000), 1);  // 0.5 ms
  EXPECT_EQ(milliseconds(7, 16000), 0);
  EXPECT_EQ(milliseconds(-8, 16000), 0);
  EXPECT_EQ(milliseconds(-24, 16000), -1);  // -1.5 ms
  EXPECT_EQ(milliseconds(44100LL * 1000000000, 44100), 1000000000000LL);
}

TEST(Format, DescribesItself) {
  Format format;
  format.kind = Kind::audio;
  format.dtype = DType::float32;
  format.channels = 2;
  format.clock.sample_rate = 44100;
  EXPECT_EQ(describe(format).view(), "audio 44100 Hz, 2 channels, float32");
  format.kind = Kind::frames;
  format.dtype = DType::int8;
  format.exponent = -2;
  format.channels = 12;
  format.clock = format.clock.windows(441, 0, 441);
  EXPECT_EQ(describe(format).view(), "frames of 12 int8 values (exponent -2), 100 per second");
  EXPECT_EQ(format.frame_bytes(), 12u);
}

}  // namespace
}  // namespace runnel::pipeline
