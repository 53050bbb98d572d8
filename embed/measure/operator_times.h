// The cycles that each step of a model takes, while its node is measured.
#pragma once

#include <span>

#include "base/memory.h"
#include "base/status.h"
#include "embed/measure/measures.h"
#include "inference/session.h"

namespace runnel::embed {

class OperatorTimes final : public StepObserver {
 public:
  // Error: out_of_memory.
  Status prepare(Memory& memory, const Prepared& prepared) noexcept {
    prepared_ = &prepared;
    const auto count = static_cast<std::size_t>(prepared.step_count());
    auto* const times = memory.array<Measures::Time>(count);
    if (times == nullptr) return Status(Code::out_of_memory, "the times of operators");
    times_ = {times, count};
    return {};
  }
  // Measures from now on, as stage `stage`; figures restart at 0.
  void start(Measures& measures, int stage) noexcept {
    measures_ = &measures;
    stage_ = stage;
    for (Measures::Time& one : times_) one = {};
  }
  // Null: not measured.
  [[nodiscard]] Measures* measures() const noexcept { return measures_; }
  [[nodiscard]] int stage() const noexcept { return stage_; }

  void run(Session& session, std::int64_t valid) noexcept {
    last_ = measures_->now();
    session.run(valid, *this);
  }
  void done(int index) noexcept override {
    times_[static_cast<std::size_t>(index)].add(measures_->since(last_));
    last_ = measures_->now();
  }

  [[nodiscard]] std::span<const Measures::Time> times() const noexcept { return times_; }
  [[nodiscard]] const Prepared& prepared() const noexcept { return *prepared_; }

 private:
  const Prepared* prepared_ = nullptr;
  Measures* measures_ = nullptr;
  int stage_ = 0;
  std::span<Measures::Time> times_;
  std::uint32_t last_ = 0;
};

}  // namespace runnel::embed
