#include "pipeline/schedule.h"

#include <algorithm>
#include <utility>

namespace runnel::pipeline {

Status Schedule::make(std::span<const Stage> stages, std::int64_t (*now)() noexcept,
                      Memory& memory) noexcept {
  stages_ = memory.array<Stage>(stages.size());
  edges_ = memory.array<Edge>(stages.size());
  if (stages_ == nullptr || edges_ == nullptr) return out_of_memory("the executor");
  std::copy(stages.begin(), stages.end(), stages_);
  count_ = static_cast<int>(stages.size());
  now_ = now;
  return {};
}

Status Schedule::make_like(const Schedule& other, Memory& memory) noexcept {
  RUNNEL_TRY(make({other.stages_, static_cast<std::size_t>(other.count_)}, other.now_, memory));
  std::copy_n(other.edges_, other.count_, edges_);
  clear_counters();
  return {};
}

Node& Schedule::exchange(int stage, Node& node) noexcept {
  return *std::exchange(stages_[stage].node, &node);
}

std::int64_t (*Schedule::time_by(std::int64_t (*now)() noexcept) noexcept)() noexcept {
  return std::exchange(now_, now);
}

void Schedule::absorb(Schedule& other) noexcept {
  for (int i = 0; i < count_; ++i) {
    edges_[i].produced += other.edges_[i].produced;
    edges_[i].busy += other.edges_[i].busy;
  }
  events_ += other.events_;
  other.clear_counters();
}

void Schedule::clear_counters() noexcept {
  events_ = 0;
  for (int i = 0; i < count_; ++i) edges_[i].produced = edges_[i].busy = 0;
}

void Schedule::reset(int stage, std::int64_t first) noexcept {
  edges_[stage].output.first = first;
  for (int i = stage + 1; i < count_; ++i) {
    if (stages_[i].input < stage) continue;
    Output& output = edges_[i].output;
    output.first = stages_[i].node->reset(edges_[stages_[i].input].output.first);
    output.count = 0;
  }
}

Status Schedule::check(int stage) noexcept {
  const Output& output = edges_[stage].output;
  if (output.count >= 0 && output.count <= output.capacity) return {};
  return failed(stage, Status(Code::invalid_argument) << "wrote " << output.count << " frames where "
                                                      << output.capacity << " were announced");
}

Status Schedule::process(int stage, const Block& in) noexcept {
  const std::int64_t start = now_ != nullptr ? now_() : 0;
  const Status status = stages_[stage].node->process(in, edges_[stage].output);
  if (now_ != nullptr) edges_[stage].busy += now_() - start;
  if (!status.ok()) return failed(stage, status);
  RUNNEL_TRY(check(stage));
  edges_[stage].produced += edges_[stage].output.count;
  count(edges_[stage]);
  return {};
}

Status Schedule::run_after(int stage) noexcept {
  for (int i = stage + 1; i < count_; ++i) {
    edges_[i].output.count = 0;
    const int input = stages_[i].input;
    const Output& from = edges_[input].output;
    if (input < stage || from.count == 0) continue;
    RUNNEL_TRY(process(i, {from.data, from.count, from.first}));
  }
  return {};
}

Status Schedule::flush() noexcept {
  for (int i = 1; i < count_; ++i) {
    Output& output = edges_[i].output;
    do {
      output.count = 0;
      output.end = false;
      if (const Status status = stages_[i].node->flush(output); !status.ok()) return failed(i, status);
      RUNNEL_TRY(check(i));
      edges_[i].produced += output.count;
      count(edges_[i]);
      if (output.count > 0) RUNNEL_TRY(run_after(i));
    } while (!output.end);
    output.count = 0;
  }
  return {};
}

Status Schedule::gap(const Gap& gap) noexcept {
  for (int i = 1; i < count_; ++i) {
    if (const Status status = stages_[i].node->gap(gap); !status.ok()) return failed(i, status);
  }
  return {};
}

Status Schedule::finish() noexcept {
  for (int i = 0; i < count_; ++i) {
    if (const Status status = stages_[i].node->finish(); !status.ok()) return failed(i, status);
  }
  return {};
}

}  // namespace runnel::pipeline
