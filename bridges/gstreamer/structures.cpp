#include "bridges/gstreamer/structures.h"

namespace runnel::gstreamer {
namespace {

gboolean copy_field(GQuark field, const GValue* value, gpointer to) {
  gst_structure_id_set_value(static_cast<GstStructure*>(to), field, value);
  return TRUE;
}

}  // namespace

GstClockTime Clocks::stream_time(std::int64_t sample) const noexcept {
  const GstClockTime time = times.time_of(sample);
  guint64 found = GST_CLOCK_TIME_NONE;
  if (!GST_CLOCK_TIME_IS_VALID(time) || segment.format != GST_FORMAT_TIME) return GST_CLOCK_TIME_NONE;
  // Decisions may begin before the segment.
  return gst_segment_to_stream_time_full(&segment, GST_FORMAT_TIME, time, &found) > 0 ? found
                                                                                      : GST_CLOCK_TIME_NONE;
}

GstClockTime Clocks::running_time(std::int64_t sample) const noexcept {
  const GstClockTime time = times.time_of(sample);
  guint64 found = GST_CLOCK_TIME_NONE;
  if (!GST_CLOCK_TIME_IS_VALID(time) || segment.format != GST_FORMAT_TIME) return GST_CLOCK_TIME_NONE;
  return gst_segment_to_running_time_full(&segment, GST_FORMAT_TIME, time, &found) > 0 ? found
                                                                                       : GST_CLOCK_TIME_NONE;
}

GstStructure* structure_of(const runnel_event& event, const char* line, const Clocks& clocks) {
  return gst_structure_new(
      kEventName, "label", G_TYPE_STRING, event.label, "label-index", G_TYPE_INT, event.label_index, "score",
      G_TYPE_FLOAT, static_cast<double>(event.score), "start", G_TYPE_UINT64, clocks.stream_time(event.begin),
      "end", G_TYPE_UINT64, clocks.stream_time(event.end), "running-time", G_TYPE_UINT64,
      clocks.running_time(event.end), "start-sample", G_TYPE_INT64, event.begin, "end-sample", G_TYPE_INT64,
      event.end, "rate", G_TYPE_INT, static_cast<int>(clocks.rate), "frame", G_TYPE_INT64, event.frame,
      "json", G_TYPE_STRING, line, nullptr);
}

GstStructure* structure_of(const runnel_text& text, const Clocks& clocks) {
  return gst_structure_new(
      kTextName, "text", G_TYPE_STRING, text.text, "final", G_TYPE_BOOLEAN, text.is_final, "segment",
      G_TYPE_INT64, text.segment, "stable-words", G_TYPE_INT, text.stable, "words", G_TYPE_INT,
      static_cast<int>(text.word_count), "start", G_TYPE_UINT64, clocks.stream_time(text.begin), "end",
      G_TYPE_UINT64, clocks.stream_time(text.end), "start-sample", G_TYPE_INT64, text.begin, "end-sample",
      G_TYPE_INT64, text.end, "rate", G_TYPE_INT, static_cast<int>(clocks.rate), nullptr);
}

GstStructure* structure_of_gap(std::int64_t first, std::int64_t lost, const Clocks& clocks) {
  return gst_structure_new(kGapName, "start", G_TYPE_UINT64, clocks.stream_time(first), "end", G_TYPE_UINT64,
                           clocks.stream_time(first + lost), "start-sample", G_TYPE_INT64, first,
                           "lost-samples", G_TYPE_INT64, lost, "rate", G_TYPE_INT,
                           static_cast<int>(clocks.rate), nullptr);
}

void register_meta() {
  // Of what is heard: stays with buffers that keep their sound.
  static const char* tags[] = {"audio", nullptr};
  if (gst_meta_get_info(kMetaName) == nullptr)
    gst_meta_register_custom(kMetaName, tags, nullptr, nullptr, nullptr);
}

void attach(GstBuffer* buffer, const GstStructure* fields) {
  GstCustomMeta* const meta = gst_buffer_add_custom_meta(buffer, kMetaName);
  if (meta != nullptr) gst_structure_foreach(fields, copy_field, gst_custom_meta_get_structure(meta));
}

}  // namespace runnel::gstreamer
