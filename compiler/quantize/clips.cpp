#include "compiler/quantize/clips.h"

#include <cmath>

namespace runnel::compiler::quantizer {
namespace {

// Nothing but one value: a microphone that was switched off, a file of zeros.
bool is_constant(const std::vector<float>& values) {
  for (const float value : values) {
    if (value != values[0]) return false;
  }
  return values.size() > 1;
}

}  // namespace

Status check_clips(const Graph& graph, const Clips& clips) {
  if (clips.size() == 0) return Status(Code::invalid_argument) << "no calibration data";
  std::size_t silent = 0;
  std::string first_silent;
  for (std::size_t i = 0; i < clips.size(); ++i) {
    Clip clip;
    RUNNEL_TRY(clips.read(i, clip));
    if (clip.size() != graph.inputs.size()) return Status(Code::mismatch) << clips.name(i) << ": " << clip.size() << " inputs, the model has " << graph.inputs.size();
    bool all = true;
    for (std::size_t k = 0; k < clip.size(); ++k) {
      const Tensor& tensor = graph.tensors[static_cast<std::size_t>(graph.inputs[k])];
      std::size_t count = 1;
      for (const std::int32_t dim : tensor.shape) count *= static_cast<std::size_t>(dim);
      if (clip[k].size() != count) {
        return Status(Code::mismatch) << clips.name(i) << ": " << clip[k].size() << " values, expected " << count << " for input " << tensor.name;
      }
      for (std::size_t n = 0; n < count; ++n) {
        if (!std::isfinite(clip[k][n])) return Status(Code::invalid_data) << clips.name(i) << ": value " << n << " of input " << tensor.name << " is not a finite number";
      }
      all = all && is_constant(clip[k]);
    }
    if (!all) continue;
    if (silent++ == 0) first_silent = clips.name(i);
  }
  // A few silent recordings belong to some data; nothing else in them means that something is wrong with it.
  if (silent * 2 > clips.size()) {
    return Status(Code::invalid_data) << first_silent << ": the same value throughout, as " << silent << " of " << clips.size()
                                      << " clips: silent data calibrates nothing";
  }
  return {};
}

}  // namespace runnel::compiler::quantizer
