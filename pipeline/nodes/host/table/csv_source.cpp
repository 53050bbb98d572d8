#include "pipeline/nodes/host/table/csv_source.h"

#include <algorithm>
#include <cmath>

#include "base/number_text.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&CsvSource::path>("path", "", "table to read", true),
    text_parameter<&CsvSource::columns>("columns", "",
                                        "channels, in their order: names, or numbers from 1 and ranges of "
                                        "them (2-4), separated by commas; empty: all but the time stamps"),
    text_parameter<&CsvSource::time>("time", "", "name or number of the column of time stamps; empty: none"),
    text_parameter<&CsvSource::time_unit>("time_unit", "s|ms|us|ns|iso8601", "of the time stamps"),
    parameter<&CsvSource::rate>("rate", "Hz", 0, 1e9, "rows per second; 0: deduced from the time stamps"),
    text_parameter<&CsvSource::separator>("separator", "auto|comma|semicolon|tab|space",
                                          "between cells; auto: the most frequent one in the first row"),
    text_parameter<&CsvSource::decimal>("decimal", "point|comma", "decimal separator of numbers"),
    text_parameter<&CsvSource::header>(
        "header", "auto|yes|no",
        "the first row has names; auto: it does when one of its cells is not a number"),
    text_parameter<&CsvSource::missing>("missing", "error|gap|hold|fill",
                                        "cells that are empty, infinite or not a number: refused, the row "
                                        "counted as lost, the previous row's value, or that of fill"),
    parameter<&CsvSource::fill>("fill", "", -1e30, 1e30,
                                "value for missing=fill and gaps=fill, and for hold in the first row"),
    text_parameter<&CsvSource::gaps>(
        "gaps", "gap|error|hold|fill",
        "rows missing according to the time stamps: counted as lost samples, refused, or filled in"),
    parameter<&CsvSource::max_gap>("max_gap", "s", 0, 1e9, "a longer jump of the time stamps is refused"),
    text_parameter<&CsvSource::irregular>(
        "irregular", "error|accept",
        "rows that deviate from their time by more than tolerance: refused, or taken as the next sample"),
    parameter<&CsvSource::tolerance>("tolerance", "", 0, 0.5,
                                     "largest deviation of a row from its time, as a fraction of the period"),
    text_parameter<&CsvSource::out_of_order>(
        "out_of_order", "error|drop",
        "rows not later than the previous one: refused, or dropped and counted"),
};

// Rows whose time stamps are read to find the rate.
constexpr std::size_t kProbe = 1000;

}  // namespace

const NodeType CsvSource::type = {
    .name = "csv",
    .help = "Reads a text table (.csv, .tsv), one row per sample, one column per channel.",
    .input = {},
    .output = {static_cast<Kinds>(Kind::audio), "float32 values as written, one channel per column"},
    .parameters = kParameters,
    .make = make_node<CsvSource>,
};

Status CsvSource::find_rate() {
  if (rate > 0) {
    grid_rate_ = rate_of(rate, 1e-9);
    if (grid_rate_.samples == 0)
      return Status(Code::invalid_argument)
             << "rate=" << shortest_text(rate).view()
             << " Hz: expected a rate that is a fraction with a denominator up to 100000";
    return {};
  }
  if (time.empty()) {
    return Status(Code::invalid_argument)
           << table_.path()
           << ": how many rows are a second? Expected rate=, or time= with the column of time stamps";
  }
  std::vector<std::int64_t> times;
  while (times.size() < kProbe) {
    RUNNEL_ASSIGN(const bool more, table_.next());
    if (!more) break;
    RUNNEL_ASSIGN(const std::int64_t stamp, table_.time(time_column_, unit_));
    times.push_back(stamp);
  }
  grid_rate_ = deduce_rate(times);
  if (grid_rate_.samples == 0) {
    return Status(Code::invalid_data)
           << table_.path() << ": the first " << times.size()
           << " time stamps do not give a rate from 0.00001 Hz to 1 GHz; set it with rate= (and is time_unit="
           << time_unit << " right?)";
  }
  return open();
}

Status CsvSource::prepare(NodeContext& context) noexcept {
  unit_ = time_unit_of(time_unit);
  RUNNEL_TRY(open());
  if (!time.empty()) RUNNEL_TRY(table_.find_column("time", time, time_column_));
  RUNNEL_TRY(table_.find_columns("columns", columns, time_column_, channels_));
  RUNNEL_TRY(find_rate());
  Format& format = context.output;
  if (!time.empty()) {
    grid_.emplace(grid_rate_, tolerance);
    RUNNEL_ASSIGN(const bool any, table_.next());
    if (any) {
      RUNNEL_ASSIGN(format.origin, table_.time(time_column_, unit_));
      table_.again();
    }
  }
  row_.resize(channels_.size());
  previous_.assign(channels_.size(), static_cast<float>(fill));
  format.kind = Kind::audio;
  format.dtype = DType::float32;
  format.channels = static_cast<std::int32_t>(channels_.size());
  format.clock = {.sample_rate = grid_rate_.samples,
                  .hop = grid_rate_.seconds,
                  .begin = 0,
                  .span = grid_rate_.seconds,
                  .denominator = 1};
  format.source = path;
  context.max_output = context.max_input;
  return {};
}

