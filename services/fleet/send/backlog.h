// What a sender has taken and no server has stored yet, in order and bounded: in memory, or in a file that
// outlives the process (spool.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/status.h"
#include "services/fleet/send/piece.h"

namespace runnel::fleet {

// Not thread-safe; a lane has a lock around it.
class Backlog {
 public:
  Backlog() = default;
  virtual ~Backlog() = default;
  Backlog(const Backlog&) = delete;
  Backlog& operator=(const Backlog&) = delete;

  // Keeps a piece behind all others. False: there is no room for it now. Errors: io_error; invalid_argument
  // for one that never has room.
  virtual Result<bool> put(const Piece& piece) = 0;
  // The oldest pieces as one, as far as they are of one run without a gap and make at most `most` bytes, but
  // at least one piece. Nothing: it is empty. Errors: io_error, invalid_data.
  Result<std::optional<Piece>> front(std::size_t most);
  // A server has stored this run up to the sample `next`, and its end, too. What is of it or of older runs is
  // forgotten. Error: io_error.
  Status stored(std::uint64_t run, std::int64_t next, bool ended);
  // On disk, where it is kept there. Error: io_error.
  virtual Status sync() { return {}; }

  [[nodiscard]] bool empty() const noexcept { return marks_.empty(); }
  [[nodiscard]] std::size_t pieces() const noexcept { return marks_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  // Of all that it keeps, of one channel.
  [[nodiscard]] std::int64_t samples() const noexcept { return samples_; }

 protected:
  struct Mark {
    Chunk chunk;
    std::size_t bytes = 0;       // of the samples
    std::uint64_t position = 0;  // where the store has them
  };
  void note(const Mark& mark);
  // The samples of a mark, appended to `to`.
  virtual Status read(const Mark& mark, std::vector<std::byte>& to) = 0;
  // The oldest mark is forgotten now.
  virtual void forgotten(const Mark& mark) = 0;
  // Some were; a good time to write that down.
  virtual Status settled() { return {}; }

  [[nodiscard]] const std::deque<Mark>& marks() const noexcept { return marks_; }

 private:
  std::deque<Mark> marks_;
  std::size_t bytes_ = 0;
  std::int64_t samples_ = 0;
};

class MemoryBacklog final : public Backlog {
 public:
  explicit MemoryBacklog(std::size_t most_bytes) : most_(most_bytes) {}
  Result<bool> put(const Piece& piece) override;

 private:
  Status read(const Mark& mark, std::vector<std::byte>& to) override;
  void forgotten(const Mark&) override {
    data_.pop_front();
    ++base_;
  }

  std::size_t most_;
  std::uint64_t base_ = 0;  // position of the first of data_
  std::deque<std::vector<std::byte>> data_;
};

}  // namespace runnel::fleet
