#include "pipeline/node.h"

namespace runnel::pipeline {

Status wants_rate(NodeContext& context, std::string_view who, std::int64_t rate) noexcept {
  context.fix = {Fix::Kind::resample, rate};
  const std::int64_t given = context.input.clock.rate();
  Status status(Code::mismatch);
  status << context.input_label << " gives audio ";
  if (given > 0)
    status << given << " Hz";
  else
    status << "at a fractional rate";
  return std::move(status) << ", " << who << " wants " << rate << " Hz: put `resample rate=" << rate
                           << "` between them";
}

Status wants_mono(NodeContext& context, std::string_view who) noexcept {
  context.fix = {Fix::Kind::downmix, 0};
  return Status(Code::mismatch) << context.input_label << " gives audio with " << context.input.channels
                                << " channels, " << who << " wants 1 channel: put `downmix` between them";
}

Status out_of_memory(std::string_view what) noexcept {
  return Status(Code::out_of_memory) << "the memory given is too small for " << what;
}

}  // namespace runnel::pipeline
