// What the element does with its events and buffers.
#pragma once

#include <gst/audio/audio.h>
#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>

#include <cstdint>
#include <memory>
#include <string>

#include "bridges/gstreamer/settings.h"
#include "bridges/gstreamer/sound_stream.h"
#include "bridges/gstreamer/text_pad.h"

namespace runnel::gstreamer {

// Belongs to an element, which outlives it. Functions are called by the streaming thread, or while there is
// none; those marked "any thread" lock the element themselves.
class Worker {
 public:
  explicit Worker(GstBaseTransform* element);

  // Any thread. Settings take effect at the next load() or start().
  [[nodiscard]] Settings settings() const;
  void change(const std::function<void(Settings&)>& how);

  // Loads the program, so that its rate is known; unload() forgets it. False: the failure was posted.
  bool load();
  void unload();
  // Loads again when settings have changed since. False: the failure was posted.
  bool start();
  // Any thread. The rate that the sound must have; 0: any, or unknown.
  [[nodiscard]] std::uint32_t wanted_rate() const;
  // Any thread. Delay of the decisions in ns; 0: unknown.
  [[nodiscard]] GstClockTime delay() const;
  // Any thread.
  [[nodiscard]] std::uint64_t events() const;
  [[nodiscard]] std::uint64_t lost_samples() const;

  // False: the failure was posted.
  bool set_format(const GstAudioInfo& info);
  void stop();
  GstFlowReturn take(GstBuffer* buffer);
  // What an event of the sink pad means for the stream, before and after the base class has seen it.
  void before(GstEvent* event);
  void after(GstEvent* event);

  // Null: there is one already.
  GstPad* request_text_pad(GstPadTemplate* from);
  void release_text_pad(GstPad* pad);

 private:
  void heard(const runnel_event& event, const char* line);
  void read(const runnel_text& text);
  void lost(std::int64_t first, std::int64_t count);
  void post(GstStructure* fields);
  void failed();
  void count();
  void new_segment(const GstSegment& segment);
  void forget_segment();
  [[nodiscard]] std::shared_ptr<TextPad> text() const;

  GstBaseTransform* element_;
  Settings settings_;                                // under the element's lock
  std::shared_ptr<runnel_program> program_, trial_;  // under the element's lock
  std::shared_ptr<TextPad> text_;                    // under the element's lock
  std::uint64_t events_ = 0, lost_ = 0;              // under the element's lock
  SoundStream stream_;
  GstAudioInfo info_{};
  GstSegment segment_;  // of the stream, in GST_FORMAT_TIME or undefined; written under the element's lock
  GstBuffer* buffer_ = nullptr;  // during take()
  bool changed_ = false;         // under the element's lock: since load()
  bool messages_ = true, warned_ = false;
  GstFlowReturn text_flow_ = GST_FLOW_OK;
};

}  // namespace runnel::gstreamer
