#include "pipeline/nodes/nodes.h"

#include "pipeline/nodes/audio/downmix.h"
#include "pipeline/nodes/audio/resample.h"
#include "pipeline/nodes/audio/sample_filters.h"
#include "pipeline/nodes/decide/detect.h"
#include "pipeline/nodes/model/infer.h"
#include "pipeline/nodes/null.h"
#include "pipeline/nodes/sensor/framing.h"
#include "pipeline/nodes/sensor/join.h"
#include "pipeline/nodes/sensor/levels.h"
#include "pipeline/nodes/sensor/statistics.h"
#include "pipeline/nodes/spectrum/cmvn.h"
#include "pipeline/nodes/spectrum/fbank.h"
#include "pipeline/nodes/spectrum/microfrontend.h"
#include "pipeline/nodes/spectrum/stage.h"
#include "pipeline/nodes/spectrum/stft.h"

namespace runnel::pipeline {

NodeTable device_nodes() noexcept {
  static constexpr const NodeType* kNodes[] = {
      &Downmix::type,     &Resample::type, &Gain::type,          &HighPass::type, &Preemphasis::type,
      &Dither::type,      &Fbank::type,    &Microfrontend::type, &Levels::type,   &Stft::type,
      &InverseStft::type, &Mask::type,     &Deltas::type,        &Stack::type,    &Framing::type,
      &Statistics::type,  &Cmvn::type,     &Join::type,          &Infer::type,    &Detect::type,
      &Null::type};
  return kNodes;
}

}  // namespace runnel::pipeline
