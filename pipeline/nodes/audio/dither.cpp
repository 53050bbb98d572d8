#include "pipeline/nodes/audio/dither.h"

#include "features/samples/sample_filter.h"
#include "pipeline/nodes/audio/sample_blocks.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    parameter<&Dither::deviation>("deviation", "", 0, 1,
                                  "standard deviation of the noise; samples are in [-1, 1)"),
    parameter<&Dither::seed>("seed", "", 0, 2147483647,
                             "the same seed gives the same noise for the same sample"),
};

}  // namespace

const NodeType Dither::type = {.name = "dither",
                               .help = "Adds Gaussian noise, the same for the same seed and sample.",
                               .input = kAnyAudio,
                               .output = kAnyAudio,
                               .parameters = kParameters,
                               .make = make_node<Dither>};

Status Dither::prepare(NodeContext& context) noexcept {
  channels_ = keep_format(context);
  return {};
}

Status Dither::process(const Block& in, Output& out) noexcept {
  features::add_stream_noise(copied(in, out, channels_), in.first, channels_, deviation, seed);
  return {};
}

}  // namespace runnel::pipeline
