// Sensor recordings as text tables: one row per sample, one column per channel.
#pragma once

#include <optional>
#include <vector>

#include "pipeline/node.h"
#include "pipeline/nodes/host/table/csv_table.h"
#include "pipeline/nodes/host/table/time_stamps.h"

namespace runnel::pipeline {

// Gives the values unscaled, as float32. With a column of time stamps, sample i is point i on the grid of the
// rate, missing rows are counted, and the format has the time of sample 0. Reads row by row: memory does not
// grow with the file.
class CsvSource : public Node {
 public:
  static const NodeType type;

  std::string_view path;
  std::string_view columns;
  std::string_view time;
  std::string_view time_unit = "s";
  double rate = 0;
  std::string_view separator = "auto";
  std::string_view decimal = "point";
  std::string_view header = "auto";
  std::string_view missing = "error";
  double fill = 0;
  std::string_view gaps = "gap";
  double max_gap = 3600;
  std::string_view irregular = "error";
  double tolerance = 0.5;
  std::string_view out_of_order = "error";

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override;

 protected:
  [[nodiscard]] CsvTable::Settings settings() const {
    return {.separator = separator, .header = header, .decimal_comma = decimal == "comma"};
  }
  // Leaves the table at its first row.
  virtual Status open() { return table_.open(path, settings()); }
  // False at the end of the file. Sets held_ and the losses before the row.
  virtual Result<bool> read_row();
  // Finds the position in time of the current row. False when the row is dropped; it may then count as lost.
  Result<bool> take_row();

  CsvTable table_;
  Rate grid_rate_;
  std::optional<TimeGrid> grid_;
  std::int64_t pending_lost_ = 0;  // samples to report as lost before row_
  std::int64_t dropped_rows_ = 0;
  bool placed_ = false;  // the position in time of the current row is known

 private:
  Status find_rate();
  Result<bool> place_row();
  Result<bool> fill_cells();

  std::vector<std::size_t> channels_;
  std::size_t time_column_ = static_cast<std::size_t>(-1);
  TimeUnit unit_ = TimeUnit::s;

  std::vector<float> row_, previous_;
  bool held_ = false;              // row_ has not been given yet
  bool any_ = false;               // previous_ is valid
  std::int64_t pending_fill_ = 0;  // rows to fill in before row_
  std::int64_t filled_cells_ = 0, filled_rows_ = 0, irregular_rows_ = 0;
};

}  // namespace runnel::pipeline
