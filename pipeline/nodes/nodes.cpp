#include "pipeline/nodes/nodes.h"

#include <array>
#include <cstddef>

#include "pipeline/nodes/audio/dither.h"
#include "pipeline/nodes/audio/downmix.h"
#include "pipeline/nodes/audio/gain.h"
#include "pipeline/nodes/audio/high_pass.h"
#include "pipeline/nodes/audio/preemphasis.h"
#include "pipeline/nodes/audio/resample.h"
#include "pipeline/nodes/decide/detect.h"
#include "pipeline/nodes/decide/distance.h"
#include "pipeline/nodes/decode/ctc.h"
#include "pipeline/nodes/decode/transducer.h"
#include "pipeline/nodes/model/infer.h"
#include "pipeline/nodes/null.h"
#include "pipeline/nodes/sensor/framing.h"
#include "pipeline/nodes/sensor/join.h"
#include "pipeline/nodes/sensor/levels.h"
#include "pipeline/nodes/sensor/statistics.h"
#include "pipeline/nodes/spectrum/cmvn.h"
#include "pipeline/nodes/spectrum/deltas.h"
#include "pipeline/nodes/spectrum/fbank.h"
#include "pipeline/nodes/spectrum/microfrontend.h"
#include "pipeline/nodes/spectrum/spectral_centroid.h"
#include "pipeline/nodes/spectrum/spectral_flux.h"
#include "pipeline/nodes/spectrum/spectral_rolloff.h"
#include "pipeline/nodes/spectrum/stack.h"
#include "pipeline/nodes/stft/inverse_stft.h"
#include "pipeline/nodes/stft/log_power.h"
#include "pipeline/nodes/stft/mask.h"
#include "pipeline/nodes/stft/stft.h"

namespace runnel::pipeline {
namespace {

template <class N>
constexpr DeviceNode node(std::string_view class_name, std::string_view header) noexcept {
  return {&N::type, class_name, header, false, {}};
}
// The row of a node whose settings are a struct of options, except for those in `own`.
template <class N>
constexpr DeviceNode with_options(std::string_view class_name, std::string_view header,
                                  std::string_view own) noexcept {
  return {&N::type, class_name, header, true, own};
}

constexpr DeviceNode kRows[] = {
    node<Downmix>("Downmix", "pipeline/nodes/audio/downmix.h"),
    node<Resample>("Resample", "pipeline/nodes/audio/resample.h"),
    node<Gain>("Gain", "pipeline/nodes/audio/gain.h"),
    node<HighPass>("HighPass", "pipeline/nodes/audio/high_pass.h"),
    node<Preemphasis>("Preemphasis", "pipeline/nodes/audio/preemphasis.h"),
    node<Dither>("Dither", "pipeline/nodes/audio/dither.h"),
    with_options<Fbank>("Fbank", "pipeline/nodes/spectrum/fbank.h", ",preset,"),
    with_options<Microfrontend>("Microfrontend", "pipeline/nodes/spectrum/microfrontend.h",
                                ",preset,dtype,non_finite,"),
    node<Levels>("Levels", "pipeline/nodes/sensor/levels.h"),
    node<Stft>("Stft", "pipeline/nodes/stft/stft.h"),
    node<InverseStft>("InverseStft", "pipeline/nodes/stft/inverse_stft.h"),
    node<LogPower>("LogPower", "pipeline/nodes/stft/log_power.h"),
    node<Mask>("Mask", "pipeline/nodes/stft/mask.h"),
    node<Deltas>("Deltas", "pipeline/nodes/spectrum/deltas.h"),
    node<Stack>("Stack", "pipeline/nodes/spectrum/stack.h"),
    node<SpectralCentroid>("SpectralCentroid", "pipeline/nodes/spectrum/spectral_centroid.h"),
    node<SpectralFlux>("SpectralFlux", "pipeline/nodes/spectrum/spectral_flux.h"),
    node<SpectralRolloff>("SpectralRolloff", "pipeline/nodes/spectrum/spectral_rolloff.h"),
    node<Framing>("Framing", "pipeline/nodes/sensor/framing.h"),
    node<Statistics>("Statistics", "pipeline/nodes/sensor/statistics.h"),
    node<Cmvn>("Cmvn", "pipeline/nodes/spectrum/cmvn.h"),
    node<Join>("Join", {}),  // has executors of its own, one for each input
    node<Infer>("Infer", "pipeline/nodes/model/infer.h"),
    node<Distance>("Distance", "pipeline/nodes/decide/distance.h"),
    node<Detect>("Detect", "pipeline/nodes/decide/detect.h"),
    node<Ctc>("Ctc", "pipeline/nodes/decode/ctc.h"),
    node<Transducer>("Transducer", "pipeline/nodes/decode/transducer.h"),
    node<Null>("Null", "pipeline/nodes/null.h"),
};

constexpr auto kTypes = [] {
  std::array<const NodeType*, std::size(kRows)> types{};
  for (std::size_t i = 0; i < types.size(); ++i) types[i] = kRows[i].type;
  return types;
}();

}  // namespace

std::span<const DeviceNode> device_node_rows() noexcept { return kRows; }
NodeTable device_nodes() noexcept { return kTypes; }

}  // namespace runnel::pipeline
