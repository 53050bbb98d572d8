// Live rows of a sensor from a serial line, a FIFO or the standard input.
#pragma once

#include "pipeline/nodes/host/live/live_source.h"
#include "pipeline/nodes/host/table/csv_source.h"

namespace runnel::pipeline {

// Like `csv`, but gives every row when it arrives, and continues where `csv` would refuse a recording:
// unreadable, missing and repeated rows are counted, and lost samples are a gap.
class Sensor final : public CsvSource, public LiveSource {
 public:
  static const NodeType type;

  std::int64_t baud = 115200;
  std::string_view garbled = "drop";
  std::int64_t skip = -1;

  Sensor();
  Status prepare(NodeContext& context) noexcept override;
  [[nodiscard]] Text note() const noexcept override;
  CaptureFacts capture_facts() const override { return {}; }
  std::int64_t waited_nanoseconds() const noexcept override { return input_.waited_nanoseconds(); }

 protected:
  Status open() override;
  Result<bool> read_row() override;

 private:
  ByteInput input_;
  std::int64_t garbled_rows_ = 0;
  std::int64_t in_a_row_ = 0;  // consecutive rows out of order
};

}  // namespace runnel::pipeline
