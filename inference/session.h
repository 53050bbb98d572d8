// Running a prepared model: one session per stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/memory.h"
#include "base/status.h"
#include "inference/prepared.h"
#include "inference/workers.h"

namespace runnel {

// Memory for one run: intermediate tensors, scratch and tables. One per thread; sessions of the same Prepared
// take turns.
class Workspace {
 public:
  // Allocates from `fast` and `slow` what the preparation put there: arena_bytes(tier) and, in its tier,
  // scratch_bytes; from `slow` also a few pointers per tensor.
  static Result<Workspace*> make(const Prepared& prepared, Memory& fast, Memory& slow) noexcept;
  // Everything from one memory.
  static Result<Workspace*> make(const Prepared& prepared, Memory& memory) noexcept {
    return make(prepared, memory, memory);
  }
  // `count` of them, with arenas one stride apart and one scratch memory for all: for one thread that runs
  // many sessions together.
  static Result<std::span<Workspace>> make_many(const Prepared& prepared, std::size_t count, Memory& fast,
                                                Memory& slow) noexcept;

  // Runs in this workspace share their heavy operators among `workers` from now on; null: none. Not owned.
  void use(Workers* workers) noexcept { workers_ = workers; }

 private:
  friend class Session;
  std::byte* arena_[2] = {};  // per tier
  std::byte* scratch_ = nullptr;
  std::byte** data_ = nullptr;
  FrameIndex* index_ = nullptr;
  std::int64_t* lengths_ = nullptr;
  Workers* workers_ = nullptr;
  // Whose ring pointers `data_` holds.
  const std::byte* placed_state_ = nullptr;
  std::int64_t placed_block_ = 0;
};

// The frames of one output that a run brought: `count` data frames, the first of them with logical index
// `first`.
struct OutputFrames {
  // The whole block, valid until the next run of a session in this workspace; the data starts at frame
  // `offset` of it.
  const std::byte* block = nullptr;
  std::int64_t offset = 0;
  // The first data frame, where frames are contiguous (every dimension before the time axis is 1).
  const std::byte* data = nullptr;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Called as a run proceeds; for profilers.
class StepObserver {
 public:
  // Step `index` of Prepared::step_count() is done.
  virtual void done(int index) noexcept = 0;

 protected:
  ~StepObserver() = default;
};

// One stream (or one clip). Not thread-safe; different sessions are independent. Everything that lasts is in
// `state`, without pointers, so that it can be copied, saved and moved.
class Session {
 public:
  // `state`: at least prepared.state_bytes(), 16-byte aligned, kept by the caller as long as the session; its
  // contents do not matter. Starts reset.
  static Result<Session> make(const Prepared& prepared, Workspace& workspace,
                              std::span<std::byte> state) noexcept;
  // Over the state of `other`, which must outlive it, in blocks of another size. Blocks of both follow each
  // other in any order, each written and run by one of the two. Flush with the one of the smallest blocks;
  // save and restore with one and the same. Error: invalid_argument when the preparations do not share states
  // (Prepared::shares_states_with).
  static Result<Session> make(const Prepared& prepared, Workspace& workspace, const Session& other) noexcept;

  // Where the next block of input `position` goes: prepared.placement(t).frames frames. Write there, then
  // run().
  [[nodiscard]] std::span<std::byte> input(int position) noexcept;

  // Runs one block of which the first `valid` source frames are data. valid < block() says that the recording
  // ended there; from then on only run(0) makes sense (it flushes). No allocation. In whole mode valid must
  // be block().
  void run(std::int64_t valid) noexcept;
  // The same, and tells `observer` of every step.
  void run(std::int64_t valid, StepObserver& observer) noexcept;

  // What the last run brought for output `position`.
  [[nodiscard]] OutputFrames output(int position) const noexcept;
  // The same for any tensor; of one that shares its memory only what its last writer left there
  // (PrepareOptions::share).
  [[nodiscard]] OutputFrames frames(int tensor) const noexcept;
  // The block of any tensor after a run (dumps, tests); only the last writer of shared memory is still there.
  [[nodiscard]] std::span<const std::byte> tensor(int index) const noexcept;

  // Calls of run(0) still needed to bring out everything; 0 before the end is known and after it is flushed.
  [[nodiscard]] std::int64_t flush_calls_left() const noexcept;

  // Back to the beginning, whatever happened before. Does not touch the histories' memory.
  void reset() noexcept;

  // The state as bytes: a header with size, fingerprint and CRC, then the state. `restore` refuses bytes of
  // another model, block size or version.
  [[nodiscard]] std::size_t saved_bytes() const noexcept;
  Status save(std::span<std::byte> to) const noexcept;
  Status restore(std::span<const std::byte> from) noexcept;
  // Whether the next block has its place: its input was asked for since the last run.
  [[nodiscard]] bool begun() const noexcept { return header().begun != 0; }
  // The state was restored by another session that shares it.
  void moved() noexcept { workspace_->placed_state_ = nullptr; }

  [[nodiscard]] const Prepared& prepared() const noexcept { return *prepared_; }

 private:
  friend class SessionGroup;
  struct Header {                    // first bytes of the state
    std::int64_t block = 0;          // units run since reset
    std::int64_t length = kEndless;  // source frames, once known
    std::uint32_t begun = 0;         // the next block's cursors are set
    std::uint32_t further = 0;       // units of the last block after its first one
  };
  Header& header() const noexcept { return *reinterpret_cast<Header*>(state_); }
  std::int64_t* cursors() const noexcept {
    return reinterpret_cast<std::int64_t*>(state_ + prepared_->tables_.cursors_offset);
  }
  // A run is start(), every step, finish(). start() says whether frames of this block may not be data, so
  // that tensors must be gated.
  bool start(std::int64_t valid) noexcept;
  [[nodiscard]] RunContext context() const noexcept;
  void run_parts(const Prepared::Step* steps, const RunContext& context) const noexcept;
  void finish() noexcept;
  template <class Done>
  void run_steps(std::int64_t valid, const Done& done) noexcept;
  void begin() noexcept;
  // The position of a ring's block: the first one, the one after `cursor`.
  std::int64_t first_position(const Prepared::RingMemory& at) const noexcept;
  std::int64_t next_position(const Prepared::RingMemory& at, std::int64_t cursor) const noexcept;
  void set_index() noexcept;
  void gate(int tensor) noexcept;
  void fill_frames(int tensor, std::byte* first, std::int64_t frames) const noexcept;

  const Prepared* prepared_ = nullptr;
  Workspace* workspace_ = nullptr;
  std::byte* state_ = nullptr;
};

}  // namespace runnel
