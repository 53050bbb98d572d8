// The element in GStreamer's harness: buffers in; buffers, messages and texts out.
#pragma once

#include <gst/audio/audio.h>
#include <gst/check/gstharness.h>
#include <gst/gst.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace runnel::bridges::test {

struct FreeStructure {
  void operator()(GstStructure* fields) const { gst_structure_free(fields); }
};
using Fields = std::unique_ptr<GstStructure, FreeStructure>;

std::string text_in(const GstStructure* fields, const char* name);
std::int64_t sample_in(const GstStructure* fields, const char* name);
GstClockTime time_in(const GstStructure* fields, const char* name);

using Properties = std::vector<std::pair<std::string, std::string>>;

// An element with the model of digits and the eager decision, unless the properties say otherwise.
GstElement* make_element(const Properties& properties = {});

inline constexpr const char* kMono16 = "audio/x-raw,format=S16LE,rate=16000,channels=1,layout=interleaved";

class Harness {
 public:
  // Caps of the samples; empty: none yet.
  explicit Harness(const Properties& properties = {}, const std::string& caps = kMono16);
  ~Harness();
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;

  [[nodiscard]] GstHarness* get() const { return harness_; }
  [[nodiscard]] GstElement* element() const { return element_; }
  // Pushes samples, in buffers of `block` frames, the first presented at `time` (none: without times).
  // `bytes` is the size of a sample, `channels` of a frame.
  GstFlowReturn push(const void* samples, std::size_t frames, std::size_t frame_bytes, GstClockTime time = 0,
                     std::size_t block = 160, int rate = 16000, bool discontinuous = false);
  GstFlowReturn push(const std::vector<std::int16_t>& samples, GstClockTime time = 0,
                     std::size_t block = 160) {
    return push(samples.data(), samples.size(), 2, time, block);
  }
  bool send(GstEvent* event) { return gst_harness_push_event(harness_, event) != FALSE; }
  void end() { send(gst_event_new_eos()); }

  // Messages of the element with this name since the last call; an error's sentence when there is one.
  std::vector<Fields> messages(const char* name = "runnel-event");
  std::string error();
  // Lines of JSON of the messages of events since the last call.
  std::string lines();

 private:
  GstElement* element_;
  GstBus* bus_;
  GstHarness* harness_;
};

}  // namespace runnel::bridges::test
