// The source pad of decisions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/bridges/gstreamer/harness.h"
#include "tests/bridges/sound.h"

namespace runnel::bridges::test {
namespace {

struct Texts {
  std::string all;
  std::vector<GstClockTime> times;
};

Texts texts_of(GstHarness* harness) {
  Texts texts;
  while (GstBuffer* const buffer = gst_harness_try_pull(harness)) {
    GstMapInfo map;
    EXPECT_TRUE(gst_buffer_map(buffer, &map, GST_MAP_READ));
    texts.all.append(reinterpret_cast<const char*>(map.data), map.size);
    gst_buffer_unmap(buffer, &map);
    texts.times.push_back(GST_BUFFER_PTS(buffer));
    gst_buffer_unref(buffer);
  }
  return texts;
}

TEST(GstTextPad, GivesTheLinesOfListen) {
  const std::vector<std::int16_t> samples = tones(4);
  Harness harness;
  GstHarness* const texts = gst_harness_new_with_element(harness.element(), nullptr, "text");
  EXPECT_EQ(harness.push(samples), GST_FLOW_OK);
  harness.end();
  const Texts found = texts_of(texts);
  EXPECT_EQ(found.all, program_hears(samples));
  EXPECT_TRUE(std::is_sorted(found.times.begin(), found.times.end()));
  // The peer hears how far the stream is, and of its end.
  bool gap = false, end = false;
  while (GstEvent* const event = gst_harness_try_pull_event(texts)) {
    gap = gap || GST_EVENT_TYPE(event) == GST_EVENT_GAP;
    end = end || GST_EVENT_TYPE(event) == GST_EVENT_EOS;
    gst_event_unref(event);
  }
  EXPECT_TRUE(gap);
  EXPECT_TRUE(end);
  gst_harness_teardown(texts);
}

TEST(GstTextPad, GivesLabelsToWhoWantsText) {
  const std::vector<std::int16_t> samples = tones(4);
  Harness harness;
  GstHarness* const texts = gst_harness_new_with_element(harness.element(), nullptr, "text");
  gst_harness_set_sink_caps_str(texts, "text/x-raw,format=utf8");
  EXPECT_EQ(harness.push(samples), GST_FLOW_OK);
  harness.end();
  std::string labels;
  std::vector<GstClockTime> ends;
  for (const Fields& event : harness.messages()) {
    labels += text_in(event.get(), "label");
    ends.push_back(time_in(event.get(), "end"));
  }
  const Texts found = texts_of(texts);
  EXPECT_FALSE(labels.empty());
  EXPECT_EQ(found.all, labels);
  EXPECT_EQ(found.times, ends);
  gst_harness_teardown(texts);
}

TEST(GstTextPad, ThereIsOneAndItCanBeGivenBack) {
  Harness harness;
  GstPad* const pad = gst_element_request_pad_simple(harness.element(), "text");
  ASSERT_NE(pad, nullptr);
  GstPadTemplate* const from = gst_element_get_pad_template(harness.element(), "text");
  EXPECT_EQ(gst_element_request_pad(harness.element(), from, nullptr, nullptr), nullptr);
  // Not linked: the stream goes on.
  EXPECT_EQ(harness.push(tones(3)), GST_FLOW_OK);
  gst_element_release_request_pad(harness.element(), pad);
  gst_object_unref(pad);
  EXPECT_EQ(harness.push(tones(3), 3 * GST_SECOND), GST_FLOW_OK);
  GstPad* const again = gst_element_request_pad_simple(harness.element(), "text");
  ASSERT_NE(again, nullptr);
  gst_element_release_request_pad(harness.element(), again);
  gst_object_unref(again);
}

TEST(GstTextPad, IsAsLateAsTheSound) {
  Harness harness;
  gst_harness_set_upstream_latency(harness.get(), 30 * GST_MSECOND);
  GstHarness* const texts = gst_harness_new_with_element(harness.element(), nullptr, "text");
  EXPECT_EQ(gst_harness_query_latency(texts), gst_harness_query_latency(harness.get()));
  gst_harness_teardown(texts);
}

}  // namespace
}  // namespace runnel::bridges::test
