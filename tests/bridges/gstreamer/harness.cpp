#include "tests/bridges/gstreamer/harness.h"

#include <algorithm>
#include <cstring>

#include "tests/bridges/sound.h"

namespace runnel::bridges::test {

std::string text_in(const GstStructure* fields, const char* name) {
  const gchar* const text = gst_structure_get_string(fields, name);
  return text == nullptr ? "no " + std::string(name) : std::string(text);
}

std::int64_t sample_in(const GstStructure* fields, const char* name) {
  gint64 value = -1;
  return gst_structure_get_int64(fields, name, &value) != FALSE ? value : -1;
}

GstClockTime time_in(const GstStructure* fields, const char* name) {
  guint64 value = GST_CLOCK_TIME_NONE;
  return gst_structure_get_uint64(fields, name, &value) != FALSE ? value : GST_CLOCK_TIME_NONE;
}

GstElement* make_element(const Properties& properties) {
  GstElement* const element = gst_element_factory_make("runnel", nullptr);
  gst_util_set_object_arg(G_OBJECT(element), "model", digits().c_str());
  g_object_set(element, "decision", kEager, nullptr);
  for (const auto& [name, value] : properties)
    gst_util_set_object_arg(G_OBJECT(element), name.c_str(), value.c_str());
  return element;
}

Harness::Harness(const Properties& properties, const std::string& caps)
    : element_(make_element(properties)), bus_(gst_bus_new()) {
  gst_object_ref_sink(element_);
  gst_element_set_bus(element_, bus_);
  harness_ = gst_harness_new_with_element(element_, "sink", "src");
  if (!caps.empty()) gst_harness_set_src_caps_str(harness_, caps.c_str());
}

Harness::~Harness() {
  gst_harness_teardown(harness_);
  gst_element_set_bus(element_, nullptr);
  gst_object_unref(element_);
  gst_object_unref(bus_);
}

GstFlowReturn Harness::push(const void* samples, std::size_t frames, std::size_t frame_bytes,
                            GstClockTime time, std::size_t block, int rate, bool discontinuous) {
  for (std::size_t at = 0; at < frames; at += block) {
    const std::size_t count = std::min(block, frames - at);
    GstBuffer* const buffer =
        gst_buffer_new_memdup(static_cast<const char*>(samples) + at * frame_bytes, count * frame_bytes);
    if (GST_CLOCK_TIME_IS_VALID(time)) {
      GST_BUFFER_PTS(buffer) = time + gst_util_uint64_scale_round(at, GST_SECOND, static_cast<guint64>(rate));
      GST_BUFFER_DURATION(buffer) =
          gst_util_uint64_scale_round(count, GST_SECOND, static_cast<guint64>(rate));
    }
    if (discontinuous && at == 0) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
    if (const GstFlowReturn flow = gst_harness_push(harness_, buffer); flow != GST_FLOW_OK) return flow;
  }
  return GST_FLOW_OK;
}

std::vector<Fields> Harness::messages(const char* name) {
  std::vector<Fields> found;
  while (GstMessage* const message = gst_bus_pop_filtered(bus_, GST_MESSAGE_ELEMENT)) {
    const GstStructure* const fields = gst_message_get_structure(message);
    if (gst_structure_has_name(fields, name)) found.emplace_back(gst_structure_copy(fields));
    gst_message_unref(message);
  }
  return found;
}

std::string Harness::error() {
  GstMessage* const message = gst_bus_pop_filtered(bus_, GST_MESSAGE_ERROR);
  if (message == nullptr) return {};
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  std::string sentence = error->message;
  g_clear_error(&error);
  gst_message_unref(message);
  return sentence;
}

std::string Harness::lines() {
  std::string all;
  for (const Fields& fields : messages()) all += text_in(fields.get(), "json") + "\n";
  return all;
}

}  // namespace runnel::bridges::test
