#include "pipeline/nodes/host/table/sensor.h"

#include <algorithm>
#include <cmath>

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Sensor::path>("path", "", "serial line, FIFO or file; -: the standard input", true),
    required(parameter<&Sensor::rate>("rate", "Hz", 1e-5, 1e9, "rows per second")),
    parameter<&Sensor::baud>("baud", "", 1200, 3000000, "speed of a serial line"),
    parameter<&Sensor::skip>(
        "skip", "", -1, 1000000,
        "lines to skip at the start; -1: one from a serial line, which may be incomplete, otherwise none"),
    text_parameter<&Sensor::columns>("columns", "",
                                     "channels, in their order: names, or numbers from 1 and ranges of them "
                                     "(2-4), separated by commas; empty: all but the time stamps"),
    text_parameter<&Sensor::time>(
        "time", "",
        "name or number of the column of time stamps; empty: none, and lost rows are not noticed"),
    text_parameter<&Sensor::time_unit>("time_unit", "s|ms|us|ns|iso8601", "of the time stamps"),
    text_parameter<&Sensor::separator>("separator", "auto|comma|semicolon|tab|space",
                                       "between cells; auto: the most frequent one in the first row"),
    text_parameter<&Sensor::decimal>("decimal", "point|comma", "decimal separator of numbers"),
    text_parameter<&Sensor::header>(
        "header", "auto|yes|no",
        "the first row has names; auto: it does when one of its cells is not a number"),
    text_parameter<&Sensor::garbled>("garbled", "drop|error",
                                     "rows that cannot be read: counted, and lost, or refused"),
    text_parameter<&Sensor::missing>("missing", "error|gap|hold|fill",
                                     "cells that are empty, infinite or not a number: refused, the row "
                                     "counted as lost, the previous row's value, or that of fill"),
    parameter<&Sensor::fill>("fill", "", -1e30, 1e30,
                             "value for missing=fill and gaps=fill, and for hold in the first row"),
    text_parameter<&Sensor::gaps>(
        "gaps", "gap|error|hold|fill",
        "rows missing according to the time stamps: counted as lost samples, refused, or filled in"),
    parameter<&Sensor::max_gap>("max_gap", "s", 0, 1e9, "a longer jump of the time stamps is refused"),
    text_parameter<&Sensor::irregular>("irregular", "error|accept",
                                       "rows that deviate from their time by more than tolerance: refused, "
                                       "or taken as the next sample and counted"),
    parameter<&Sensor::tolerance>("tolerance", "", 0, 0.5,
                                  "largest deviation of a row from its time, as a fraction of the period"),
    text_parameter<&Sensor::out_of_order>(
        "out_of_order", "error|drop",
        "rows not later than the previous one: refused, or dropped and counted"),
};

}  // namespace

const NodeType Sensor::type = {
    .name = "sensor",
    .help =
        "Reads live rows of numbers from a serial line, a FIFO or the standard input; one row per sample, "
        "one column per channel.",
    .input = {},
    .output = {static_cast<Kinds>(Kind::audio), "float32 values as written, one channel per column"},
    .parameters = kParameters,
    .make = make_node<Sensor>,
};

Sensor::Sensor() {
  missing = "gap";
  irregular = "accept";
  out_of_order = "drop";
}

Status Sensor::prepare(NodeContext& context) noexcept {
  input_.end_at(context.stop);
  return CsvSource::prepare(context);
}

Status Sensor::open() {
  RUNNEL_TRY(input_.open(std::string(path), baud));
  return table_.open(input_, settings(), skip < 0 ? (input_.is_serial() ? 1 : 0) : skip);
}

Result<bool> Sensor::read_row() {
  for (;;) {
    placed_ = false;
    const Result<bool> more = table_.next();
    if (more.ok() && !*more) return false;
    const Result<bool> taken = more.ok() ? take_row() : more;
    if (taken.ok() && *taken) {
      in_a_row_ = 0;
      return true;
    }
    // A single bad row may be noise on the line; a second of bad rows, and more than ten, is an error.
    if (!placed_) ++in_a_row_;
    const bool too_many = static_cast<double>(in_a_row_) > std::max(10.0, grid_rate_.hz());
    if (taken.ok()) {
      if (too_many)
        return Status(Code::invalid_data)
               << path
               << ": its clock went back: for a second or more, no time stamp was after the latest one";
      continue;
    }
    if (taken.status().code() != Code::invalid_data || garbled == "error" || too_many) return taken.status();
    ++garbled_rows_;
    // If its position in time is unknown, the time stamp of the next row will show the loss.
    if (!grid_ || placed_) ++pending_lost_;
  }
}

Text Sensor::note() const noexcept {
  Text text = CsvSource::note();
  if (garbled_rows_ > 0)
    text << (text.view().empty() ? "" : "; ") << garbled_rows_ << " rows of " << path << " could not be read";
  return text;
}

}  // namespace runnel::pipeline
