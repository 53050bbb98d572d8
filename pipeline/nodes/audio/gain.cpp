#include "pipeline/nodes/audio/gain.h"

#include "features/samples/sample_filter.h"
#include "pipeline/nodes/audio/sample_blocks.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {parameter<&Gain::db>("db", "dB", -200, 200, "20 log10 of the factor")};

}  // namespace

const NodeType Gain::type = {.name = "gain",
                             .help = "Multiplies samples.",
                             .input = kAnyAudio,
                             .output = kAnyAudio,
                             .parameters = kParameters,
                             .make = make_node<Gain>};

Status Gain::prepare(NodeContext& context) noexcept {
  channels_ = keep_format(context);
  factor_ = features::factor_of(db);
  return {};
}

Status Gain::process(const Block& in, Output& out) noexcept {
  for (float& sample : copied(in, out, channels_)) sample *= factor_;
  return {};
}

}  // namespace runnel::pipeline
