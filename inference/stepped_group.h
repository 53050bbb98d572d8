// Many streams of one model that runs in steps, windows or clips, run together by one thread: layer by layer,
// so that weights are loaded once for all of them (session_group.h). The bits are those of each stream alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/memory.h"
#include "base/status.h"
#include "inference/session_group.h"
#include "inference/stepped_session.h"

namespace runnel {

class SteppedGroup {
 public:
  // `count` streams, all from `memory`, which must outlive the group, as must `prepared`, made with
  // prepare_options() of this `usage`. Errors: those of SessionGroup and SteppedSession.
  static Result<SteppedGroup> make(const Prepared& prepared, const ModelUsage& usage, std::size_t count,
                                   Memory& memory) noexcept;

  [[nodiscard]] std::size_t count() const noexcept { return streams_.size(); }
  // A stream like any other, which may also run alone.
  [[nodiscard]] SteppedSession& stream(std::size_t index) noexcept { return streams_[index]; }

  // Runs these streams, each of which is due(). None may occur twice. No allocation.
  void run(std::span<const std::uint32_t> which) noexcept;

 private:
  SessionGroup group_;
  std::span<SteppedSession> streams_;
};

}  // namespace runnel
