// What an output holds of each recording: rows of one shape where it is an array, and no failures where it
// has no room for them.
#pragma once

#include <cstdint>
#include <string>

#include "services/batch/outcome.h"
#include "services/batch/output_format.h"
#include "services/batch/recordings/recording.h"

namespace runnel::batch {

class Rows {
 public:
  explicit Rows(OutputFormat format = OutputFormat::jsonl) : format_(format) {}

  // Checks a line of the index: all arrays of an output have rows of one shape, which the first one
  // determines.
  bool fits(const std::string& index);
  // Moves a failure to the index where it does not fit among rows; rows that do not fit those before them
  // become a failure.
  void settle(Outcome& outcome, const Recording& recording);
  // The header of an array with so many bytes of rows.
  [[nodiscard]] std::string header(std::int64_t bytes) const {
    return array_header(shape_, shape_.values > 0 ? bytes / shape_.bytes() : 0);
  }
  [[nodiscard]] const RowShape& shape() const { return shape_; }

 private:
  OutputFormat format_;
  RowShape shape_;  // once there is a row
};

}  // namespace runnel::batch