// False when the row is dropped.
Result<bool> CsvSource::place_row() {
  if (!grid_) return true;
  RUNNEL_ASSIGN(const std::int64_t stamp, table_.time(time_column_, unit_));
  const TimeGrid::Place place = grid_->place(stamp);
  const std::string_view found = table_.shown(time_column_);
  if (place.verdict == TimeGrid::Verdict::out_of_order) {
    if (out_of_order == "error") {
      return table_.at_cell(time_column_) << "expected a time after that of the row above, found '" << found
                                          << "' (out_of_order=drop leaves such rows out)";
    }
    ++dropped_rows_;
    return false;
  }
  if (place.verdict == TimeGrid::Verdict::irregular) ++irregular_rows_;
  if (place.verdict == TimeGrid::Verdict::irregular && irregular == "error") {
    return table_.at_cell(time_column_)
           << "expected one row every " << shortest_text(static_cast<float>(1e3 / grid_rate_.hz())).view()
           << " ms, within " << shortest_text(tolerance).view() << " of that, found '" << found
           << "', which is off by " << shortest_text(static_cast<float>(place.deviation)).view()
           << " (irregular=accept takes such rows as they come)";
  }
  if (place.missing > 0) {
    if (static_cast<double>(place.missing) > max_gap * grid_rate_.hz()) {
      return table_.at_cell(time_column_) << "expected a jump of the time of at most "
                                          << shortest_text(max_gap).view() << " s (max_gap), found '" << found
                                          << "', " << place.missing << " rows further than the row above";
    }
    if (gaps == "error") {
      return table_.at_cell(time_column_)
             << "expected the next row, found '" << found << "': " << place.missing
             << " rows are missing (gaps=gap, hold or fill go on)";
    }
    (gaps == "gap" ? pending_lost_ : pending_fill_) += place.missing;
  }
  grid_->take(stamp, place);
  return true;
}

// False when the row counts as lost.
Result<bool> CsvSource::fill_cells() {
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    RUNNEL_ASSIGN(const CsvTable::Cell cell, table_.number(channels_[i]));
    row_[i] = cell.value;
    if (cell.there) continue;
    if (missing == "error") {
      Text found;
      if (!table_.reaches(channels_[i]))
        found << "the end of the row";
      else
        found << '\'' << table_.shown(channels_[i]) << '\'';
      return table_.at_cell(channels_[i])
             << "expected a number, found " << found.view() << " (missing=gap, hold or fill go on)";
    }
    if (missing == "gap") {
      ++pending_lost_;
      return false;
    }
    row_[i] = missing == "hold" ? previous_[i] : static_cast<float>(fill);
    ++filled_cells_;
  }
  return true;
}

Result<bool> CsvSource::take_row() {
  RUNNEL_ASSIGN(placed_, place_row());
  if (!placed_) return false;
  RUNNEL_ASSIGN(held_, fill_cells());
  return held_;
}

Result<bool> CsvSource::read_row() {
  for (;;) {
    RUNNEL_ASSIGN(const bool more, table_.next());
    if (!more) return false;
    RUNNEL_ASSIGN(const bool taken, take_row());
    if (taken) return true;
  }
}

Status CsvSource::process(const Block&, Output& out) noexcept {
  const std::size_t channels = channels_.size();
  while (out.count < out.capacity) {
    bool more = true;
    if (!held_) {
      // Pass on what is there before waiting for more.
      if (out.count > 0) {
        RUNNEL_ASSIGN(const bool ready, table_.ready());
        if (!ready) return {};
      }
      RUNNEL_ASSIGN(more, read_row());
    }
    if (pending_lost_ > 0) {
      if (out.count > 0) return {};
      out.lost = pending_lost_;
      pending_lost_ = 0;
    }
    if (!more) {
      if (!any_ && missing != "gap")
        return Status(Code::invalid_data) << table_.path() << ": has no row of numbers";
      out.end = true;
      return {};
    }
    float* to = out.as<float>() + static_cast<std::size_t>(out.count++) * channels;
    if (pending_fill_ > 0) {
      --pending_fill_;
      ++filled_rows_;
      if (gaps == "hold")
        std::copy(previous_.begin(), previous_.end(), to);
      else
        std::fill_n(to, channels, static_cast<float>(fill));
      continue;
    }
    std::copy(row_.begin(), row_.end(), to);
    std::swap(previous_, row_);
    held_ = false;
    any_ = true;
  }
  return {};
}

Text CsvSource::note() const noexcept {
  Text text;
  const auto say = [&](std::int64_t count, std::string_view what) {
    if (count > 0)
      text << (text.view().empty() ? std::string_view(path) : std::string_view())
           << (text.view().empty() ? ": " : ", ") << count << ' ' << what;
  };
  say(filled_cells_, "missing values were made up");
  say(filled_rows_, "missing rows were made up");
  say(dropped_rows_, "rows out of order were left out");
  say(irregular_rows_, "rows were off their place in time by more than the tolerance");
  const double drift = grid_ ? grid_->drift() * 1e6 : 0;
  if (std::fabs(drift) >= 100) {
    text << (text.view().empty() ? std::string_view(path) : std::string_view())
         << (text.view().empty() ? ": " : ", ") << "the time stamps drift against "
         << shortest_text(grid_rate_.hz()).view() << " Hz by "
         << static_cast<std::int64_t>(std::lround(drift)) << " parts per million";
  }
  return text;
}

}  // namespace runnel::pipeline
