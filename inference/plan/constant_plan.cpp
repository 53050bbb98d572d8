#include "inference/plan/constant_plan.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace runnel {

void ConstantPlan::read(int tensor, std::span<Placement> placements) noexcept {
  Placement& place = placements[static_cast<std::size_t>(tensor)];
  if (place.constant) place.use = ConstantUse::in_place;
}

Status ConstantPlan::read(int tensor, void* pointer, std::span<Placement> placements) noexcept {
  read(tensor, placements);
  if (!copying_) return {};
  void* const memory = memory_.allocate(sizeof(Reader), alignof(Reader));
  if (memory == nullptr)
    return Status(Code::out_of_memory) << "no memory to note who reads tensor " << tensor;
  readers_ = new (memory) Reader{readers_, pointer, tensor};
  return {};
}

std::span<const std::int64_t> ConstantPlan::in_place(std::span<std::int64_t> order,
                                                     std::span<const Placement> placements) const noexcept {
  std::size_t count = 0;
  for (std::size_t t = 0; t < placements.size(); ++t) {
    if (placements[t].use == ConstantUse::in_place) order[count++] = static_cast<std::int64_t>(t);
  }
  const std::span<std::int64_t> found = order.first(count);
  std::sort(found.begin(), found.end(), [&](std::int64_t a, std::int64_t b) {
    const std::size_t a_bytes = placements[static_cast<std::size_t>(a)].bytes,
                      b_bytes = placements[static_cast<std::size_t>(b)].bytes;
    return a_bytes != b_bytes ? a_bytes < b_bytes : a < b;
  });
  return found;
}

Status ConstantPlan::copy_one(int tensor, Placement& place, Memory& memory, std::size_t tail) const noexcept {
  auto* const copy = static_cast<std::byte*>(memory.allocate(place.bytes + tail, 64));
  if (copy == nullptr)
    return Status(Code::out_of_memory)
           << "no memory to copy tensor " << tensor << ", a constant of " << place.bytes << " bytes";
  std::memcpy(copy, place.data, place.bytes);
  std::memset(copy + place.bytes, 0, tail);
  place.data = copy;
  place.use = ConstantUse::copied;
  return {};
}

void ConstantPlan::move_readers(std::span<const Placement> placements) const noexcept {
  for (const Reader* reader = readers_; reader != nullptr; reader = reader->next) {
    const std::byte* at = nullptr;
    std::memcpy(&at, reader->pointer, sizeof at);
    if (at == nullptr) continue;
    at = placements[static_cast<std::size_t>(reader->tensor)].data +
         (at - model_.tensor(reader->tensor).data.data());
    std::memcpy(reader->pointer, &at, sizeof at);
  }
}

}  // namespace runnel
