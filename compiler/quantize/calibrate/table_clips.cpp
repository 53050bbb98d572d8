#include "compiler/quantize/calibrate/table_clips.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/suggest.h"

namespace runnel::compiler::quantizer {
namespace {

namespace fs = std::filesystem;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  if (text.size() > 1 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return text;
}

// The cells of a line: between commas or semicolons, or between blanks where there are neither. A separator
// at the end of a line adds no cell.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  const bool separated = line.find_first_of(",;") != std::string_view::npos;
  if (!separated) {
    while (!line.empty()) {
      while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
      const auto end =
          static_cast<std::size_t>(std::find_if(line.begin(), line.end(), is_blank) - line.begin());
      if (end > 0) cells.push_back(trimmed(line.substr(0, end)));
      line.remove_prefix(end);
    }
    return cells;
  }
  for (;;) {
    const std::size_t end = std::min(line.find_first_of(",;"), line.size());
    // Blanks between numbers count as separators, too.
    std::string_view cell = trimmed(line.substr(0, end));
    for (std::size_t blank = cell.find_first_of(" \t"); blank != std::string_view::npos;
         blank = cell.find_first_of(" \t")) {
      cells.push_back(trimmed(cell.substr(0, blank)));
      cell = trimmed(cell.substr(blank));
    }
    cells.push_back(cell);
    if (end == line.size()) return cells;
    line.remove_prefix(end + 1);
    if (line.empty()) return cells;
  }
}

bool number_of(std::string_view cell, float& value) {
  const std::string text(cell);
  char* end = nullptr;
  value = std::strtof(text.c_str(), &end);
  return !text.empty() && *end == '\0';
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Which cells of a line are data.
Result<std::vector<std::size_t>> chosen_columns(const fs::path& path, const std::vector<std::string>& names,
                                                std::size_t columns, const TableOptions& options) {
  std::vector<std::size_t> chosen;
  for (const std::string& wanted : options.columns) {
    std::size_t at = columns;
    if (!names.empty()) {
      at = static_cast<std::size_t>(std::find(names.begin(), names.end(), wanted) - names.begin());
    } else {
      const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), at);
      at = error == std::errc() && end == wanted.data() + wanted.size() && at > 0 ? at - 1 : columns;
    }
    if (at >= columns) {
      Status status(Code::invalid_argument);
      status << path.string() << ": no column \"" << wanted << "\", expected ";
      if (names.empty()) {
        status << "a number from 1 to " << columns << ", because the first line has no names";
      } else {
        status << "one of " << joined(names);
        Suggestion nearest(wanted);
        for (const std::string& name : names) nearest.consider(name);
        if (!nearest.best().empty()) status << "; did you mean " << nearest.best() << "?";
      }
      return status;
    }
    if (std::find(chosen.begin(), chosen.end(), at) != chosen.end())
      return Status(Code::invalid_argument)
             << path.string() << ": column \"" << wanted << "\" more than once, expected each column once";
    chosen.push_back(at);
  }
  for (std::size_t i = 0; options.columns.empty() && i < columns; ++i) chosen.push_back(i);
  return chosen;
}

std::string shape_text_of(const std::vector<std::int32_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

// The axes of an input that have more than one value.
struct Axes {
  std::vector<std::size_t> sizes;
  int time = -1;  // among them; -1: unknown
};
Axes axes_of(const Tensor& input, int time_axis) {
  Axes axes;
  for (std::size_t i = 0; i < input.shape.size(); ++i) {
    if (input.shape[i] == 1) continue;
    if (static_cast<int>(i) == time_axis) axes.time = static_cast<int>(axes.sizes.size());
    axes.sizes.push_back(static_cast<std::size_t>(input.shape[i]));
  }
  return axes;
}

// A way to read the lines.
struct Reading {
  std::size_t columns = 0, lines = 1;
  bool transposed = false;
  TableRow row = TableRow::clip;
  std::string what;  // "a line is a frame of 6 values, 128 lines are a clip"
};

std::vector<Reading> readings_of(const Axes& axes, std::size_t elements) {
  std::vector<Reading> readings = {{elements, 1, false, TableRow::clip, "a line is a clip"}};
  if (axes.sizes.size() < 2) return readings;
  const std::size_t inner = axes.sizes.back(), outer = elements / inner;
  const bool flat = axes.sizes.size() == 2;
  // Without a known axis of time the last one counts as values of a frame.
  const bool inner_is_time = flat && axes.time == 1;
  const auto add = [&](std::size_t columns, std::size_t lines, bool transposed, bool frame) {
    readings.push_back({columns, lines, transposed, frame ? TableRow::frame : TableRow::channel,
                        std::string("a line is ") + (frame ? "a frame of " : "a channel of ") +
                            std::to_string(columns) + (frame ? " values, " : " frames, ") +
                            std::to_string(lines) + " lines are a clip"});
  };
  add(inner, outer, false, !inner_is_time);
  if (flat) add(outer, inner, true, inner_is_time);
  return readings;
}

std::string_view name_of(TableRow row) {
  return row == TableRow::frame ? "frame" : row == TableRow::channel ? "channel" : "clip";
}

}  // namespace

