#include "kernels/conv/conv_apart.h"

#include <algorithm>

namespace runnel::kernels {
namespace {

struct Apart {
  Conv others;
  const std::int32_t* channels = nullptr;
  std::int32_t count = 0;
};

const Apart& apart_of(const Conv& conv) noexcept { return *static_cast<const Apart*>(conv.extra); }

// The channels apart of `part`; `addend` is null where there is none.
void replace(const Conv& conv, const ConvPart& part, const void* x, const void* addend, void* y) noexcept {
  const Apart& apart = apart_of(conv);
  for (std::int32_t i = 0; i < apart.count; ++i) {
    const std::int32_t channel = apart.channels[i];
    if (channel < part.first_channel || channel >= part.last_channel) continue;
    const ConvPart one{part.first, part.last, channel, channel + 1};
    conv_reference(conv.spec, one, x, y);
    if (addend != nullptr) conv_add_reference(conv.spec, one, addend, y);
  }
}

void run(const Conv& conv, const void* x, void* y, void* scratch) noexcept {
  const Conv& others = apart_of(conv).others;
  others.run(others, x, y, scratch);
  replace(conv, whole_of(conv.spec), x, nullptr, y);
}
void run_add(const Conv& conv, const void* x, const void* addend, void* y, void* scratch) noexcept {
  const Conv& others = apart_of(conv).others;
  others.run_add(others, x, addend, y, scratch);
  replace(conv, whole_of(conv.spec), x, addend, y);
}
void run_part(const Conv& conv, const ConvPart& part, const void* x, const void* addend, void* y,
              void* scratch) noexcept {
  const Conv& others = apart_of(conv).others;
  others.run_part(others, part, x, addend, y, scratch);
  replace(conv, part, x, addend, y);
}

}  // namespace

Status compute_apart(const ConvSpec& whole, const std::int32_t* channels, std::int32_t count, Memory& memory,
                     Conv& conv) noexcept {
  auto* const apart = memory.array<Apart>(1);
  auto* const copy = memory.array<std::int32_t>(static_cast<std::size_t>(count));
  if (apart == nullptr || copy == nullptr)
    return Status(Code::out_of_memory, "convolution: no memory for channels apart");
  std::copy_n(channels, count, copy);
  apart->others = conv;
  apart->channels = copy;
  apart->count = count;
  conv.spec = whole;
  conv.run = run;
  conv.run_add = whole.add ? run_add : nullptr;
  conv.run_part = run_part;
  conv.direct = nullptr;
  conv.run_rows = nullptr;
  conv.extra = apart;
  return {};
}

const Conv* kernel_of_others(const Conv& conv) noexcept {
  return conv.run == run ? &static_cast<const Apart*>(conv.extra)->others : nullptr;
}

}  // namespace runnel::kernels
