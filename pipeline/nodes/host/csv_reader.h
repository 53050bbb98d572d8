// Rows of a table in text, cell by cell, with line numbers for messages.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::pipeline {

// Cells are separated by one character (a space stands for any number of spaces), may stand in "double" quotes, and have spaces around
// them removed. Blank lines and lines that begin with '#' are skipped, also a byte order mark at the start. Lines end in LF or CR LF.
class CsvReader {
 public:
  // More bytes than a row of a table has: what is longer is no text.
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;

  // Errors: not_found, invalid_argument (a folder); they name the file.
  Status open(const std::string& path);
  void set_separator(char separator) { separator_ = separator; }

  // The next row; false at the end of the file. Errors: invalid_data with file and line. Cells are valid until the next call.
  Result<bool> next();
  // The present row again: next() gives it once more. Used when it turned out to be data and not a header.
  void again() { again_ = true; }

  [[nodiscard]] const std::vector<std::string_view>& cells() const { return cells_; }
  [[nodiscard]] std::string_view text() const { return line_; }
  [[nodiscard]] std::int64_t line() const { return line_number_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Result<bool> read_line();
  Status split();
  // "a.csv, line 7, column 3: ", to be gone on with.
  [[nodiscard]] Status bad() const;

  std::string path_;
  std::ifstream in_;
  std::string buffer_, line_;
  std::size_t at_ = 0;               // in buffer_
  std::int64_t line_number_ = 0;     // from 1
  char separator_ = ',';
  bool again_ = false;
  std::vector<std::string_view> cells_;
};

// The separator of which a line has most: tab, semicolon, comma, else a space. With `decimal_comma`, a comma is none.
char guess_separator(std::string_view line, bool decimal_comma);

}  // namespace runnel::pipeline
