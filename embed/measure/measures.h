// Figures of a measured node: cycles by stage and by step of the graph.
#pragma once

#include <cstdint>
#include <span>

#include "base/memory.h"
#include "embed/measure/runnel_measure.h"

namespace runnel::embed {

class Measures {
 public:
  struct Time {
    std::uint64_t calls = 0, cycles = 0;
    std::uint32_t most = 0;

    void add(std::uint32_t spent) noexcept {
      ++calls;
      cycles += spent;
      if (spent > most) most = spent;
    }
  };

  // For `stages` nodes, in `memory` with all that measuring takes; null when it is exhausted.
  static Measures* make(Memory& memory, int stages) noexcept;

  // Restarts all figures. `sample_rate` in Hz. Cycles that reading the counter twice takes are no part of any
  // figure.
  void start(const runnel_board& board, std::int64_t sample_rate) noexcept;

  [[nodiscard]] std::uint32_t now() const noexcept { return board_.cycles(board_.user); }
  // Cycles since an earlier now(), less those of reading the counter.
  [[nodiscard]] std::uint32_t since(std::uint32_t start) const noexcept {
    const std::uint32_t spent = now() - start;
    return spent > cost_ ? spent - cost_ : 0;
  }

  // A step of the graph begins, with as many samples as took() says next.
  void begin_step() noexcept;
  void took(std::int64_t samples) noexcept { samples_ = samples; }
  void add(int stage, std::uint32_t spent) noexcept {
    stages_[static_cast<std::size_t>(stage)].add(spent);
    spent_ += spent;
  }
  // The end of a stream, or what comes before a gap: it has no samples, and so is no part of a step.
  void add_flush(int stage, std::uint32_t spent) noexcept {
    stages_[static_cast<std::size_t>(stage)].add(spent);
  }

  [[nodiscard]] std::span<const Time> stages() const noexcept { return stages_; }
  [[nodiscard]] const runnel_board& board() const noexcept { return board_; }
  // Steps, cycles and lateness, the current step included.
  [[nodiscard]] runnel_measures totals() const noexcept;
  // Room for one timed node for each stage (timed_node.h).
  [[nodiscard]] std::byte* rooms() const noexcept { return rooms_; }
  bool attached = false;  // the timed nodes are in the schedule

 private:
  struct Steps {
    std::uint64_t count = 0, cycles = 0, most = 0, late = 0, behind = 0, most_behind = 0;
  };
  void end_step(Steps& steps) const noexcept;

  runnel_board board_ = {};
  std::uint32_t cost_ = 0;
  std::int64_t rate_ = 0;
  std::span<Time> stages_;
  std::byte* rooms_ = nullptr;
  Steps steps_;
  std::int64_t samples_ = 0;  // of the current step
  std::uint64_t spent_ = 0;   // in the current step
  bool begun_ = false;
};

}  // namespace runnel::embed
