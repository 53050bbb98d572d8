#include "pipeline/nodes/host/table/csv_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/from_chars.h"
#include "base/limits.h"
#include "base/suggest.h"

namespace runnel::pipeline {
namespace {

constexpr std::size_t kMaxChannels = limits::kTableChannels;

// Words for a missing value.
bool is_absent(std::string_view text) {
  constexpr std::string_view kWords[] = {"",    "nan",  "NaN",  "NAN",  "-nan", "NA", "N/A",
                                         "n/a", "null", "NULL", "None", "-",    "?"};
  return std::find(std::begin(kWords), std::end(kWords), text) != std::end(kWords);
}

bool whole_number(std::string_view text, std::size_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_number(std::string_view text, bool decimal_comma) {
  std::string copy(text);
  if (decimal_comma) std::replace(copy.begin(), copy.end(), ',', '.');
  double value = 0;
  const char* first = copy.data() + (copy.starts_with('+') ? 1 : 0);
  const auto result = from_chars(first, copy.data() + copy.size(), value);
  return result.ec != std::errc::invalid_argument && result.ptr == copy.data() + copy.size();
}

}  // namespace

Status CsvTable::open(std::string_view path, const Settings& settings) {
  settings_ = settings;
  RUNNEL_TRY(reader_.open(std::string(path)));
  return begin();
}

Status CsvTable::open(ByteInput& input, const Settings& settings, std::int64_t skip) {
  settings_ = settings;
  reader_.open(input);
  RUNNEL_TRY(reader_.skip(skip));
  return begin();
}

Status CsvTable::begin() {
  const Settings& settings = settings_;
  RUNNEL_ASSIGN(const bool any, reader_.next());
  if (!any) return Status(Code::invalid_data) << path() << ": is empty, expected rows of numbers";
  constexpr std::pair<std::string_view, char> kSeparators[] = {
      {"comma", ','}, {"semicolon", ';'}, {"tab", '\t'}, {"space", ' '}};
  char between = guess_separator(reader_.text(), settings.decimal_comma);
  for (const auto& known : kSeparators) {
    if (known.first == settings.separator) between = known.second;
  }
  if (between == ',' && settings.decimal_comma)
    return Status(Code::invalid_argument) << "decimal=comma: expected another separator than the comma";
  reader_.set_separator(between);
  reader_.again();
  RUNNEL_TRY(reader_.next().status());
  width_ = reader_.cells().size();
  names_.clear();
  const auto is_name = [&](std::string_view cell) {
    return !is_absent(cell) && !is_number(cell, settings.decimal_comma) &&
           !parse_time(cell, TimeUnit::iso8601);
  };
  const bool names = settings.header == "auto"
                         ? std::any_of(reader_.cells().begin(), reader_.cells().end(), is_name)
                         : settings.header == "yes";
  if (names)
    names_.assign(reader_.cells().begin(), reader_.cells().end());
  else
    reader_.again();
  return {};
}

Result<bool> CsvTable::next() {
  RUNNEL_ASSIGN(const bool more, reader_.next());
  if (more && reader_.cells().size() > width_) {
    return at_cell(width_) << "expected " << width_ << " columns as in the first row, found "
                           << reader_.cells().size();
  }
  return more;
}

std::string_view CsvTable::shown(std::size_t column) const {
  return reaches(column) ? reader_.cells()[column].substr(0, 40) : std::string_view();
}

Status CsvTable::at_cell(std::size_t column) const {
  Status status(Code::invalid_data);
  status << reader_.path() << ", line " << reader_.line() << ", column " << column + 1;
  if (column < names_.size()) status << " (" << names_[column] << ')';
  return std::move(status) << ": ";
}

Result<CsvTable::Cell> CsvTable::number(std::size_t column) const {
  if (column >= reader_.cells().size()) return Cell{};
  std::string_view text = reader_.cells()[column];
  std::string with_point;
  if (settings_.decimal_comma && text.find(',') != std::string_view::npos) {
    with_point = text;
    std::replace(with_point.begin(), with_point.end(), ',', '.');
    text = with_point;
  }
  if (is_absent(text)) return Cell{};
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  Cell cell;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = from_chars(text.data(), end, cell.value);
  if (stop != end || error == std::errc::invalid_argument)
    return at_cell(column) << "expected a number, found '" << shown(column) << '\'';
  if (error == std::errc::result_out_of_range) {
    double value = 0;
    const bool small = from_chars(text.data(), end, value).ec == std::errc() && std::fabs(value) < 1;
    if (!small)
      return at_cell(column) << "expected a number that float32 holds, found '" << shown(column) << '\'';
    cell.value = 0;
  }
  cell.there = std::isfinite(cell.value);
  return cell;
}

Result<std::int64_t> CsvTable::time(std::size_t column, TimeUnit unit) const {
  std::string text(reaches(column) ? reader_.cells()[column] : std::string_view());
  if (settings_.decimal_comma) std::replace(text.begin(), text.end(), ',', '.');
  if (const std::optional<std::int64_t> stamp = parse_time(text, unit)) return *stamp;
  return at_cell(column) << "expected a time stamp (time_unit=" << name_of(unit) << "), found '"
                         << shown(column) << '\'';
}

Status CsvTable::find_column(std::string_view what, std::string_view name, std::size_t& index) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found != names_.end()) {
    if (std::find(found + 1, names_.end(), name) != names_.end()) {
      return Status(Code::invalid_argument) << what << '=' << name << ": " << path()
                                            << " has two columns of this name; say which one by its number";
    }
    index = static_cast<std::size_t>(found - names_.begin());
    return {};
  }
  std::size_t number = 0;
  if (whole_number(name, number)) {
    if (number < 1 || number > width_) {
      return Status(Code::invalid_argument)
             << what << '=' << name << ": " << path() << " has the columns 1 to " << width_;
    }
    index = number - 1;
    return {};
  }
  Status status(Code::not_found);
  status << what << '=' << name << ": ";
  if (names_.empty())
    return std::move(status) << path() << " has no row of names: expected a number from 1 to " << width_;
  Suggestion suggestion(name);
  for (const std::string& other : names_) suggestion.consider(other);
  status << path() << ", line " << reader_.line() << " has no column of this name";
  if (!suggestion.best().empty()) return std::move(status) << ", did you mean '" << suggestion.best() << "'?";
  status << "; it has:";
  for (const std::string& other : names_) status << ' ' << other;
  return status;
}

