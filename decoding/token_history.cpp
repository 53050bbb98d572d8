#include "decoding/token_history.h"

#include <algorithm>

namespace runnel::decoding {

bool TokenHistory::prepare(Memory& memory, std::int32_t beam, std::int32_t max_tokens) noexcept {
  // Every hypothesis has all of its tokens but the last in the history, and a step adds one for each.
  capacity_ = beam * max_tokens + beam;
  const auto capacity = static_cast<std::size_t>(capacity_);
  entries_ = memory.array<Entry>(capacity);
  free_ = memory.array<std::int32_t>(capacity);
  used_ = memory.array<bool>(capacity);
  if (entries_ == nullptr || free_ == nullptr || used_ == nullptr) return false;
  clear();
  return true;
}

void TokenHistory::clear() noexcept {
  begin_collection();
  end_collection();
}

std::int32_t TokenHistory::add(const HeardToken& token, std::int32_t before) noexcept {
  const std::int32_t entry = free_[--free_count_];
  entries_[entry] = {token, before};
  return entry;
}

bool TokenHistory::same(std::int32_t a, std::int32_t b) const noexcept {
  while (a != b) {
    if (a < 0 || b < 0 || entries_[a].token.token != entries_[b].token.token) return false;
    a = entries_[a].before;
    b = entries_[b].before;
  }
  return true;
}

void TokenHistory::begin_collection() noexcept { std::fill(used_, used_ + capacity_, false); }

void TokenHistory::mark(std::int32_t entry) noexcept {
  for (; entry >= 0 && !used_[entry]; entry = entries_[entry].before) used_[entry] = true;
}

void TokenHistory::end_collection() noexcept {
  free_count_ = 0;
  for (std::int32_t i = capacity_ - 1; i >= 0; --i)
    if (!used_[i]) free_[free_count_++] = i;
}

}  // namespace runnel::decoding
