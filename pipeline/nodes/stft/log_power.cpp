#include "pipeline/nodes/stft/log_power.h"

#include <algorithm>

#include "pipeline/nodes/window_grid.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    parameter<&LogPower::floor>("floor", "", 1e-30, 1e30, "lower limit of the powers"),
    switch_parameter<&LogPower::keep>("keep",
                                      "the spectrum comes before the logarithms, and `infer` passes it by "
                                      "the model, for a later `mask`; false: the logarithms alone"),
};

}  // namespace

const NodeType LogPower::type = {
    .name = "log_power",
    .help = "Natural logarithms of the powers of complex spectra, the input of models that mask them.",
    .input = {static_cast<Kinds>(Kind::frames), "float32: K real parts, K imaginary parts"},
    .output = {static_cast<Kinds>(Kind::frames), "float32: with keep the spectrum, then K logarithms"},
    .parameters = kParameters,
    .make = make_node<LogPower>,
};

Status LogPower::prepare(NodeContext& context) noexcept {
  RUNNEL_TRY(wants_float32(context));
  const std::int32_t values = context.input.channels;
  if (values % 2 != 0) {
    return Status(Code::mismatch) << context.input_label << " gives " << describe(context.input).view()
                                  << ", " << context.label
                                  << " wants frames of 2 K values: K real parts, K imaginary parts";
  }
  kernels_ = &features::kernels_for(context.isa);
  bins_ = static_cast<std::size_t>(values / 2);
  context.output.channels = keep ? values / 2 * 3 : values / 2;
  context.output.beside = keep ? values : 0;
  context.max_output = context.max_input;
  return {};
}

Status LogPower::process(const Block& in, Output& out) noexcept {
  const std::size_t kept = keep ? 2 * bins_ : 0;
  for (std::int64_t i = 0; i < in.count; ++i) {
    const float* const from = in.as<float>() + static_cast<std::size_t>(i) * 2 * bins_;
    float* const to = out.as<float>() + static_cast<std::size_t>(i) * (kept + bins_);
    std::copy_n(from, kept, to);
    kernels_->power(from, from + bins_, bins_, to + kept);
    kernels_->log(to + kept, bins_, floor);
  }
  out.count = in.count;
  out.first = in.first;
  return {};
}

}  // namespace runnel::pipeline