Status CsvTable::find_columns(std::string_view what, std::string_view list, std::size_t without,
                              std::vector<std::size_t>& indices) const {
  if (list.empty()) {
    for (std::size_t i = 0; i < width_; ++i) {
      if (i != without) indices.push_back(i);
    }
  }
  for (std::string_view rest = list; !rest.empty();) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    const std::size_t dash = item.find('-');
    std::size_t low = 0, high = 0;
    const bool named = std::find(names_.begin(), names_.end(), item) != names_.end();
    if (named || dash == std::string_view::npos || !whole_number(item.substr(0, dash), low) ||
        !whole_number(item.substr(dash + 1), high)) {
      RUNNEL_TRY(find_column(what, item, low));
      high = ++low;
    } else if (low < 1 || low > high || high > width_) {
      return Status(Code::invalid_argument)
             << what << '=' << item << ": " << path() << " has the columns 1 to " << width_;
    }
    if (indices.size() + (high - low + 1) > kMaxChannels)
      return Status(Code::unsupported) << what << ": more than " << kMaxChannels << " channels";
    for (; low <= high; ++low) indices.push_back(low - 1);
  }
  if (indices.empty())
    return Status(Code::invalid_data)
           << path() << ": has no column but the time stamps, expected at least one channel";
  if (indices.size() > kMaxChannels)
    return Status(Code::unsupported) << path() << ": " << indices.size() << " channels, expected at most "
                                     << kMaxChannels;
  return {};
}

}  // namespace runnel::pipeline
