#include "compiler/import/espdl/warm_up_crop.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace runnel::compiler::espdl_source {
namespace {

// How a value relates to that of the offline model: frame n is the offline model's frame n - lag.
struct Shifted {
  std::int64_t axis = 1, lag = 0;
  bool cropped = false;  // after a slice that no join has confirmed yet
};

// Leading frames that a slice cuts off along `axis` and nothing else; 0: it is another kind of slice.
std::int64_t leading_frames(const Model& model, const Node& node, std::int64_t axis) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 1; i < 5; ++i) {
    const Constant* constant = i < node.inputs.size() ? model.constant(node.inputs[i]) : nullptr;
    const auto values = constant != nullptr ? integers_of(*constant)
                                            : Result<std::vector<std::int64_t>>(std::vector<std::int64_t>{1});
    if ((constant == nullptr && i < 4) || !values.ok() || values->size() != 1) return 0;
    numbers.push_back((*values)[0]);
  }
  const bool to_the_end = numbers[1] >= std::numeric_limits<std::int32_t>::max();
  return to_the_end && numbers[2] == axis && numbers[3] == 1
             ? std::clamp<std::int64_t>(numbers[0], 0, 1 << 24)
             : 0;
}

bool keeps_rate(const Node& node) {
  const auto strides = node.integers("strides", {});
  return strides.ok() &&
         std::all_of(strides->begin(), strides->end(), [](std::int64_t stride) { return stride == 1; }) &&
         node.op != "Resize" && node.op != "InsertZeros";
}

std::optional<std::int64_t> axis_after_transpose(const Node& node, std::int64_t axis) {
  const auto perm = node.integers("perm", {});
  if (!perm.ok()) return std::nullopt;
  const auto at = std::find(perm->begin(), perm->end(), axis);
  return at == perm->end() ? std::nullopt : std::optional<std::int64_t>(at - perm->begin());
}

}  // namespace

std::set<std::string> warm_up_crops(const Model& model) {
  const auto cache = std::find_if(model.nodes.begin(), model.nodes.end(),
                                  [](const Node& node) { return node.op == "StreamingCache"; });
  if (cache == model.nodes.end()) return {};
  const auto frame_axis = cache->integer("frame_axis", 1);
  if (!frame_axis.ok()) return {};
  std::map<std::string, Shifted, std::less<>> values;
  for (const std::string& input : model.inputs) values[input] = {*frame_axis, 0, false};
  std::set<std::string> crops;
  for (const Node& node : model.nodes) {
    std::optional<Shifted> joined;
    bool fits = true, cropped = false;
    for (const std::string& input : node.inputs) {
      const auto known = values.find(input);
      if (known == values.end()) continue;
      cropped = cropped || known->second.cropped;
      fits = fits && (!joined || joined->lag == known->second.lag);
      if (!joined) joined = known->second;
    }
    if (!joined) continue;
    const bool join = std::count_if(node.inputs.begin(), node.inputs.end(),
                                    [&](const std::string& input) { return values.contains(input); }) > 1;
    if (join && cropped && !fits) return {};
    if (!keeps_rate(node)) return {};
    Shifted out = *joined;
    out.cropped = cropped && !join;
    if (node.op == "StreamingCache") {
      const auto window = node.integer("window_size", 1);
      if (!window.ok() || *window < 1 || *window > (1 << 24)) return {};
      out.lag += *window - 1;
    } else if (node.op == "Transpose") {
      const auto axis = axis_after_transpose(node, out.axis);
      if (!axis) return {};
      out.axis = *axis;
    } else if (node.op == "Slice") {
      if (const std::int64_t frames = leading_frames(model, node, out.axis); frames > 0) {
        out.lag += frames;
        out.cropped = true;
        crops.insert(node.outputs[0]);
      }
    }
    for (const std::string& output : node.outputs) values[output] = out;
  }
  const bool unconfirmed =
      std::any_of(model.outputs.begin(), model.outputs.end(),
                  [&](const std::string& name) { return values.contains(name) && values[name].cropped; });
  return unconfirmed ? std::set<std::string>{} : crops;
}

}  // namespace runnel::compiler::espdl_source
