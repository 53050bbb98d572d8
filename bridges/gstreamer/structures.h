// Decisions, texts and gaps as structures of GStreamer. docs/gstreamer.md lists their fields.
#pragma once

#include <gst/gst.h>

#include <cstdint>

#include "bridges/gstreamer/sound_times.h"
#include "library/runnel_host.h"

namespace runnel::gstreamer {

inline constexpr const char* kEventName = "runnel-event";
inline constexpr const char* kTextName = "runnel-text";
inline constexpr const char* kGapName = "runnel-gap";
// Of the metadata of buffers, which has the fields of an event.
inline constexpr const char* kMetaName = "GstRunnelEventMeta";

// Where sample numbers lie.
struct Clocks {
  const SoundTimes& times;
  const GstSegment& segment;  // in GST_FORMAT_TIME
  std::int64_t rate = 1;      // Hz

  // GST_CLOCK_TIME_NONE where there is none.
  [[nodiscard]] GstClockTime stream_time(std::int64_t sample) const noexcept;
  [[nodiscard]] GstClockTime running_time(std::int64_t sample) const noexcept;
};

// The caller owns what these return.
GstStructure* structure_of(const runnel_event& event, const char* line, const Clocks& clocks);
GstStructure* structure_of(const runnel_text& text, const Clocks& clocks);
GstStructure* structure_of_gap(std::int64_t first, std::int64_t lost, const Clocks& clocks);

// Makes the metadata known; once per process.
void register_meta();
// Attaches a copy of `fields` to a buffer whose metadata is writable.
void attach(GstBuffer* buffer, const GstStructure* fields);

}  // namespace runnel::gstreamer
