// Rule check: what the validators of all Ethos-U share.
#pragma once

#include <algorithm>

#include "base/checked.h"
#include "npu/validate.h"

namespace runnel::npu {

constexpr std::int64_t round_up(std::int64_t value, std::int64_t step) noexcept {
  return ceil_div(value, step) * step;
}

inline constexpr std::int32_t kMaxSubKernel = 8;

// Rows or columns of the input that a block of the output reads.
constexpr std::int64_t input_of(std::int64_t block, std::int64_t stride, std::int64_t kernel,
                                std::int64_t ublock, Upscale upscale) noexcept {
  std::int64_t size = (block - 1) * stride + std::min<std::int64_t>(kernel, kMaxSubKernel);
  if (upscale != Upscale::none) size = (size + (upscale == Upscale::nearest ? 1 : 0) + 1) / 2;
  return round_up(size, ublock);
}

// Checks one operation. A Status holds the sentence, without a heap.
class RuleCheck {
 public:
  RuleCheck(const Operation& op, const Accelerator& accelerator, ViolationSink& sink) noexcept
      : op_(op), accelerator_(accelerator), sink_(sink) {}

 protected:
  template <class... Pieces>
  void expect(bool holds, std::string_view rule, const Pieces&... pieces) noexcept {
    if (holds) return;
    Status text(Code::invalid_data);
    (text << ... << pieces);
    sink_.report(op_, rule, text.text());
  }
  void aligned(std::int64_t value, std::int64_t step, std::string_view what, std::string_view name) noexcept {
    expect(value % step == 0, rule::kAlignment, what, ' ', name, " is ", value, ", expected a multiple of ",
           step);
  }
  void alignment(const FeatureMap& map, std::string_view name) noexcept {
    for (const std::int64_t base : map.base)
      aligned(base, map.layout == Layout::nhcwb16 ? 16 : map.element, name, "base");
    if (map.layout == Layout::nhcwb16) {
      aligned(map.stride_c, 16, name, "STRIDE_C");
      aligned(map.stride_y, 16, name, "STRIDE_Y");
    } else {
      aligned(map.stride_x, map.element, name, "STRIDE_X");
      aligned(map.stride_y, map.element, name, "STRIDE_Y");
    }
  }

  const Operation& op_;
  const Accelerator& accelerator_;
  ViolationSink& sink_;
};

}  // namespace runnel::npu
