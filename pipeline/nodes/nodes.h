// The nodes that run anywhere.
#pragma once

#include "pipeline/node.h"

namespace runnel::pipeline {

// downmix, resample, gain, highpass, preemphasis, dither, fbank, microfrontend, levels, stft, istft, mask,
// deltas, stack, framing, statistics, cmvn, join, infer, detect, null. Programs that want fewer list what
// they use, so that the rest is not linked.
NodeTable device_nodes() noexcept;

}  // namespace runnel::pipeline
