// Messages from one thread to several readers that come and go, in bounded memory.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace runnel::page {

// Thread-safe. Who writes never waits for who reads: a reader that is too slow misses the oldest messages.
class MessageLog {
 public:
  struct Message {
    std::uint64_t number = 0;  // from 1, without holes
    std::string text;
  };

  // `most_bytes`: of the texts that are kept.
  explicit MessageLog(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  void add(std::string text);
  // No more will come; readers are woken.
  void close();

  // Number of the next message that will be added.
  [[nodiscard]] std::uint64_t next() const;
  // Messages from number `from` on that are still there, at most 64; waits for one, but not longer than this.
  // `closed` becomes true when there is none and will be none.
  [[nodiscard]] std::vector<Message> read(std::uint64_t from, std::chrono::milliseconds patience,
                                          bool& closed) const;

 private:
  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  mutable std::condition_variable added_;
  std::deque<Message> messages_;
  std::size_t bytes_ = 0;
  std::uint64_t next_ = 1;
  bool closed_ = false;
};

}  // namespace runnel::page
