#include "streaming/plan.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "streaming/certainty.h"

namespace runnel::streaming {
namespace {

constexpr std::int64_t kLimit = std::int64_t{1} << 31;

void reduce(Stream& stream) noexcept {
  const std::int64_t common = std::gcd(stream.up, stream.down);
  stream.up /= common;
  stream.down /= common;
}

}  // namespace

Result<NodePlan> plan_node(const NodeRule& rule, const Stream& input) noexcept {
  NodePlan plan;
  plan.output = input;
  const std::int64_t K = rule.extent();
  if (K >= kLimit || rule.stride <= 0 || rule.stride >= kLimit || std::abs(rule.left) >= kLimit ||
      std::abs(rule.right) >= kLimit || rule.chunk <= 0 || rule.chunk >= kLimit || input.delay >= kLimit) {
    return Status(Code::unsupported) << "kernel, stride, padding or delay of 2^31 frames or more";
  }
  switch (rule.kind) {
    case Kind::window: {
      // y[t] with t = F - D_y needs x at stream index (F - D_y)*s - P + K - 1 + D_x, and after output F the
      // frames up to (F + 1)*s - 1 have arrived: s*D_y >= D_x + K - P - s. This floor is its least solution.
      // Nothing is emitted before the first input, hence the inner max.
      plan.output.down *= rule.stride;
      plan.output.delay = floor_div(
          input.delay + std::max<std::int64_t>(0, K - 1 - rule.left + std::max<std::int64_t>(0, -rule.right)),
          rule.stride);
      plan.context = rule.left + rule.stride * plan.output.delay - input.delay;
      break;
    }
    case Kind::upsample: {
      const std::int64_t late = certainty(rule);
      plan.output.up *= rule.stride;
      plan.output.delay = rule.stride * input.delay + rule.left + late;
      plan.context = floor_div(K - 1 + late, rule.stride);
      break;
    }
    case Kind::attention: {
      // The chunk of frame t ends at most chunk - 1 frames after it, and blocks hold whole chunks.
      plan.output.delay = rule.chunk * ceil_div(input.delay + rule.right, rule.chunk);
      plan.context = rule.left + plan.output.delay - input.delay;
      break;
    }
    case Kind::constant:
    case Kind::pointwise:
    case Kind::recurrent:
      break;
  }
  reduce(plan.output);
  if (plan.output.delay >= kLimit || plan.output.up >= kLimit || plan.output.down >= kLimit) {
    return Status(Code::unsupported) << "a rate or delay of 2^31 frames or more";
  }
  return plan;
}

Result<Stream> plan_join(const Stream& a, const Stream& b) noexcept {
  if (a.up != b.up || a.down != b.down) {
    return Status(Code::mismatch) << "rates differ: " << a.up << '/' << a.down << " and " << b.up << '/'
                                  << b.down << " frames per source frame";
  }
  return a.delay >= b.delay ? a : b;
}

std::int64_t calls_for_output(const Stream& output, std::int64_t length, std::int64_t n) noexcept {
  return length <= 0 ? 0 : ceil_div(length + output.delay, frames_per_block(output, n));
}

}  // namespace runnel::streaming
