// Many streams of one prepared model, stepped together by one thread.
//
// Layer by layer instead of stream by stream: a layer's weights are loaded once for all of them, and a matrix
// is multiplied with many columns instead of one. Worth it for small blocks; results are the bits that each
// session gives alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/memory.h"
#include "base/status.h"
#include "inference/session.h"
#include "inference/slab.h"

namespace runnel {

class SessionGroup {
 public:
  // `count` sessions with their states and workspaces, all from `memory`, which must outlive the group, as
  // must `prepared`.
  static Result<SessionGroup> make(const Prepared& prepared, std::size_t count, Memory& memory) noexcept {
    return make(prepared, count, count, memory);
  }
  // The same with workspaces for `seats` sessions only: those that run together must sit in different ones
  // (sit()), from the writing of their input to the reading of their output. `states`: a group of another
  // block size whose states these sessions share (Session::make), of as many sessions; it outlives this one.
  static Result<SessionGroup> make(const Prepared& prepared, std::size_t count, std::size_t seats,
                                   Memory& memory, const SessionGroup* states = nullptr) noexcept;

  [[nodiscard]] std::size_t count() const noexcept { return sessions_.size(); }
  // Gives a session the workspace `seat` until it gets another one; copies of the session have the former.
  Session& sit(std::size_t index, std::size_t seat) noexcept {
    sessions_[index].workspace_ = &seats_[seat];
    return sessions_[index];
  }
  // A session like any other: write its input, look at its output, reset, save or restore it; it may also run
  // alone.
  [[nodiscard]] Session& session(std::size_t index) noexcept { return sessions_[index]; }
  // The memory of its state, for programs that fetch it into a cache before a run.
  [[nodiscard]] std::span<const std::byte> state(std::size_t index) const noexcept {
    return {sessions_[index].state_, prepared_->state_bytes()};
  }

  // One block of one session: the first `valid` frames are data, as in Session::run.
  struct Turn {
    std::uint32_t session = 0;
    std::int64_t valid = 0;
  };
  // Runs a block of each of these sessions, whose inputs have been written. A session may occur once. No
  // allocation.
  void run(std::span<const Turn> turns) noexcept;
  // A block of every session, all of it data. Only with a seat for each.
  void run() noexcept;

 private:
  // Sessions that take a step together: more would push their data out of the nearest cache between two
  // layers.
  static constexpr std::size_t kTogether = 32;
  void run_together(std::span<const Turn> turns) noexcept;

  const Prepared* prepared_ = nullptr;
  std::span<Session> sessions_;
  std::span<Workspace> seats_;
  RunContext* contexts_ = nullptr;  // kTogether
  bool* gating_ = nullptr;          // kTogether
};

}  // namespace runnel
