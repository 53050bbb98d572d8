#include "bridges/gstreamer/text_pad.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace runnel::gstreamer {
namespace {

constexpr const char* kJson = "application/x-json";
constexpr const char* kText = "text/x-raw, format=(string)utf8";

GstFlowReturn push_copy(GstPad* pad, const std::string& text, GstClockTime time, GstClockTime duration) {
  GstBuffer* const buffer = gst_buffer_new_memdup(text.data(), text.size());
  GST_BUFFER_PTS(buffer) = time;
  GST_BUFFER_DURATION(buffer) = duration;
  return gst_pad_push(pad, buffer);
}

}  // namespace

GstPadTemplate* TextPad::make_template() {
  GstCaps* const caps = gst_caps_from_string((std::string(kJson) + "; " + kText).c_str());
  GstPadTemplate* const made = gst_pad_template_new("text", GST_PAD_SRC, GST_PAD_REQUEST, caps);
  gst_caps_unref(caps);
  return made;
}

TextPad::TextPad(GstElement* element, GstPad* pad)
    : element_(element), pad_(static_cast<GstPad*>(gst_object_ref(pad))) {
  gst_segment_init(&segment_, GST_FORMAT_TIME);
}

TextPad::~TextPad() { gst_object_unref(pad_); }

void TextPad::set_segment(const GstSegment& segment) noexcept {
  segment_ = segment;
  new_segment_ = true;
  reached_ = segment.format == GST_FORMAT_TIME ? segment.position : 0;
}

// Before the first buffer: who speaks, in which format, and when. False: nobody listens.
bool TextPad::begin() {
  if (!gst_pad_is_linked(pad_)) return false;
  if (!begun_) {
    GstCaps* allowed = gst_pad_get_allowed_caps(pad_);
    if (allowed == nullptr || gst_caps_is_empty(allowed)) {
      gst_clear_caps(&allowed);
      return false;
    }
    GstCaps* const json = gst_caps_from_string(kJson);
    json_ = gst_caps_can_intersect(allowed, json) != FALSE;
    gst_caps_unref(json);
    gst_caps_unref(allowed);
    gchar* const id = gst_pad_create_stream_id(pad_, element_, "text");
    GstEvent* const start = gst_event_new_stream_start(id);
    g_free(id);
    gst_event_set_stream_flags(start, GST_STREAM_FLAG_SPARSE);
    gst_pad_push_event(pad_, start);
    GstCaps* const caps = gst_caps_from_string(json_ ? kJson : kText);
    gst_pad_push_event(pad_, gst_event_new_caps(caps));
    gst_caps_unref(caps);
    begun_ = true;
  }
  if (new_segment_ && segment_.format == GST_FORMAT_TIME) {
    gst_pad_push_event(pad_, gst_event_new_segment(&segment_));
    new_segment_ = false;
  }
  return true;
}

GstFlowReturn TextPad::push(const char* line, const char* label, GstClockTime start, GstClockTime end) {
  if (!begin()) return GST_FLOW_OK;
  GstClockTime duration = GST_CLOCK_TIME_NONE;
  if (GST_CLOCK_TIME_IS_VALID(start) && GST_CLOCK_TIME_IS_VALID(end) && end >= start) duration = end - start;
  // Times never go back, as sinks want it.
  if (GST_CLOCK_TIME_IS_VALID(end)) reached_ = std::max(reached_, end);
  return push_copy(pad_, json_ ? std::string(line) + "\n" : std::string(label), reached_, duration);
}

void TextPad::advance(GstClockTime time) {
  if (!GST_CLOCK_TIME_IS_VALID(time) || time <= reached_ || !begin()) return;
  gst_pad_push_event(pad_, gst_event_new_gap(reached_, time - reached_));
  reached_ = time;
}

void TextPad::send(GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) new_segment_ = true;
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS && !begin()) {
    gst_event_unref(event);
    return;
  }
  gst_pad_push_event(pad_, event);
}

}  // namespace runnel::gstreamer
