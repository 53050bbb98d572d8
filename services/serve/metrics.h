// The metrics of a server, readable from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace runnel::serve {

// One stream of a server, as its page shows it.
struct SessionRow {
  std::uint64_t number = 0;  // of the connection
  std::string source;
  std::int64_t rate = 0;  // Hz
  int channels = 1;
  double connected = 0, heard = 0;  // seconds: since the start; of sound
  double silent = 0;                // seconds since the last byte
  std::int64_t events = 0;
  std::size_t unsent = 0;  // bytes of answers
};

// What streams there are, for readers that ask. Each thread of a server writes its own; thread-safe.
class SessionBoard {
 public:
  // Whether somebody has read in the last seconds: otherwise nobody needs to write.
  [[nodiscard]] bool wanted() const noexcept;
  void write(std::size_t thread, std::vector<SessionRow> rows);
  // At most this many rows, the oldest streams first.
  [[nodiscard]] std::vector<SessionRow> read(std::size_t most) const;

 private:
  static constexpr std::int64_t kInterest = 3;  // seconds
  mutable std::mutex mutex_;
  std::vector<std::vector<SessionRow>> rows_;      // by thread
  mutable std::atomic<std::int64_t> read_{-1000};  // seconds of the steady clock
};

// Why a connection was refused or cut.
enum class Reason : std::uint8_t {
  busy,
  overload,
  token,
  rate,
  greeting,
  data,
  idle,
  slow_reader,
  gone,
  shutdown,
  failed
};
inline constexpr std::size_t kReasons = 11;
std::string_view name_of(Reason reason) noexcept;

struct Metrics {
  template <class T>
  using Number = std::atomic<T>;

  Number<std::int64_t> streams{0}, most_streams{0};           // now, and at most so far
  Number<std::int64_t> connections{0};                        // open now
  Number<std::uint64_t> accepted{0}, begun{0}, completed{0};  // connections; streams
  std::array<Number<std::uint64_t>, kReasons> ended{};        // refused or cut, by reason
  Number<std::uint64_t> bytes{0}, events{0}, steps{0};
  Number<std::uint64_t> microseconds{0};  // of sound
  // Quantiles in seconds since the start, computed once a second.
  struct Quantiles {
    Number<double> p50{0}, p99{0}, largest{0};
  };
  // Of one thread: durations of steps, and times from the arrival of samples to the end of the step that
  // consumed them.
  struct Times {
    Quantiles step, lateness;
  };
  static constexpr int kMaxThreads = 32;
  std::array<Times, kMaxThreads> times{};
  int threads = 1;
  SessionBoard sessions;

  void end(Reason reason) noexcept {
    ended[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  }
  // In the text format of Prometheus, version 0.0.4.
  [[nodiscard]] std::string prometheus(int max_streams) const;
};

// Of this process, as reported by the system.
double processor_seconds() noexcept;
std::int64_t resident_bytes() noexcept;

}  // namespace runnel::serve
