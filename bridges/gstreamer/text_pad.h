// The source pad of decisions, which exists on request.
#pragma once

#include <gst/gst.h>

namespace runnel::gstreamer {

// Gives a buffer for each decision: a line of JSON (application/x-json) or its label (text/x-raw), whichever
// the peer takes, JSON first. A buffer is presented at the end of what it is about, for as long as that
// lasted. Between them, GAP events keep the peer informed how far the stream is. Belongs to the streaming
// thread, except for its pad.
class TextPad {
 public:
  static GstPadTemplate* make_template();

  // `pad` belongs to `element` already; a reference is kept.
  TextPad(GstElement* element, GstPad* pad);
  ~TextPad();
  TextPad(const TextPad&) = delete;
  TextPad& operator=(const TextPad&) = delete;
  [[nodiscard]] GstPad* pad() const noexcept { return pad_; }

  // The times of what follows, in GST_FORMAT_TIME.
  void set_segment(const GstSegment& segment) noexcept;
  // Times are of presentation. What the peer says is returned; a pad that is not linked drops everything.
  GstFlowReturn push(const char* line, const char* label, GstClockTime start, GstClockTime end);
  // Nothing comes before `time`.
  void advance(GstClockTime time);
  // Flushes and the end of the stream. Takes the event.
  void send(GstEvent* event);

 private:
  bool begin();

  GstElement* element_;
  GstPad* pad_;
  GstSegment segment_;
  bool begun_ = false, new_segment_ = true, json_ = true;
  GstClockTime reached_ = 0;
};

}  // namespace runnel::gstreamer
