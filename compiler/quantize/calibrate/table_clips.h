// Clips in tables of numbers (.csv): which columns are data, and what a line holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler::quantizer {

// What a line of a table holds. frame: the values of all channels at one time; channel: the values of one
// channel at all times of a clip; clip: all values of a clip, in the layout of the input. automatic: what the
// number of columns fits; a table that fits two of them is refused.
enum class TableRow : std::uint8_t { automatic, frame, channel, clip };

struct TableOptions {
  // Columns that are data, in this order: by the names of the first line, or counted from 1 where there are
  // no names. Empty: all of them.
  std::vector<std::string> columns;
  TableRow row = TableRow::automatic;
  // Axis of the input that counts frames; -1: unknown, the last axis then holds the values of a frame.
  int time_axis = -1;
};

// A table of numbers between commas, semicolons or blanks.
struct NumberTable {
  std::vector<std::string> names;  // of the columns that were read; empty: the file has no heading
  std::size_t columns = 0;
  std::vector<float> values;  // line by line
};
// Reads the columns that `options` name. A first line without numbers is the heading. Errors: io_error;
// invalid_data with the line for text, empty cells and lines of another length; invalid_argument for columns
// that there are not, naming those that there are.
Result<NumberTable> read_number_table(const std::filesystem::path& path, const TableOptions& options);

// How lines become clips of an input.
struct TableLayout {
  std::size_t clips = 0;
  bool transposed = false;  // lines are frames of an input whose channels come first, or the reverse
  std::size_t lines = 1;    // of a clip
  std::string note;         // for people: what a line was taken for; empty where it was said
};
// Errors: mismatch naming columns, expected and found;
// invalid_argument for a table that could be read in two ways.
Result<TableLayout> layout_of_table(const std::filesystem::path& path, const NumberTable& table,
                                    const Tensor& input, const TableOptions& options);

// Copies a clip out of the table. `index` < layout.clips; `clip`: as many values as the input has.
void copy_clip(const NumberTable& table, const TableLayout& layout, std::size_t index,
               std::vector<float>& clip);

}  // namespace runnel::compiler::quantizer
