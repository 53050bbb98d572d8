// Live capture through PortAudio, which other systems than Linux have too.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "pipeline/host/live/capture_reader.h"
#include "pipeline/host/live/portaudio/capture.h"
#include "pipeline/node.h"
#include "pipeline/nodes/host/live/live_source.h"

namespace runnel::pipeline {

// Gives float32 at the device's rate, as soon as samples arrive. A thread of PortAudio's fills a ring
// (portaudio/capture.h), which process() empties. Samples lost anywhere become gaps. A device that gives no
// sample for some seconds is an error; one that is unplugged and not plugged in again ends the stream.
class PortAudio final : public Node, public LiveSource {
 public:
  static const NodeType type;

  std::string_view device = "default";
  std::int32_t rate = 16000;
  std::int32_t channels = 1;
  double period = 10;   // ms
  double buffer = 200;  // ms
  double duration = 0;  // s; 0: until stopped
  double replug = 0;    // s
  double queue = 1000;  // ms
  std::string_view overload = "drop-newest";

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Text note() const noexcept override;
  CaptureFacts capture_facts() const override;
  std::int64_t waited_nanoseconds() const noexcept override { return waited_; }
  bool overloaded() const noexcept override { return reader_.overloaded(); }

 private:
  Status start() noexcept;
  bool refill(Output& out) noexcept;
  void wait() noexcept;
  Status inactive(bool& ended) noexcept;
  Status silent() noexcept;

  PortAudioCapture capture_;
  CaptureReader reader_;
  const std::atomic<bool>* stop_ = nullptr;
  bool started_ = false, away_ = false, gone_ = false;
  double left_ = 0;          // when it was unplugged, s
  double heard_ = 0;         // when the latest sample was there, s
  std::int64_t waited_ = 0;  // ns
};

}  // namespace runnel::pipeline
