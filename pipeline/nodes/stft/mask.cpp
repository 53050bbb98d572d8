#include "pipeline/nodes/stft/mask.h"

#include <algorithm>

#include "features/stft.h"
#include "pipeline/nodes/window_grid.h"

namespace runnel::pipeline {

const NodeType Mask::type = {
    .name = "mask",
    .help =
        "Multiplies complex spectra with a mask: input is the spectrum and, after it, one factor per bin.",
    .input = {static_cast<Kinds>(Kind::frames), "float32: K real parts, K imaginary parts, K factors"},
    .output = {static_cast<Kinds>(Kind::frames), "float32: K real parts, K imaginary parts"},
    .parameters = {},
    .make = make_node<Mask>,
};

Status Mask::prepare(NodeContext& context) noexcept {
  RUNNEL_TRY(wants_float32(context));
  const std::int32_t values = context.input.channels;
  if (values % 3 != 0) {
    return Status(Code::mismatch)
           << context.input_label << " gives " << describe(context.input).view() << ", " << context.label
           << " wants frames of 3 K values: K real parts, K imaginary parts, K factors";
  }
  bins_ = static_cast<std::size_t>(values / 3);
  context.output.channels = values / 3 * 2;
  context.max_output = context.max_input;
  return {};
}

Status Mask::process(const Block& in, Output& out) noexcept {
  for (std::int64_t i = 0; i < in.count; ++i) {
    const float* from = in.as<float>() + static_cast<std::size_t>(i) * 3 * bins_;
    float* to = out.as<float>() + static_cast<std::size_t>(i) * 2 * bins_;
    std::copy_n(from, 2 * bins_, to);
    features::apply_mask({from + 2 * bins_, bins_}, {to, 2 * bins_});
  }
  out.count = in.count;
  out.first = in.first;
  return {};
}

}  // namespace runnel::pipeline
