#include "pipeline/host/threads/placement.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace runnel::pipeline {
namespace {

constexpr int kMaxThreads = 32;
// A stage stays with its input when it and everything after it take less than this share of a step: it is not
// worth a hand-over, and the search has less to try.
constexpr double kTiny = 0.01;
// A placement counts as better when it takes this much less.
constexpr double kBetter = 0.98;
constexpr int kMaxTries = 20'000;  // some milliseconds
// Graphs with more stages, which nobody has written, stay on one thread: the search goes as deep as there are
// stages.
constexpr std::size_t kMaxStages = 500;

// Which threads a thread leads to.
using Reach = std::array<std::uint32_t, kMaxThreads>;

std::uint32_t bit(int thread) noexcept { return std::uint32_t{1} << thread; }

// Adds an output of thread `from` that thread `to` reads; false when that would close a circle.
bool connect(Reach& reach, int from, int to) noexcept {
  if (from == to) return true;
  const auto at = [&reach](int thread) -> std::uint32_t& { return reach[static_cast<std::size_t>(thread)]; };
  if ((at(to) & bit(from)) != 0) return false;
  const std::uint32_t more = at(to) | bit(to);
  for (int t = 0; t < kMaxThreads; ++t) {
    if (t == from || (at(t) & bit(from)) != 0) at(t) |= more;
  }
  return true;
}

// Depth first through all assignments, in the order of the stages, leaving out what cannot be better.
class Search {
 public:
  Search(const Stages& stages, int threads) : stages_(stages), threads_(threads) {
    const std::size_t count = stages.input.size();
    best_.one = std::accumulate(stages.cost.begin(), stages.cost.end(), 0.0);
    best_.slowest = best_.one;
    best_.thread.assign(count, 0);
    thread_.assign(count, 0);
    with_ = stages.with;
    std::vector<double> branch = stages.cost;  // with everything after it
    for (std::size_t i = count - 1; i > 0; --i) {
      branch[static_cast<std::size_t>(stages.input[i])] += branch[i];
      if (with_[i] == static_cast<int>(i) && branch[i] < kTiny * best_.one) with_[i] = stages.input[i];
    }
    // What is still to be placed, for a bound on what is left.
    least_ = std::max(best_.one / threads, *std::max_element(stages.cost.begin(), stages.cost.end()));
  }

  Placement run() {
    if (stages_.input.size() > kMaxStages) return best_;
    load_[0] = stages_.cost[0];
    Reach reach{};
    go_on(1, 1, reach);
    return best_;
  }

 private:
  [[nodiscard]] double slowest() const { return *std::max_element(load_.begin(), load_.end()); }

  void go_on(std::size_t stage, int used, const Reach& reach) {
    if (best_.slowest * kBetter <= least_ || slowest() >= best_.slowest * kBetter || ++tries_ > kMaxTries)
      return;
    if (stage == stages_.input.size()) {
      best_.slowest = slowest();
      best_.threads = used;
      best_.thread = thread_;
      return;
    }
    const int with = with_[stage];
    if (with != static_cast<int>(stage)) {
      put(stage, thread_[static_cast<std::size_t>(with)], used, reach);
      return;
    }
    // The thread with the least to do first; of those without anything, one is like another.
    std::array<int, kMaxThreads> order{};
    const int choices = std::min(used + 1, threads_);
    std::iota(order.begin(), order.begin() + choices, 0);
    std::stable_sort(order.begin(), order.begin() + choices, [this](int a, int b) {
      return load_[static_cast<std::size_t>(a)] < load_[static_cast<std::size_t>(b)];
    });
    for (int i = 0; i < choices; ++i)
      put(stage, order[static_cast<std::size_t>(i)], std::max(used, order[static_cast<std::size_t>(i)] + 1),
          reach);
  }

  void put(std::size_t stage, int thread, int used, Reach reach) {
    const auto input = static_cast<std::size_t>(stages_.input[stage]);
    const int from = thread_[input];
    if (!connect(reach, from, thread)) return;
    // One hand-over serves all readers of an output in a thread.
    bool handed = from == thread;
    for (std::size_t other = 1; other < stage && !handed; ++other)
      handed = stages_.input[other] == stages_.input[stage] && thread_[other] == thread;
    const double hand_over = handed ? 0 : stages_.hand_over[input];
    double &sender = load_[static_cast<std::size_t>(from)], &own = load_[static_cast<std::size_t>(thread)];
    const double sent = sender, had = own;
    sender += hand_over;
    own += hand_over + stages_.cost[stage];
    thread_[stage] = thread;
    go_on(stage + 1, used, reach);
    own = had;
    sender = sent;
  }

  const Stages& stages_;
  int threads_;
  std::vector<int> with_, thread_;
  std::array<double, kMaxThreads> load_{};
  double least_ = 0;
  int tries_ = 0;
  Placement best_;
};

}  // namespace

Placement place(const Stages& stages, int threads) {
  return Search(stages, std::clamp(threads, 1, kMaxThreads)).run();
}

bool is_possible(const Stages& stages, const std::vector<int>& thread, int threads) {
  if (thread.size() != stages.input.size() || thread.empty() || thread[0] != 0) return false;
  Reach reach{};
  for (std::size_t i = 0; i < thread.size(); ++i) {
    if (thread[i] < 0 || thread[i] >= std::min(threads, kMaxThreads) ||
        thread[i] != thread[static_cast<std::size_t>(stages.with[i])])
      return false;
    if (i > 0 && !connect(reach, thread[static_cast<std::size_t>(stages.input[i])], thread[i])) return false;
  }
  return true;
}

}  // namespace runnel::pipeline
