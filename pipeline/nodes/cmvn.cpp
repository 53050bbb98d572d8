#include "pipeline/nodes/cmvn.h"

#include <algorithm>
#include <charconv>

#include "pipeline/nodes/frame_lengths.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Cmvn::mean>("mean", "", "subtracted: one number, or one per dimension with commas between them"),
    text_parameter<&Cmvn::deviation>("deviation", "", "divided by, above 0: one number, or one per dimension with commas between them"),
};

// Numbers of a list into `values`; a single one stands for all.
Status read_list(std::string_view name, std::string_view list, std::span<float> values) noexcept {
  std::size_t count = 0;
  for (std::string_view rest = list; !rest.empty() || count == 0; ++count) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    float value = 0;
    const char* end = rest.data() + comma;
    const auto [stop, error] = std::from_chars(rest.data(), end, value);
    if (error != std::errc() || stop != end) {
      return Status(Code::invalid_argument) << name << ": '" << rest.substr(0, comma) << "' is no number; expected numbers with commas between them";
    }
    if (count < values.size()) values[count] = value;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  if (count == 1) std::fill(values.begin(), values.end(), values[0]);
  else if (count != values.size()) return Status(Code::mismatch) << name << " of cmvn has " << count << " numbers, its input has " << values.size() << " dimensions";
  return {};
}

}  // namespace

const NodeType Cmvn::type = {
    .name = "cmvn",
    .help = "Normalises with fixed statistics (z-score): (x - mean) / deviation, per dimension of frames or channel of a sensor.",
    .input = {Kind::audio | Kind::frames, "float32"},
    .output = {Kind::audio | Kind::frames, "float32, what came in"},
    .parameters = kParameters,
    .make = make_node<Cmvn>,
};

Status Cmvn::prepare(PrepareContext& context) noexcept {
  RUNNEL_TRY(wants_float32(context));
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
  const std::size_t values = static_cast<std::size_t>(in.count) * cmvn_.dims();
  std::copy_n(in.as<float>(), values, out.as<float>());
  cmvn_.apply({out.as<float>(), values});
  out.count = in.count;
  out.first = in.first;
  return {};
}

}  // namespace runnel::pipeline
