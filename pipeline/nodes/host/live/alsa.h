// Live capture through ALSA.
#pragma once

#include <string_view>

#include "pipeline/host/live/alsa_capture.h"
#include "pipeline/host/live/capture_reader.h"
#include "pipeline/node.h"
#include "pipeline/nodes/host/live/live_source.h"

namespace runnel::pipeline {

// Gives float32 at the device's rate, as soon as samples arrive. A separate thread reads the device
// (alsa_capture.h) into a ring, which process() empties. Samples lost anywhere become gaps. A device that
// fails repeatedly without a sample in between, or gives none for some seconds, is an error; one that is
// unplugged and not plugged in again ends the stream.
class Alsa final : public Node, public LiveSource {
 public:
  static const NodeType type;

  std::string_view device = "default";
  std::int32_t rate = 16000;
  std::int32_t channels = 1;
  std::string_view format = "auto";
  std::string_view access = "read";
  double period = 10;   // ms
  double buffer = 200;  // ms
  double duration = 0;  // s; 0: until stopped
  double replug = 0;    // s
  double queue = 1000;  // ms
  std::string_view overload = "block";
  bool realtime = true;

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Text note() const noexcept override;
  CaptureFacts capture_facts() const override;
  std::int64_t waited_nanoseconds() const noexcept override { return waited_; }
  bool overloaded() const noexcept override { return reader_.overloaded(); }

 private:
  bool refill(Output& out) noexcept;
  void wait() noexcept;

  AlsaCapture capture_;
  CaptureReader reader_;
  const std::atomic<bool>* stop_ = nullptr;
  std::int64_t waited_ = 0;  // ns
};

}  // namespace runnel::pipeline
