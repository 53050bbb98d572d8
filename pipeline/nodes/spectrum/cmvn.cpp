#include "pipeline/nodes/spectrum/cmvn.h"

#include <algorithm>

#include "base/from_chars.h"
#include "pipeline/nodes/window_grid.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Cmvn::mode>("mode", "fixed|sliding|mirror|exponential|utterance|range",
                                "statistics: fixed: mean= and deviation=; sliding: of a window, as in Kaldi; "
                                "mirror: of a window mirrored at the ends, as in Edge Impulse; exponential: "
                                "of the recent past; utterance: of the whole recording (all frames come at "
                                "its end); range: maps the recording's least and largest value to 0 and 1"),
    text_parameter<&Cmvn::mean>("mean", "",
                                "subtracted: one number, or one per dimension, separated by commas"),
    text_parameter<&Cmvn::deviation>(
        "deviation", "", "divisor, above 0: one number, or one per dimension, separated by commas"),
    text_parameter<&Cmvn::file>("file", "",
                                "instead of mean and deviation: a file of statistics, JSON with mean and std "
                                "or Kaldi's matrix of sums; read when the graph is read, never on a device"),
    text_parameter<&Cmvn::section>("section", "", "object of the JSON file, or key of Kaldi's archive"),
    switch_parameter<&Cmvn::variance>("variance",
                                      "file, and all modes but fixed: also divide by the deviation"),
    parameter<&Cmvn::window>("window", "frames", 1, 100000, "sliding, and mirror (odd there)"),
    parameter<&Cmvn::min_window>("min_window", "frames", 1, 100000,
                                 "sliding, not centred: frames that the first output waits for"),
    switch_parameter<&Cmvn::center>("center", "sliding: centres the window on the frame"),
    parameter<&Cmvn::frames>("frames", "frames", 1, 1000000,
                             "exponential: age at which a frame has weight 1/e"),
    parameter<&Cmvn::max_frames>("max_frames", "frames", 1, 16777216,
                                 "utterance and range: frames of the longest recording"),
    text_parameter<&Cmvn::non_finite>("non_finite", FiniteInput::kChoices,
                                      "all modes but fixed, which keeps them: values that are infinite or "
                                      "not a number: read as 0 and counted, or refused"),
};

// Parses a list of numbers into `values`; a single number applies to all dimensions.
Status read_list(std::string_view name, std::string_view list, std::span<float> values) noexcept {
  std::size_t count = 0;
  for (std::string_view rest = list; !rest.empty() || count == 0; ++count) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    float value = 0;
    const char* end = rest.data() + comma;
    const auto [stop, error] = from_chars(rest.data(), end, value);
    if (error != std::errc() || stop != end) {
      return Status(Code::invalid_argument) << name << ": '" << rest.substr(0, comma)
                                            << "' is not a number; expected numbers separated by commas";
    }
    if (count < values.size()) values[count] = value;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  if (count == 1)
    std::fill(values.begin(), values.end(), values[0]);
  else if (count != values.size())
    return Status(Code::mismatch) << name << " of cmvn has " << count << " numbers, its input has "
                                  << values.size() << " dimensions";
  return {};
}

}  // namespace

const NodeType Cmvn::type = {
    .name = "cmvn",
    .help =
        "Normalises (z-score), (x - mean) / deviation: frames, with fixed statistics or those of the "
        "recording, or channels of a sensor, with fixed statistics.",
    .input = {Kind::audio | Kind::frames, "float32"},
    .output = {Kind::audio | Kind::frames, "float32, as the input"},
    .parameters = kParameters,
    .make = make_node<Cmvn>,
};

Status Cmvn::prepare(NodeContext& context) noexcept {
  RUNNEL_TRY(wants_float32(context));
  if (!file.empty())
    return Status(Code::unsupported) << context.label << " file=" << file
                                     << ": this program reads no files; expected mean= and deviation=";
  fixed_ = mode == "fixed";
  if (fixed_) return prepare_fixed(context);
  if (context.input.kind != Kind::frames)
    return Status(Code::unsupported) << context.label << " mode=" << mode << " wants frames, "
                                     << context.input_label << " gives samples: mode=fixed takes them";
  const auto dims = static_cast<std::size_t>(context.input.channels);
  if (mode == "sliding") {
    RUNNEL_TRY(sliding_.init({.window = window,
                              .min_window = std::min(min_window, window),
                              .center = center,
                              .variance = variance},
                             dims, context.memory));
    return start(type.name, sliding_, false, context);
  } else if (mode == "mirror") {
    RUNNEL_TRY(mirror_.init({.window = window, .variance = variance}, dims, context.memory));
    return start(type.name, mirror_, false, context);
  } else if (mode == "exponential") {
    RUNNEL_TRY(exponential_.init({.frames = frames, .variance = variance}, dims, context.memory));
    return start(type.name, exponential_, false, context);
  } else {
    RUNNEL_TRY(utterance_.init({.max_frames = max_frames, .variance = variance, .range = mode == "range"},
                               dims, context.memory));
    return start(type.name, utterance_, true, context);
  }
}

std::int64_t Cmvn::reset(std::int64_t first) noexcept { return fixed_ ? first : StageNode::reset(first); }

Status Cmvn::flush(Output& out) noexcept {
  if (!fixed_) return StageNode::flush(out);
  out.end = true;
  return {};
}

Status Cmvn::prepare_fixed(NodeContext& context) noexcept {
  const auto dims = static_cast<std::size_t>(context.input.channels);
  float* values = context.memory.array<float>(2 * dims);
  if (values == nullptr) return out_of_memory("the statistics");
  const std::span<float> means(values, dims), inverses(values + dims, dims);
  RUNNEL_TRY(read_list("mean", mean, means));
  RUNNEL_TRY(read_list("deviation", deviation, inverses));
  for (float& value : inverses) {
    if (!(value > 0)) return Status(Code::invalid_argument) << "deviation: every number must be above 0";
    value = 1.0F / value;
  }
  RUNNEL_TRY(cmvn_.init(means, inverses, context.isa, context.memory));
  context.max_output = context.max_input;
  return {};
}

Status Cmvn::process(const Block& in, Output& out) noexcept {
  if (!fixed_) return StageNode::process(in, out);
  const std::size_t values = static_cast<std::size_t>(in.count) * cmvn_.dims();
  std::copy_n(in.as<float>(), values, out.as<float>());
  cmvn_.apply({out.as<float>(), values});
  out.count = in.count;
  out.first = in.first;
  return {};
}

}  // namespace runnel::pipeline
