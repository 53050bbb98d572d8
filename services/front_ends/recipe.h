// Presets of front ends as the text of a graph.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace runnel::front_ends {

// The nodes from samples to features: "fbank preset=kaldi num_mel_bins=40", or the whole recipe where the
// preset consists of several nodes. `kind`: fbank, mfcc, spectrogram or stft instead of the preset's own;
// statistics or framing for sensors, which have no preset; empty: the preset's. `settings`: " NAME=VALUE ..."
// for the node of the preset. Building the graph reports wrong names and values. Error: invalid_argument for
// a kind that a fixed-point preset does not have.
Result<std::string> recipe_text(const std::string& preset, const std::string& kind,
                                const std::string& settings);

// Windows over sensor data, which have no presets.
inline bool is_of_windows(std::string_view kind) { return kind == "statistics" || kind == "framing"; }

}  // namespace runnel::front_ends