Result<NumberTable> read_number_table(const fs::path& path, const TableOptions& options) {
  std::ifstream in(path);
  if (!in) return Status(Code::io_error) << path.string() << ": cannot be opened";
  NumberTable table;
  std::vector<std::string> names;
  std::vector<std::size_t> chosen;
  std::size_t columns = 0;
  int number = 0;
  bool open_heading = false;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::vector<std::string_view> cells = cells_of(line);
    if (cells.empty()) continue;
    float value = 0;
    if (number == 1 && std::none_of(cells.begin(), cells.end(),
                                    [&](std::string_view cell) { return number_of(cell, value); })) {
      names.assign(cells.begin(), cells.end());
      // The separator at the end may stand before a column without a name.
      open_heading = line.find_last_of(",;") != std::string::npos &&
                     line.find_first_not_of(" \t\r", line.find_last_of(",;") + 1) == std::string::npos;
      continue;
    }
    const auto at = [&] {
      Status status(Code::invalid_data);
      status << path.string() << ": line " << number << ": ";
      return status;
    };
    if (columns == 0) {
      columns = cells.size();
      if (open_heading && names.size() + 1 == columns) names.emplace_back();
      if (!names.empty() && names.size() != columns)
        return at() << columns << " numbers, expected " << names.size() << " as the heading names";
      RUNNEL_ASSIGN(chosen, chosen_columns(path, names, columns, options));
      for (const std::size_t i : chosen) {
        if (!names.empty()) table.names.push_back(names[i]);
      }
      table.columns = chosen.size();
    }
    if (std::any_of(cells.begin(), cells.end(), [](std::string_view cell) { return cell.empty(); }))
      return at() << "an empty cell, expected a number";
    for (const std::size_t i : chosen) {
      if (i >= cells.size()) break;
      if (!number_of(cells[i], value)) return at() << "\"" << std::string(cells[i]) << "\" is no number";
      table.values.push_back(value);
    }
    if (cells.size() != columns)
      return at() << cells.size() << " numbers, expected " << columns << " as in the lines before";
  }
  return table;
}

Result<TableLayout> layout_of_table(const fs::path& path, const NumberTable& table, const Tensor& input,
                                    const TableOptions& options) {
  const std::size_t elements = element_count(input.shape);
  const std::string whose = " for clips " + shape_text_of(input.shape) + " of input " + input.name;
  if (table.values.empty())
    return Status(Code::mismatch) << path.string() << ": 0 numbers, expected some" << whose;
  std::vector<Reading> fitting;
  std::string expected;
  for (const Reading& reading : readings_of(axes_of(input, options.time_axis), elements)) {
    if (options.row != TableRow::automatic && reading.row != options.row) continue;
    expected +=
        (expected.empty() ? "" : " or ") + std::to_string(reading.columns) + " (" + reading.what + ")";
    if (reading.columns == table.columns) fitting.push_back(reading);
  }
  // One number a line, in the layout of the input.
  if (fitting.empty() && table.columns == 1 && options.row == TableRow::automatic)
    fitting.push_back({1, elements, false, TableRow::clip, "a line is a single value in the input's layout"});
  if (fitting.empty()) {
    Status status(Code::mismatch);
    status << path.string() << ": " << table.columns << " columns";
    if (!table.names.empty()) status << " (" << joined(table.names) << ")";
    if (expected.empty())
      status << ", and input " << input.name << " " << shape_text_of(input.shape) << " has no "
             << name_of(options.row) << "s to read line by line; expected --rows clip";
    else
      status << ", expected " << expected << whose << "; --columns names those that are data";
    return status;
  }
  if (fitting.size() > 1) {
    return Status(Code::invalid_argument)
           << path.string() << ": " << table.columns << " columns could mean that " << fitting[0].what
           << ", or that " << fitting[1].what << whose << "; expected --rows " << name_of(fitting[0].row)
           << " or --rows " << name_of(fitting[1].row);
  }
  const std::size_t lines = table.values.size() / table.columns;
  if (lines % fitting[0].lines != 0) {
    return Status(Code::mismatch) << path.string() << ": " << lines << " lines, expected a multiple of "
                                  << fitting[0].lines << " (" << fitting[0].what << ")" << whose;
  }
  TableLayout layout;
  layout.clips = lines / fitting[0].lines;
  layout.transposed = fitting[0].transposed;
  layout.lines = fitting[0].lines;
  if (options.row == TableRow::automatic)
    layout.note = path.string() + ": " +
                  (table.names.empty()   ? std::to_string(table.columns) + " columns"
                   : table.columns <= 16 ? "columns " + joined(table.names)
                                         : std::to_string(table.columns) + " columns from " +
                                               table.names.front() + " to " + table.names.back()) +
                  "; " + fitting[0].what +
                  (layout.transposed ? ", turned into the layout of input " + input.name : std::string());
  return layout;
}

void copy_clip(const NumberTable& table, const TableLayout& layout, std::size_t index,
               std::vector<float>& clip) {
  const std::size_t elements = layout.lines * table.columns;
  clip.resize(elements);
  const float* const from = table.values.data() + index * elements;
  if (!layout.transposed) {
    std::copy_n(from, elements, clip.begin());
    return;
  }
  for (std::size_t line = 0; line < layout.lines; ++line) {
    for (std::size_t column = 0; column < table.columns; ++column)
      clip[column * layout.lines + line] = from[line * table.columns + column];
  }
}

}  // namespace runnel::compiler::quantizer
