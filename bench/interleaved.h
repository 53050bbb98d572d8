// Interleaved timing: cases alternate, so that a busy machine slows all of them. Times are processor time of
// the calling thread, so that a call longer than a time slice does not count other programs' slices.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace runnel::bench {

// Microseconds of one call.
struct Times {
  double min = 0, median = 0;
};

class Interleaved {
 public:
  // wall: for calls that use several threads.
  enum class Clock : std::uint8_t { thread, wall };
  explicit Interleaved(Clock clock = Clock::thread)
      : clock_(clock == Clock::thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC) {}

  // `per_call`: units (steps, clips) of one call; times are per unit.
  void add(std::string name, std::function<void()> call, double per_call = 1) {
    cases_.push_back({std::move(name), std::move(call), per_call, 1, {}});
  }

  // Alternates all cases for `seconds`, at least 50 rounds. A batch repeats a call until it lasts 60 us,
  // because reading the thread's clock costs some 300 ns.
  std::map<std::string, Times> run(double seconds) {
    for (Case& one : cases_) {
      static_cast<void>(time(one));  // warms up
      while (one.calls < (1 << 20) && time(one) < 60) one.calls *= 2;
    }
    using Wall = std::chrono::steady_clock;
    const auto start = Wall::now();
    const auto spent = [&] { return std::chrono::duration<double>(Wall::now() - start).count(); };
    rounds_ = 0;
    for (; rounds_ < 50 || spent() < seconds; ++rounds_) {
      for (Case& one : cases_) {
        // The previous case has filled the caches: the first call reloads this one's data.
        one.call();
        one.us.push_back(time(one) / static_cast<double>(one.calls) / one.per_call);
      }
    }
    std::map<std::string, Times> out;
    for (Case& one : cases_) {
      std::sort(one.us.begin(), one.us.end());
      out[one.name] = {one.us.front(), one.us[one.us.size() / 2]};
    }
    return out;
  }

  [[nodiscard]] int rounds() const { return rounds_; }
  // Names in the order of add().
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Case& one : cases_) names.push_back(one.name);
    return names;
  }

 private:
  struct Case {
    std::string name;
    std::function<void()> call;
    double per_call = 1;
    std::int64_t calls = 1;
    std::vector<double> us;
  };
  // Microseconds of one batch.
  [[nodiscard]] double time(const Case& one) const {
    const double start = microseconds();
    for (std::int64_t i = 0; i < one.calls; ++i) one.call();
    return microseconds() - start;
  }
  [[nodiscard]] double microseconds() const noexcept {
    timespec now{};
    clock_gettime(clock_, &now);
    return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
  }

  clockid_t clock_;
  std::vector<Case> cases_;
  int rounds_ = 0;
};

}  // namespace runnel::bench
