// Reads the rows and cells of a text table, with line numbers for messages.
#pragma once

#include <cstdint>
#include <deque>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pipeline/host/live/byte_input.h"

namespace runnel::pipeline {

// Cells are separated by one character (a space: by any number of spaces), may be in "double" quotes, in
// which "" is a quote, and are trimmed. Blank lines, lines that begin with '#', and a byte order mark at the
// start are skipped. Lines end in LF or CR LF.
class CsvReader {
 public:
  // Longer than any row of a table: a longer line is not text.
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;

  // Errors: not_found, invalid_argument (a folder); they name the file.
  Status open(const std::string& path);
  // Reads live rows, e.g. from a serial line; `input` outlives the reader.
  void open(ByteInput& input);
  void set_separator(char separator) { separator_ = separator; }

  // Skips this many lines, whatever they contain.
  Status skip(std::int64_t lines);
  // The next row; false at the end of the file. Errors: invalid_data with file and line. Cells are valid
  // until the next call.
  Result<bool> next();
  // Whether next() would not wait: always true for files.
  [[nodiscard]] Result<bool> ready();
  // Pushes the current row back: next() returns it again. For a first row that is data and not a header.
  void again() { again_ = true; }

  [[nodiscard]] const std::vector<std::string_view>& cells() const { return cells_; }
  [[nodiscard]] std::string_view text() const { return line_; }
  [[nodiscard]] std::int64_t line() const { return line_number_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  // Appends more bytes to the buffer; false: end of input.
  Result<bool> read_more();
  Result<bool> read_line();
  Status split();
  // "a.csv, line 7, column 3: ", to which the caller appends.
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
  std::deque<std::string> unquoted_;  // those that are not in line_ as they are
};

// The most frequent separator in a line: tab, semicolon or comma, else a space. With `decimal_comma`, a comma
// is not a separator.
char guess_separator(std::string_view line, bool decimal_comma);

}  // namespace runnel::pipeline
