// Sensors of Linux's industrial I/O through their buffers: accelerometers, gyroscopes, converters with a
// kernel driver.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/host/live/byte_input.h"
#include "pipeline/host/live/iio_layout.h"
#include "pipeline/node.h"
#include "pipeline/nodes/host/live/live_source.h"
#include "pipeline/nodes/host/table/time_stamps.h"

namespace runnel::pipeline {

// Gives every scan when it arrives, in the units of the kernel's interface. With time stamps, sample i is
// point i on the grid of the rate, and missing scans are a gap. Turns the buffer on if it is off, and off
// again at the end.
class Iio final : public Node, public LiveSource {
 public:
  static const NodeType type;

  std::string_view device;
  std::string_view buffer;
  double rate = 0;
  double tolerance = 0.5;
  double max_gap = 3600;

  ~Iio() override;
  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override;
  CaptureFacts capture_facts() const override { return {}; }
  std::int64_t waited_nanoseconds() const noexcept override { return input_.waited_nanoseconds(); }

 private:
  Status open();
  // Reads the next scan; scan() returns it. False at the end.
  Result<bool> next();
  // False when the scan is dropped.
  Result<bool> place();
  [[nodiscard]] std::span<const std::byte> scan() const noexcept {
    return std::span(bytes_).subspan(at_, layout_.scan_bytes);
  }

  IioLayout layout_;
  ByteInput input_;
  bool turned_on_ = false;
  std::vector<std::byte> bytes_;  // scans read, the first unused one at at_
  std::size_t at_ = 0, filled_ = 0;
  bool held_ = false;  // scan() has not been given yet
  std::optional<TimeGrid> grid_;
  Rate grid_rate_;
  std::int64_t lost_ = 0;  // before scan()
  std::int64_t dropped_ = 0, irregular_ = 0;
};

}  // namespace runnel::pipeline
