#include <algorithm>

#include "compiler/embed/sources.h"

namespace runnel::compiler {
namespace {

constexpr NodeClass kClasses[] = {
    {"downmix", "Downmix", "pipeline/nodes/audio/downmix.h", {}, false},
    {"resample", "Resample", "pipeline/nodes/audio/resample.h", {}, false},
    {"gain", "Gain", "pipeline/nodes/audio/sample_filters.h", {}, false},
    {"highpass", "HighPass", "pipeline/nodes/audio/sample_filters.h", {}, false},
    {"preemphasis", "Preemphasis", "pipeline/nodes/audio/sample_filters.h", {}, false},
    {"dither", "Dither", "pipeline/nodes/audio/sample_filters.h", {}, false},
    {"fbank", "Fbank", "pipeline/nodes/spectrum/fbank.h", ",preset,", true},
    {"microfrontend", "Microfrontend", "pipeline/nodes/spectrum/microfrontend.h", ",preset,dtype,non_finite,",
     true},
    {"levels", "Levels", "pipeline/nodes/sensor/levels.h", {}, false},
    {"stft", "Stft", "pipeline/nodes/spectrum/stft.h", {}, false},
    {"istft", "InverseStft", "pipeline/nodes/spectrum/stft.h", {}, false},
    {"deltas", "Deltas", "pipeline/nodes/spectrum/stage.h", {}, false},
    {"stack", "Stack", "pipeline/nodes/spectrum/stage.h", {}, false},
    {"framing", "Framing", "pipeline/nodes/sensor/framing.h", {}, false},
    {"statistics", "Statistics", "pipeline/nodes/sensor/statistics.h", {}, false},
    {"cmvn", "Cmvn", "pipeline/nodes/spectrum/cmvn.h", {}, false},
    {"infer", "Infer", "pipeline/nodes/model/infer.h", {}, false},
    {"detect", "Detect", "pipeline/nodes/decide/detect.h", {}, false},
    {"null", "Null", "pipeline/nodes/null.h", {}, false},
};

}  // namespace

const NodeClass* find_node_class(std::string_view type) noexcept {
  const auto* found = std::find_if(std::begin(kClasses), std::end(kClasses),
                                   [&](const NodeClass& one) { return one.type == type; });
  return found == std::end(kClasses) ? nullptr : found;
}

}  // namespace runnel::compiler
