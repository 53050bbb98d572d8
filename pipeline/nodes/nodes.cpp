#include "pipeline/nodes/nodes.h"

#include "pipeline/nodes/cmvn.h"
#include "pipeline/nodes/detect.h"
#include "pipeline/nodes/downmix.h"
#include "pipeline/nodes/fbank.h"
#include "pipeline/nodes/framing.h"
#include "pipeline/nodes/infer.h"
#include "pipeline/nodes/join.h"
#include "pipeline/nodes/levels.h"
#include "pipeline/nodes/microfrontend.h"
#include "pipeline/nodes/null.h"
#include "pipeline/nodes/resample.h"
#include "pipeline/nodes/sample_filters.h"
#include "pipeline/nodes/stage.h"
#include "pipeline/nodes/statistics.h"
#include "pipeline/nodes/stft.h"

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
