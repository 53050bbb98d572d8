#include <algorithm>

#include "compiler/embed/sources.h"

namespace runnel::compiler {
namespace {

constexpr NodeClass kClasses[] = {
    {"downmix", "Downmix", "pipeline/nodes/downmix.h", {}, false},
    {"resample", "Resample", "pipeline/nodes/resample.h", {}, false},
    {"gain", "Gain", "pipeline/nodes/sample_filters.h", {}, false},
    {"highpass", "HighPass", "pipeline/nodes/sample_filters.h", {}, false},
    {"preemphasis", "Preemphasis", "pipeline/nodes/sample_filters.h", {}, false},
    {"dither", "Dither", "pipeline/nodes/sample_filters.h", {}, false},
    {"fbank", "Fbank", "pipeline/nodes/fbank.h", ",preset,", true},
    {"microfrontend", "Microfrontend", "pipeline/nodes/microfrontend.h", ",preset,dtype,non_finite,", true},
    {"levels", "Levels", "pipeline/nodes/levels.h", {}, false},
    {"stft", "Stft", "pipeline/nodes/stft.h", {}, false},
    {"istft", "InverseStft", "pipeline/nodes/stft.h", {}, false},
    {"deltas", "Deltas", "pipeline/nodes/stage.h", {}, false},
    {"stack", "Stack", "pipeline/nodes/stage.h", {}, false},
    {"framing", "Framing", "pipeline/nodes/framing.h", {}, false},
    {"statistics", "Statistics", "pipeline/nodes/statistics.h", {}, false},
    {"cmvn", "Cmvn", "pipeline/nodes/cmvn.h", {}, false},
    {"infer", "Infer", "pipeline/nodes/infer.h", {}, false},
    {"detect", "Detect", "pipeline/nodes/detect.h", {}, false},
    {"null", "Null", "pipeline/nodes/null.h", {}, false},
};

}  // namespace

const NodeClass* find_node_class(std::string_view type) noexcept {
  const auto* found = std::find_if(std::begin(kClasses), std::end(kClasses),
                                   [&](const NodeClass& one) { return one.type == type; });
  return found == std::end(kClasses) ? nullptr : found;
}

}  // namespace runnel::compiler
