#include "inference/stepped_group.h"

#include <algorithm>
#include <new>

namespace runnel {

Result<SteppedGroup> SteppedGroup::make(const Prepared& prepared, const ModelUsage& usage, std::size_t count,
                                        Memory& memory) noexcept {
  SteppedGroup made;
  RUNNEL_ASSIGN(made.group_, SessionGroup::make(prepared, count, memory));
  auto* streams =
      static_cast<SteppedSession*>(memory.allocate(count * sizeof(SteppedSession), alignof(SteppedSession)));
  if (streams == nullptr)
    return Status(Code::out_of_memory) << "no memory for a group of " << count << " streams";
  for (std::size_t i = 0; i < count; ++i) {
    RUNNEL_ASSIGN(const SteppedSession stream, SteppedSession::make(made.group_.session(i), usage, memory));
    new (streams + i) SteppedSession(stream);
  }
  made.streams_ = {streams, count};
  return made;
}

void SteppedGroup::run(std::span<const std::uint32_t> which) noexcept {
  constexpr std::size_t kTogether = 32;
  SessionGroup::Turn turns[kTogether];
  for (std::size_t first = 0; first < which.size(); first += kTogether) {
    const auto some = which.subspan(first, std::min(kTogether, which.size() - first));
    for (std::size_t i = 0; i < some.size(); ++i) {
      streams_[some[i]].begin_run();
      turns[i] = {some[i], streams_[some[i]].session().prepared().block()};
    }
    group_.run({turns, some.size()});
    for (const std::uint32_t stream : some) streams_[stream].end_run();
  }
}

}  // namespace runnel
