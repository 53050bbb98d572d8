// Front ends as text, e.g. "fbank preset=kaldi num_mel_bins=40 ! cmvn": resolves them, returns their output
// format, and runs recordings through them. The same text calibrates a model, is stored in it, and runs
// before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pipeline/format.h"
#include "pipeline/host/graph.h"

namespace runnel::pipeline {

struct FrontEnd {
  // The same front end with every parameter of every node and presets resolved, so that later changes of
  // presets do not affect it.
  std::string text;
  std::int64_t sample_rate = 0;  // of its input, in Hz
  // Of its output: type, values per frame for a model (without those that pass by it), clock.
  Format frames;
};

// `sample_rate`: of the input; 0: as the first node requires (sample_frequency), or 16000 if it takes any
// rate. Errors: those of parse_graph, find_node, find_parameter and parse_value; mismatch when its nodes take
// another rate, naming both; invalid_argument when the output is not frames.
Result<FrontEnd> resolve_front_end(std::string_view text, std::int64_t sample_rate = 0,
                                   const GraphOptions& options = {});

// The features of one recording for a model: [frames, values] in the type and with the scale of `format`,
// dense.
struct FrontEndFrames {
  Format format;
  std::int64_t frames = 0;
  std::vector<std::byte> data;
};

// A whole recording (any file that the node `wav` reads) through a front end; several channels are mixed down
// and other rates resampled (reported through options.note). Errors: those of Graph::build and Graph::run,
// naming the file or the node. Threads: any number of calls at a time.
Result<FrontEndFrames> run_front_end(std::string_view text, const std::filesystem::path& recording,
                                     const GraphOptions& options = {});

// Whether frames of a front end fit an input of `values` values per frame. `what`: the input, in the message,
// which names both numbers. Error: mismatch.
Status check_frame_size(const Format& frames, std::int64_t values, std::string_view what);

}  // namespace runnel::pipeline
