#include "compiler/quantize/calibrate/clips.h"

#include <cmath>

namespace runnel::compiler::quantizer {
namespace {

// Nothing but one value.
bool is_constant(const std::vector<float>& values) {
  for (const float value : values) {
    if (value != values[0]) return false;
  }
  return values.size() > 1;
}

}  // namespace

Result<std::vector<std::size_t>> usable_clips(const Graph& graph, const Clips& clips) {
  if (clips.size() == 0) return Status(Code::invalid_argument) << "no calibration data";
  std::vector<std::size_t> usable;
  for (std::size_t i = 0; i < clips.size(); ++i) {
    Clip clip;
    RUNNEL_TRY(clips.read(i, clip));
    if (clip.size() != graph.inputs.size())
      return Status(Code::mismatch) << clips.name(i) << ": " << clip.size() << " inputs, the model has "
                                    << graph.inputs.size();
    bool all = true;
    for (std::size_t k = 0; k < clip.size(); ++k) {
      const Tensor& tensor = graph.tensors[static_cast<std::size_t>(graph.inputs[k])];
      const std::size_t count = element_count(tensor.shape);
      if (clip[k].size() != count) {
        return Status(Code::mismatch) << clips.name(i) << ": " << clip[k].size() << " values, expected "
                                      << count << " for input " << tensor.name;
      }
      for (std::size_t n = 0; n < count; ++n) {
        if (!std::isfinite(clip[k][n]))
          return Status(Code::invalid_data) << clips.name(i) << ": value " << n << " of input " << tensor.name
                                            << " is not a finite number";
      }
      all = all && is_constant(clip[k]);
    }
    if (!all) usable.push_back(i);
  }
  if (usable.empty()) {
    return Status(Code::invalid_data) << clips.name(0) << ": the same value throughout, as all "
                                      << clips.size() << " clips: silent data calibrates nothing";
  }
  return usable;
}

}  // namespace runnel::compiler::quantizer
