#include "bridges/gstreamer/worker.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bridges/gstreamer/structures.h"

namespace runnel::gstreamer {
namespace {

// The lock of an object.
class Lock {
 public:
  explicit Lock(gpointer object) : object_(object) { GST_OBJECT_LOCK(object_); }
  ~Lock() { GST_OBJECT_UNLOCK(object_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  gpointer object_;
};

bool same_mapping(const GstSegment& a, const GstSegment& b) {
  return a.format == b.format && a.rate == b.rate && a.applied_rate == b.applied_rate && a.base == b.base &&
         a.offset == b.offset && a.time - a.start == b.time - b.start;
}

gboolean query_text_pad(GstPad* pad, GstObject* parent, GstQuery* query) {
  // The decisions are as late as the element says of its sound.
  if (GST_QUERY_TYPE(query) == GST_QUERY_LATENCY)
    return gst_pad_query(GST_BASE_TRANSFORM_SRC_PAD(parent), query);
  return gst_pad_query_default(pad, parent, query);
}

}  // namespace

Worker::Worker(GstBaseTransform* element)
    : element_(element),
      stream_({.heard = [this](const runnel_event& event, const char* line) { heard(event, line); },
               .read = [this](const runnel_text& text) { read(text); },
               .lost = [this](std::int64_t first, std::int64_t count) { lost(first, count); }}) {
  gst_segment_init(&segment_, GST_FORMAT_UNDEFINED);
  gst_audio_info_init(&info_);
}

Settings Worker::settings() const {
  const Lock lock(element_);
  return settings_;
}

void Worker::change(const std::function<void(Settings&)>& how) {
  const Lock lock(element_);
  how(settings_);
  changed_ = true;
}

bool Worker::load() {
  Settings settings;
  {
    const Lock lock(element_);
    settings = settings_;
    changed_ = false;
  }
  Program loaded = gstreamer::load(settings, 0, 1);
  if (loaded == nullptr) {
    GST_ELEMENT_ERROR(element_, RESOURCE, NOT_FOUND, ("%s", runnel_last_failure()), (nullptr));
    return false;
  }
  const Lock lock(element_);
  trial_ = std::move(loaded);
  return true;
}

bool Worker::start() {
  bool changed = false;
  {
    const Lock lock(element_);
    changed = changed_;
  }
  return !changed || load();
}

void Worker::unload() {
  const Lock lock(element_);
  trial_.reset();
  program_.reset();
}

std::uint32_t Worker::wanted_rate() const {
  const Lock lock(element_);
  return trial_ == nullptr || settings_.any_rate ? 0 : runnel_facts_of(trial_.get()).sample_rate;
}

GstClockTime Worker::delay() const {
  std::shared_ptr<runnel_program> program;
  {
    const Lock lock(element_);
    program = program_ != nullptr ? program_ : trial_;
  }
  const double seconds = program == nullptr ? -1 : runnel_delay_of(program.get());
  return seconds < 0 ? 0 : static_cast<GstClockTime>(std::llround(seconds * static_cast<double>(GST_SECOND)));
}

std::uint64_t Worker::events() const {
  const Lock lock(element_);
  return events_;
}

std::uint64_t Worker::lost_samples() const {
  const Lock lock(element_);
  return lost_;
}

void Worker::failed() {
  GST_ELEMENT_ERROR(element_, STREAM, FAILED, ("%s", runnel_last_failure()), (nullptr));
}

bool Worker::set_format(const GstAudioInfo& info) {
  const bool same = stream_.is_open() && info.rate == info_.rate && info.channels == info_.channels;
  info_ = info;
  if (same) return true;
  if (!stream_.finish()) failed();
  stream_.close();
  const Settings settings = this->settings();
  std::shared_ptr<runnel_program> program;
  {
    const Lock lock(element_);
    program = trial_;
  }
  const auto rate = static_cast<std::uint32_t>(info.rate),
             channels = static_cast<std::uint32_t>(info.channels);
  const runnel_facts facts = program == nullptr ? runnel_facts{} : runnel_facts_of(program.get());
  if (facts.sample_rate != rate || facts.channels != channels)
    program = gstreamer::load(settings, rate, channels);
  if (program == nullptr || !stream_.open(program.get(), settings)) {
    failed();
    return false;
  }
  messages_ = settings.messages;
  const Lock lock(element_);
  program_ = std::move(program);
  return true;
}

void Worker::stop() {
  stream_.close();
  warned_ = false;
  forget_segment();
  const Lock lock(element_);
  program_.reset();
}

void Worker::forget_segment() {
  const Lock lock(element_);
  gst_segment_init(&segment_, GST_FORMAT_UNDEFINED);
}

GstFlowReturn Worker::take(GstBuffer* buffer) {
  if (!stream_.is_open()) return GST_FLOW_NOT_NEGOTIATED;
  if (segment_.rate < 0) {
    if (!std::exchange(warned_, true)) {
      GST_ELEMENT_WARNING(element_, STREAM, FAILED,
                          ("sound that is played backwards is passed on, and nothing is heard in it"),
                          (nullptr));
    }
    return GST_FLOW_OK;
  }
  GstMapInfo map;
  if (gst_buffer_map(buffer, &map, GST_MAP_READ) == FALSE) {
    GST_ELEMENT_ERROR(element_, RESOURCE, READ, ("a buffer whose samples cannot be read"), (nullptr));
    return GST_FLOW_ERROR;
  }
  SoundStream::Place place;
  place.time = GST_BUFFER_PTS(buffer);
  place.discontinuous = GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DISCONT) != FALSE;
  if (GST_CLOCK_TIME_IS_VALID(place.time) && segment_.format == GST_FORMAT_TIME) {
    guint64 time = 0;
    if (gst_segment_to_stream_time_full(&segment_, GST_FORMAT_TIME, place.time, &time) > 0)
      place.stream_time = time;
  }
  const auto frame_bytes = static_cast<std::size_t>(GST_AUDIO_INFO_BPF(&info_));
  const bool floats = GST_AUDIO_INFO_IS_FLOAT(&info_) != FALSE;
  buffer_ = buffer;
  text_flow_ = GST_FLOW_OK;
  const bool taken = stream_.push(map.data, floats, map.size / frame_bytes, place);
  const auto frames = static_cast<std::int64_t>(map.size / frame_bytes);
  buffer_ = nullptr;
  gst_buffer_unmap(buffer, &map);
  count();
  if (!taken) {
    failed();
    return GST_FLOW_ERROR;
  }
  if (const auto pad = text(); pad != nullptr && GST_CLOCK_TIME_IS_VALID(place.time))
    pad->advance(place.time + duration_of(frames, stream_.rate()));
  return text_flow_ == GST_FLOW_ERROR || text_flow_ == GST_FLOW_NOT_NEGOTIATED ? text_flow_ : GST_FLOW_OK;
}

void Worker::count() {
  const Lock lock(element_);
  events_ = stream_.events();
  lost_ = stream_.lost_samples();
}

void Worker::post(GstStructure* fields) {
  if (messages_)
    gst_element_post_message(GST_ELEMENT(element_), gst_message_new_element(GST_OBJECT(element_), fields));
  else
    gst_structure_free(fields);
}

void Worker::heard(const runnel_event& event, const char* line) {
  const Clocks clocks{stream_.times(), segment_, stream_.rate()};
  GstStructure* const fields = structure_of(event, line, clocks);
  if (buffer_ != nullptr) attach(buffer_, fields);
  post(fields);
  const auto pad = text();
  if (pad == nullptr) return;
  const GstFlowReturn flow =
      pad->push(line, event.label, stream_.times().time_of(event.begin), stream_.times().time_of(event.end));
  if (flow != GST_FLOW_OK) text_flow_ = flow;
}

void Worker::read(const runnel_text& text) {
  post(structure_of(text, Clocks{stream_.times(), segment_, stream_.rate()}));
}

void Worker::lost(std::int64_t first, std::int64_t count) {
  post(structure_of_gap(first, count, Clocks{stream_.times(), segment_, stream_.rate()}));
}

void Worker::new_segment(const GstSegment& segment) {
  // The stream goes on only where its times do.
  if (!same_mapping(segment, segment_) && !stream_.finish()) failed();
  count();
  {
    const Lock lock(element_);
    segment_ = segment;
  }
  if (const auto pad = text(); pad != nullptr) pad->set_segment(segment);
}

void Worker::before(GstEvent* event) {
  const auto pad = text();
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_STREAM_START:
      if (!stream_.finish()) failed();
      count();
      break;
    case GST_EVENT_FLUSH_START:
      if (pad != nullptr) pad->send(gst_event_ref(event));
      break;
    case GST_EVENT_FLUSH_STOP:
      stream_.abandon();
      // The segment that follows has times of its own.
      forget_segment();
      if (pad != nullptr) pad->send(gst_event_ref(event));
      break;
    case GST_EVENT_EOS:
      if (!stream_.finish()) failed();
      count();
      if (pad != nullptr) pad->send(gst_event_ref(event));
      break;
    case GST_EVENT_GAP: {
      GstClockTime time = GST_CLOCK_TIME_NONE, duration = GST_CLOCK_TIME_NONE;
      gst_event_parse_gap(event, &time, &duration);
      if (!GST_CLOCK_TIME_IS_VALID(time) || !GST_CLOCK_TIME_IS_VALID(duration) || !stream_.is_open()) break;
      if (!stream_.skip_until(time + duration)) failed();
      count();
      if (pad != nullptr) pad->advance(time + duration);
      break;
    }
    default:
      break;
  }
}

void Worker::after(GstEvent* event) {
  if (GST_EVENT_TYPE(event) != GST_EVENT_SEGMENT) return;
  const GstSegment* segment = nullptr;
  gst_event_parse_segment(event, &segment);
  new_segment(*segment);
}

std::shared_ptr<TextPad> Worker::text() const {
  const Lock lock(element_);
  return text_;
}

GstPad* Worker::request_text_pad(GstPadTemplate* from) {
  if (text() != nullptr) return nullptr;
  GstPad* const pad = gst_pad_new_from_template(from, "text");
  gst_pad_set_query_function(pad, query_text_pad);
  gst_pad_use_fixed_caps(pad);
  gst_pad_set_active(pad, TRUE);
  gst_element_add_pad(GST_ELEMENT(element_), pad);
  auto made = std::make_shared<TextPad>(GST_ELEMENT(element_), pad);
  const Lock lock(element_);
  if (segment_.format == GST_FORMAT_TIME) made->set_segment(segment_);
  text_ = std::move(made);
  return pad;
}

void Worker::release_text_pad(GstPad* pad) {
  {
    const Lock lock(element_);
    if (text_ == nullptr || text_->pad() != pad) return;
    text_.reset();
  }
  gst_pad_set_active(pad, FALSE);
  gst_element_remove_pad(GST_ELEMENT(element_), pad);
}

}  // namespace runnel::gstreamer
