#include "pipeline/nodes/nodes.h"

#include "pipeline/nodes/detect.h"
#include "pipeline/nodes/downmix.h"
#include "pipeline/nodes/fbank.h"
#include "pipeline/nodes/infer.h"
#include "pipeline/nodes/null.h"

namespace runnel::pipeline {

NodeTable device_nodes() noexcept {
  static constexpr const NodeType* kNodes[] = {&Fbank::type, &Infer::type, &Detect::type, &Downmix::type, &Null::type};
  return kNodes;
}

}  // namespace runnel::pipeline
