// Rows of a table in text, cell by cell, with line numbers for messages.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pipeline/host/live/byte_input.h"

namespace runnel::pipeline {

// Cells are separated by one character (a space stands for any number of spaces), may stand in "double"
// quotes, and have spaces around them removed. Blank lines and lines that begin with '#' are skipped, also a
// byte order mark at the start. Lines end in LF or CR LF.
class CsvReader {
 public:
  // More bytes than a row of a table has: what is longer is no text.
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;

  // Errors: not_found, invalid_argument (a folder); they name the file.
  Status open(const std::string& path);
  // Rows that come one by one, e.g. over a serial line; `input` outlives the reader.
  void open(ByteInput& input);
  void set_separator(char separator) { separator_ = separator; }

  // Leaves out so many lines, whatever is in them.
  Status skip(std::int64_t lines);
  // The next row; false at the end of the file. Errors: invalid_data with file and line. Cells are valid
  // until the next call.
  Result<bool> next();
  // Whether next() would not wait: all but true for rows that come one by one.
  [[nodiscard]] Result<bool> ready();
  // The present row again: next() gives it once more. Used when it turned out to be data and not a header.
  void again() { again_ = true; }

  [[nodiscard]] const std::vector<std::string_view>& cells() const { return cells_; }
  [[nodiscard]] std::string_view text() const { return line_; }
  [[nodiscard]] std::int64_t line() const { return line_number_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  // Gets more bytes after those that are there; false: there are none any more.
  Result<bool> read_more();
  Result<bool> read_line();
  Status split();
  // "a.csv, line 7, column 3: ", to be gone on with.
  [[nodiscard]] Status bad() const;

  std::string path_;
  std::ifstream in_;
  ByteInput* input_ = nullptr;  // instead of the file
  std::string buffer_, line_;
  std::size_t at_ = 0;            // in buffer_
  std::int64_t line_number_ = 0;  // from 1
  char separator_ = ',';
  bool again_ = false;
  std::vector<std::string_view> cells_;
};

// The separator of which a line has most: tab, semicolon, comma, else a space. With `decimal_comma`, a comma
// is none.
char guess_separator(std::string_view line, bool decimal_comma);

}  // namespace runnel::pipeline
