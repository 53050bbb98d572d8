// What the element says is what `listen --wav` prints about the same samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "library/runnel_host.h"
#include "tests/bridges/gstreamer/harness.h"
#include "tests/bridges/sound.h"
#include "tests/support/data.h"
#include "tests/support/stitched.h"
#include "tests/support/wav.h"

namespace runnel::bridges::test {
namespace {

using testing::HasSubstr;

TEST(GstElement, HearsWhatListenHearsWhateverTheBuffers) {
  const std::vector<std::int16_t> samples = tones(6);
  const std::string expected = program_hears(samples);
  ASSERT_GE(std::count(expected.begin(), expected.end(), '\n'), 3);
  for (const std::size_t block : {1U, 160U, 333U, 5000U, 1000000U}) {
    Harness harness;
    EXPECT_EQ(harness.push(samples, 0, block), GST_FLOW_OK);
    harness.end();
    EXPECT_EQ(harness.lines(), expected) << block;
  }
}

TEST(GstElement, HearsTheStitchedRecordingAsListenDoes) {
  RUNNEL_NEEDS_DATA();
  const std::filesystem::path wav = runnel::test::data_folder() / "digits/stitched_90s.wav";
  const runnel::test::Wav sound = runnel::test::read_wav(wav);
  Harness harness(Properties{{"decision", ""}, {"source", "speech"}});
  EXPECT_EQ(harness.push(sound.samples, 0, 1024), GST_FLOW_OK);
  harness.end();
  const std::string lines = harness.lines();
  EXPECT_GE(std::count(lines.begin(), lines.end(), '\n'), runnel::test::kStitchedEvents);
  EXPECT_EQ(lines, program_hears(wav, {}, "speech"));
}

TEST(GstElement, FloatsChannelsAndAnyRateAreTheSameSound) {
  const std::vector<std::int16_t> samples = tones(4);
  std::vector<float> floats;
  for (const std::int16_t sample : samples) floats.push_back(static_cast<float>(sample) / 32768);
  {
    Harness harness({}, "audio/x-raw,format=F32LE,rate=16000,channels=1,layout=interleaved");
    EXPECT_EQ(harness.push(floats.data(), floats.size(), 4), GST_FLOW_OK);
    harness.end();
    EXPECT_EQ(harness.lines(), program_hears(samples));
  }
  std::vector<std::int16_t> stereo;
  for (const std::int16_t sample : tones(4, 44100))
    stereo.insert(stereo.end(), {sample, static_cast<std::int16_t>(sample / 2)});
  Harness harness(Properties{{"any-rate", "true"}},
                  "audio/x-raw,format=S16LE,rate=44100,channels=2,layout=interleaved");
  EXPECT_EQ(harness.push(stereo.data(), stereo.size() / 2, 4, 0, 1000, 44100), GST_FLOW_OK);
  harness.end();
  EXPECT_EQ(harness.lines(), program_hears(stereo, 44100, 2));
}

TEST(GstElement, FieldsOfAMessageAgreeWithEachOther) {
  const std::vector<std::int16_t> samples = tones(3);
  Harness harness;
  // A stream that was presented from 10 s on, and whose own time begins at 0.
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.start = segment.position = 10 * GST_SECOND;
  segment.time = 0;
  segment.base = 100 * GST_SECOND;
  EXPECT_TRUE(harness.send(gst_event_new_segment(&segment)));
  EXPECT_EQ(harness.push(samples, 10 * GST_SECOND), GST_FLOW_OK);
  harness.end();
  const std::vector<Fields> events = harness.messages();
  ASSERT_FALSE(events.empty());
  for (const Fields& event : events) {
    const GstStructure* const fields = event.get();
    const std::int64_t start = sample_in(fields, "start-sample"), end = sample_in(fields, "end-sample");
    EXPECT_EQ(time_in(fields, "start"), static_cast<GstClockTime>(start) * GST_SECOND / 16000);
    EXPECT_EQ(time_in(fields, "end"), static_cast<GstClockTime>(end) * GST_SECOND / 16000);
    EXPECT_EQ(time_in(fields, "running-time"), time_in(fields, "end") + 100 * GST_SECOND);
    gdouble score = 0;
    gfloat single = 0;
    gint index = -1, rate = 0;
    EXPECT_TRUE(gst_structure_get(fields, "score", G_TYPE_FLOAT, &single, "label-index", G_TYPE_INT, &index,
                                  "rate", G_TYPE_INT, &rate, nullptr));
    score = single;
    EXPECT_GT(score, 0.3);
    EXPECT_LE(score, 1);
    EXPECT_GE(index, 0);
    EXPECT_EQ(rate, 16000);
    EXPECT_GE(sample_in(fields, "frame"), 0);
    EXPECT_THAT(text_in(fields, "json"), HasSubstr("\"label\":\"" + text_in(fields, "label") + "\""));
  }
}

TEST(GstElement, PassesTheSameMemoryAndMarksTheBufferThatDecided) {
  const std::vector<std::int16_t> samples = tones(3);
  Harness harness;
  std::vector<std::int64_t> marked;
  std::int64_t at = 0;
  for (std::size_t i = 0; i + 160 <= samples.size(); i += 160) {
    GstBuffer* const in = gst_buffer_new_memdup(samples.data() + i, 320);
    GST_BUFFER_PTS(in) = i * GST_SECOND / 16000;
    GstMemory* const memory = gst_buffer_peek_memory(in, 0);
    // A second owner makes the buffer read-only: metadata goes to a copy, samples stay where they are.
    if (i % 320 == 0) gst_buffer_ref(in);
    ASSERT_EQ(gst_harness_push(harness.get(), in), GST_FLOW_OK);
    GstBuffer* const out = gst_harness_pull(harness.get());
    EXPECT_EQ(gst_buffer_peek_memory(out, 0), memory);
    at += 160;
    gpointer state = nullptr;
    while (GstMeta* const meta = gst_buffer_iterate_meta(out, &state)) {
      if (gst_meta_info_is_custom(meta->info) == FALSE) continue;
      auto* const custom = reinterpret_cast<GstCustomMeta*>(meta);
      ASSERT_TRUE(gst_custom_meta_has_name(custom, "GstRunnelEventMeta"));
      const GstStructure* const fields = gst_custom_meta_get_structure(custom);
      EXPECT_LE(sample_in(fields, "end-sample"), at);
      marked.push_back(sample_in(fields, "end-sample"));
    }
    if (i % 320 == 0) gst_buffer_unref(in);
    gst_buffer_unref(out);
  }
  std::vector<std::int64_t> posted;
  for (const Fields& event : harness.messages()) posted.push_back(sample_in(event.get(), "end-sample"));
  EXPECT_FALSE(marked.empty());
  EXPECT_EQ(marked, posted);
}

TEST(GstElement, AddsTheDelayOfTheModelToTheLatency) {
  runnel_program* program = nullptr;
  const std::string settings = std::string("chunk=8 decision='") + kEager + "'";
  ASSERT_EQ(runnel_load_file(digits().c_str(), settings.c_str(), &program), RUNNEL_OK);
  const auto delay =
      static_cast<GstClockTime>(runnel_delay_of(program) * static_cast<double>(GST_SECOND) + 0.5);
  runnel_release(program);
  ASSERT_GT(delay, 0U);
  Harness harness(Properties{{"chunk", "8"}});
  EXPECT_EQ(gst_harness_query_latency(harness.get()), delay);
  gst_harness_set_upstream_latency(harness.get(), 30 * GST_MSECOND);
  EXPECT_EQ(gst_harness_query_latency(harness.get()), delay + 30 * GST_MSECOND);
  guint64 stated = 0;
  g_object_get(harness.element(), "delay", &stated, nullptr);
  EXPECT_EQ(stated, delay);
}

TEST(GstElement, TakesOnlyTheRateOfTheModel) {
  Harness harness({}, "audio/x-raw,format=S16LE,rate=44100,channels=1,layout=interleaved");
  EXPECT_EQ(harness.push(tones(0.1, 44100), 0), GST_FLOW_NOT_NEGOTIATED);
  GstPad* const pad = gst_element_get_static_pad(harness.element(), "sink");
  GstCaps* const caps = gst_pad_query_caps(pad, nullptr);
  gint rate = 0;
  EXPECT_TRUE(gst_structure_get_int(gst_caps_get_structure(caps, 0), "rate", &rate));
  EXPECT_EQ(rate, 16000);
  for (const char* refused :
       {"audio/x-raw,format=S24LE,rate=16000,channels=1,layout=interleaved",
        "audio/x-raw,format=S16LE,rate=16000,channels=2,layout=non-interleaved",
        "audio/x-raw,format=S16BE,rate=16000,channels=1,layout=interleaved", "text/x-raw"}) {
    GstCaps* const other = gst_caps_from_string(refused);
    EXPECT_FALSE(gst_pad_query_accept_caps(pad, other)) << refused;
    gst_caps_unref(other);
  }
  gst_caps_unref(caps);
  gst_object_unref(pad);
}

TEST(GstElement, WhatCannotBeLoadedIsASentenceBeforeAnySound) {
  const auto refused = [](const Properties& properties) {
    GstElement* const element = make_element(properties);
    gst_object_ref_sink(element);
    GstBus* const bus = gst_bus_new();
    gst_element_set_bus(element, bus);
    EXPECT_EQ(gst_element_set_state(element, GST_STATE_READY), GST_STATE_CHANGE_FAILURE);
    std::string sentence;
    if (GstMessage* const message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR); message != nullptr) {
      GError* error = nullptr;
      gst_message_parse_error(message, &error, nullptr);
      sentence = error->message;
      g_clear_error(&error);
      gst_message_unref(message);
    }
    gst_element_set_state(element, GST_STATE_NULL);
    gst_element_set_bus(element, nullptr);
    gst_object_unref(element);
    gst_object_unref(bus);
    return sentence;
  };
  EXPECT_THAT(refused({{"model", "dgits"}}), HasSubstr("did you mean 'digits'"));
  EXPECT_THAT(refused({{"model", "/no/such/model.rnl"}}), HasSubstr("/no/such/model.rnl"));
  EXPECT_THAT(refused({{"decision", "detekt"}}), HasSubstr("did you mean 'detect'"));
  EXPECT_THAT(refused({{"decision", ""}, {"graph", "wav path=a.wav ! fbank"}}),
              HasSubstr("wav has no place"));
}

TEST(GstElement, SettingsOfTheReadyStateCount) {
  GstElement* const element = make_element();
  gst_object_ref_sink(element);
  EXPECT_EQ(gst_element_set_state(element, GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
  g_object_set(element, "front-end", "fbank preset=kaldi sample_frequency=44100 num_mel_bins=40", nullptr);
  EXPECT_NE(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  GstPad* const pad = gst_element_get_static_pad(element, "sink");
  GstCaps* const caps = gst_pad_query_caps(pad, nullptr);
  gint rate = 0;
  EXPECT_TRUE(gst_structure_get_int(gst_caps_get_structure(caps, 0), "rate", &rate));
  EXPECT_EQ(rate, 44100);
  gst_caps_unref(caps);
  gst_object_unref(pad);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
}

TEST(GstElement, CanBeSilentAndCounts) {
  Harness harness(Properties{{"post-messages", "false"}});
  EXPECT_EQ(harness.push(tones(3)), GST_FLOW_OK);
  harness.end();
  EXPECT_TRUE(harness.messages().empty());
  guint64 events = 0;
  g_object_get(harness.element(), "events", &events, nullptr);
  EXPECT_GT(events, 0U);
}

TEST(GstElement, TwoInOnePipelineAreIndependent) {
  const std::vector<std::int16_t> samples = tones(6);
  GstElement* const eager = make_element({{"source", "eager"}});
  GstElement* const strict = make_element({{"source", "strict"}, {"threshold", "0.8"}});
  GstBus* const bus = gst_bus_new();
  GstElement* const bin = gst_bin_new(nullptr);
  gst_object_ref_sink(bin);
  gst_bin_add_many(GST_BIN(bin), eager, strict, nullptr);
  ASSERT_TRUE(gst_element_link(eager, strict));
  for (const auto& [name, element] : {std::pair("sink", eager), std::pair("src", strict)}) {
    GstPad* const pad = gst_element_get_static_pad(element, name);
    gst_element_add_pad(bin, gst_ghost_pad_new(name, pad));
    gst_object_unref(pad);
  }
  gst_element_set_bus(bin, bus);
  GstHarness* const harness = gst_harness_new_with_element(bin, "sink", "src");
  gst_harness_set_src_caps_str(harness, kMono16);
  for (std::size_t at = 0; at < samples.size(); at += 1600) {
    GstBuffer* const buffer = gst_buffer_new_memdup(samples.data() + at, 3200);
    GST_BUFFER_PTS(buffer) = at * GST_SECOND / 16000;
    ASSERT_EQ(gst_harness_push(harness, buffer), GST_FLOW_OK);
  }
  gst_harness_push_event(harness, gst_event_new_eos());
  std::string lines[2];
  while (GstMessage* const message = gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT)) {
    lines[GST_MESSAGE_SRC(message) == GST_OBJECT(strict) ? 1 : 0] +=
        text_in(gst_message_get_structure(message), "json") + "\n";
    gst_message_unref(message);
  }
  const runnel::test::TemporaryFolder folder;
  write_wav(folder.path() / "a.wav", samples, 16000);
  EXPECT_EQ(lines[0], program_hears(folder.path() / "a.wav", {"--decision", kEager}, "eager"));
  EXPECT_EQ(lines[1],
            program_hears(folder.path() / "a.wav", {"--decision", kEager, "--threshold", "0.8"}, "strict"));
  EXPECT_NE(lines[0].size(), lines[1].size());
  gst_harness_teardown(harness);
  gst_element_set_bus(bin, nullptr);
  gst_object_unref(bin);
  gst_object_unref(bus);
}

}  // namespace
}  // namespace runnel::bridges::test
