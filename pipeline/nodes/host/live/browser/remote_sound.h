// Sound that another program's thread brings over a connection that may break: the microphone of a browser.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "base/status.h"
#include "features/samples/resampler.h"

namespace runnel::pipeline {

// One speaker at a time brings samples at a rate of its own; a reader gets them resampled, on one clock. What
// is missing becomes a gap: of exact length where the same speaker comes back and knows how many samples it
// has had meanwhile, and else as long as the pause was, by this machine's clock, and at least one sample.
// Thread-safe.
class RemoteSound {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::int32_t kLeastRate = 8000, kMostRate = 192000;  // Hz, of speakers
  static constexpr std::int32_t kRateStep = 25;  // with less in common, the filter would have megabytes
  static constexpr double kMostWaiting = 10;     // seconds that may wait for the reader; later ones are lost

  struct Speaker {
    std::int32_t rate = 48000;  // Hz
    std::string session;        // unique to a speaker, and the same when it comes back
    std::int64_t first = 0;     // number of the next sample, counted from the speaker's start
    bool takes_over = false;    // another speaker's turn ends
  };
  struct Facts {
    std::int64_t speakers = 0, gaps = 0;
    std::int64_t exact_lost = 0, estimated_lost = 0, overload_lost = 0;  // samples of the reader's rate
  };

  // `rate`: of the reader, 1000 .. 192000 Hz.
  explicit RemoteSound(std::int32_t rate) : rate_(rate) {}
  RemoteSound(const RemoteSound&) = delete;
  RemoteSound& operator=(const RemoteSound&) = delete;

  // A turn begins; returns its number. Errors: invalid_argument for a rate or a first sample out of range;
  // unsupported when another speaker has the turn and this one does not take it over.
  Result<std::uint64_t> begin(const Speaker& speaker);
  // False: the turn has ended, another speaker has taken over.
  bool push(std::uint64_t turn, std::span<const std::int16_t> samples, Time now);
  // The speaker had so many samples that will not come, at most an hour of them.
  bool lose(std::uint64_t turn, std::int64_t samples);
  // False: it had ended already.
  bool end(std::uint64_t turn);

  // For the reader. Waits until there are samples; false: there are none.
  bool wait(std::chrono::milliseconds patience);
  // Copies samples that follow each other; 0: none. `lost`: missing before them.
  std::size_t take(std::span<float> out, std::int64_t& lost);
  [[nodiscard]] Facts facts() const;
  [[nodiscard]] std::int32_t rate() const noexcept { return rate_; }

 private:
  struct Piece {
    std::int64_t lost = 0;
    std::vector<float> samples;
  };
  void start_run(std::int64_t input, std::int64_t least_position);
  void finish_run();
  void append(std::span<const float> samples);

  const std::int32_t rate_;
  mutable std::mutex mutex_;  // guards all that follows
  std::condition_variable arrived_;
  std::deque<Piece> pieces_;
  std::size_t given_ = 0;          // of the first piece
  std::size_t waiting_ = 0;        // samples in pieces_
  std::int64_t position_ = 0;      // of the reader's clock, after all pieces
  std::int64_t pending_lost_ = 0;  // before the next piece
  Facts facts_;

  std::uint64_t turn_ = 0;
  bool speaking_ = false, waits_for_first_ = false;
  Speaker speaker_;
  std::unique_ptr<HeapMemory> memory_;  // of the resampler
  std::optional<features::Resampler> resampler_;
  std::int32_t resampler_rate_ = 0;
  bool running_ = false;  // the resampler has a run that is not flushed
  std::int64_t up_ = 1, down_ = 1;
  std::int64_t base_ = 0;    // number of the session's sample from which the next three count
  std::int64_t origin_ = 0;  // its position
  std::int64_t heard_ = 0;   // the next sample, counted from it
  std::int64_t skip_ = 0;    // samples up to the next point that both rates share
  Time last_;                // when the last sample arrived
  std::vector<float> in_, out_;
};

}  // namespace runnel::pipeline
