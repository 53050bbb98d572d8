#include "npu/host/encoder/bricks.h"

namespace runnel::npu {
namespace {

constexpr std::int32_t kBrick = 16;

// Calls back with each buffer that a step uses, and the map in it.
template <class AnyStep, class Call>
void each_use(AnyStep& step, const Call& call) {
  if (step.ifm >= 0) call(static_cast<std::size_t>(step.ifm), step.op.ifm);
  if (step.ifm2 >= 0) call(static_cast<std::size_t>(step.ifm2), step.op.ifm2);
  if (step.ofm >= 0) call(static_cast<std::size_t>(step.ofm), step.op.ofm);
}

bool whole_bricks(const FeatureMap& map) {
  const std::int64_t column = std::int64_t{map.depth} * map.element;
  return map.layout == Layout::nhwc && map.element == 1 && map.depth % kBrick == 0 &&
         map.stride_x == column && map.stride_y == column * map.width && map.base[0] == 0 &&
         map.width0 >= map.width && map.height0 >= map.height && map.height1 >= map.height;
}
bool same_shape(const FeatureMap& a, const FeatureMap& b) {
  return a.height == b.height && a.width == b.width && a.depth == b.depth;
}
// Copies count bytes; sums over channels and broadcasts need rows, and so do outputs that are transposed and
// rows as weights.
bool takes_bricks(const Operation& op) {
  if (op.u85.second_weights || op.u85.transpose != u85::Transpose::hwc || op.u85.reversed != u85::Axis::none)
    return false;
  return op.computes() && !op.is(PoolMode::reduce_sum) && op.broadcast == 0 && op.u85.first_broadcast == 0;
}

}  // namespace

std::vector<bool> could_be_bricks(std::span<const Step> steps, const std::vector<bool>& inside) {
  std::vector<bool> possible = inside;
  std::vector<const FeatureMap*> first(inside.size(), nullptr);
  for (const Step& step : steps) {
    each_use(step, [&](std::size_t buffer, const FeatureMap& map) {
      if (first[buffer] == nullptr) first[buffer] = &map;
      if (!takes_bricks(step.op) || !whole_bricks(map) || !same_shape(map, *first[buffer]))
        possible[buffer] = false;
    });
  }
  for (std::size_t i = 0; i < possible.size(); ++i) possible[i] = possible[i] && first[i] != nullptr;
  return possible;
}

void lay_in_bricks(std::span<Step> steps, const std::vector<bool>& buffers) {
  for (Step& step : steps) {
    std::erase_if(step.others, [&](Step& other) {
      bool fits = true;
      each_use(other, [&](std::size_t buffer, const FeatureMap& map) {
        each_use(step, [&](std::size_t same, const FeatureMap& whole) {
          if (same == buffer && buffers[buffer] && !(whole_bricks(map) && same_shape(map, whole)))
            fits = false;
        });
      });
      return !fits;
    });
    lay_in_bricks(step.others, buffers);
    each_use(step, [&](std::size_t buffer, FeatureMap& map) {
      if (!buffers[buffer]) return;
      map.layout = Layout::nhcwb16;
      map.stride_c = std::int64_t{kBrick} * map.element * map.width;
      map.stride_y = map.stride_c * (map.depth / kBrick);
    });
  }
}

}  // namespace runnel::npu
