#include "pipeline/nodes/states.h"

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

constexpr NodeState kStates[] = {
    stateless_node<Downmix>(),  saved_node<Resample>(),
    stateless_node<Gain>(),     saved_node<HighPass>(),
    saved_node<Preemphasis>(),
    stateless_node<Dither>(),  // its noise follows from the index of a sample
    saved_node<Fbank>(),        saved_node<Microfrontend>(),
    saved_node<Levels>(),       saved_node<Stft>(),
    saved_node<InverseStft>(),  stateless_node<LogPower>(),
    stateless_node<Mask>(),     saved_node<Deltas>(),
    saved_node<Stack>(),        stateless_node<SpectralCentroid>(),
    saved_node<SpectralFlux>(), stateless_node<SpectralRolloff>(),
    saved_node<Framing>(),      saved_node<Statistics>(),
    saved_node<Cmvn>(),         {&Join::type, nullptr, "reads streams of its own, one for each input"},
    saved_node<Infer>(),        stateless_node<Distance>(),
    saved_node<Detect>(),       saved_node<Ctc>(),
    saved_node<Transducer>(),   stateless_node<Null>(),
};

}  // namespace

std::span<const NodeState> device_node_states() noexcept { return kStates; }

}  // namespace runnel::pipeline
