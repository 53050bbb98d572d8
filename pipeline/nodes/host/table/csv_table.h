// A text table of numbers: detects the separator and the header, selects columns by name or number, and
// parses cells.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pipeline/nodes/host/table/csv_reader.h"
#include "pipeline/nodes/host/table/time_stamps.h"

namespace runnel::pipeline {

// Every failure names the file, and the line and column if it has one.
class CsvTable {
 public:
  struct Settings {
    std::string_view separator = "auto";  // auto, comma, semicolon, tab, space
    std::string_view header = "auto";     // auto, yes, no
    bool decimal_comma = false;
  };
  // A cell: `value` is valid, and finite, when `there` is true.
  struct Cell {
    float value = 0;
    bool there = false;
  };

  // Opens the table and stops before the first row of numbers. Call it again to rewind.
  Status open(std::string_view path, const Settings& settings);
  // The same for live rows, once only. Skips `skip` lines and waits for the first row.
  Status open(ByteInput& input, const Settings& settings, std::int64_t skip);
  // False at the end. Also fails for a row that is wider than the first one.
  Result<bool> next();
  void again() { reader_.again(); }
  // Whether next() would not wait.
  Result<bool> ready() { return reader_.ready(); }

  // A column by name, or by number from 1. `what`: the parameter, for messages. Errors: not_found,
  // invalid_argument.
  Status find_column(std::string_view what, std::string_view name, std::size_t& index) const;
  // Names, numbers and ranges of numbers, separated by commas; empty: all but `without`.
  Status find_columns(std::string_view what, std::string_view list, std::size_t without,
                      std::vector<std::size_t>& indices) const;

  Result<Cell> number(std::size_t column) const;
  Result<std::int64_t> time(std::size_t column, TimeUnit unit) const;
  // The text of a cell, at most 40 bytes; empty beyond the end of the row.
  [[nodiscard]] std::string_view shown(std::size_t column) const;
  [[nodiscard]] bool reaches(std::size_t column) const { return column < reader_.cells().size(); }
  // "a.csv, line 7, column 3 (acc_z): ", to which the caller appends.
  [[nodiscard]] Status at_cell(std::size_t column) const;
  [[nodiscard]] const std::string& path() const { return reader_.path(); }

 private:
  Status begin();

  CsvReader reader_;
  Settings settings_;
  std::vector<std::string> names_;  // of the columns; empty without a header
  std::size_t width_ = 0;           // cells per row
};

}  // namespace runnel::pipeline
