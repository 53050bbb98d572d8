// What turns frames into frames with a memory of the frames around them: deltas, stacking, normalisation.
//
//     for each frame: push(frame); while (pull(out)) use(out);
//     finish(); while (pull(out)) use(out);
//
// Frame t of the result depends on the whole recording as the offline definition says, and never on when it
// was pulled.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory.h"
#include "base/status.h"

namespace runnel::features {

// One stream. Not thread-safe. Memory is taken when it is made and must outlive it.
class FrameStage {
 public:
  // Takes the next frame, in_dims() finite values (others would stay in sums for ever); every frame must be
  // followed by pull() until that gives none. Error: invalid_data when the recording is longer than this
  // stage can hold.
  virtual Status push(const float* frame) noexcept = 0;
  // The next frame, out_dims() values; false while none is certain.
  virtual bool pull(float* out) noexcept = 0;
  // The recording has ended.
  virtual void finish() noexcept = 0;
  virtual void reset() noexcept = 0;

  [[nodiscard]] virtual std::size_t in_dims() const noexcept = 0;
  [[nodiscard]] virtual std::size_t out_dims() const noexcept = 0;
  // Most frames that are waiting and can become certain at once.
  [[nodiscard]] virtual std::size_t most_waiting() const noexcept = 0;
  // Frames that a frame waits for in the middle of a recording.
  [[nodiscard]] virtual std::size_t look_ahead() const noexcept = 0;
  // Frame t of the result belongs to frame t * step() - before() of the input and to span() frames from
  // there.
  [[nodiscard]] virtual std::int64_t step() const noexcept { return 1; }
  [[nodiscard]] virtual std::int64_t before() const noexcept { return 0; }
  [[nodiscard]] virtual std::int64_t span() const noexcept { return 1; }

 protected:
  ~FrameStage() = default;
};

// The last `capacity` frames of a stream, by number.
class FrameHistory {
 public:
  Status init(std::size_t dims, std::size_t capacity, Memory& memory) noexcept;
  static constexpr std::size_t memory_bytes(std::size_t dims, std::size_t capacity) noexcept {
    return dims * capacity * sizeof(float);
  }

  // Room for the next frame, which push() then counts.
  [[nodiscard]] float* next() noexcept { return at(count_); }
  void push() noexcept { ++count_; }
  // A copy of dims() values as the next frame.
  void push(const float* frame) noexcept;
  [[nodiscard]] float* at(std::int64_t frame) noexcept {
    return data_ + static_cast<std::size_t>(static_cast<std::uint64_t>(frame) % capacity_) * dims_;
  }
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t dims() const noexcept { return dims_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  void reset() noexcept { count_ = 0; }
  // At most `most` frames so far.
  template <class Archive>
  void state(Archive& archive, std::int64_t most = Archive::kMostIndex) noexcept {  // base/state_archive.h
    archive.index(count_, most);
    const auto capacity = static_cast<std::int64_t>(capacity_);
    for (std::int64_t i = count_ > capacity ? count_ - capacity : 0; i < count_ && archive.ok(); ++i)
      archive.values(std::span(at(i), dims_));
  }

 private:
  float* data_ = nullptr;
  std::size_t dims_ = 0, capacity_ = 1;
  std::int64_t count_ = 0;
};

}  // namespace runnel::features
