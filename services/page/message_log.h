// Messages from one thread to several readers that come and go, in bounded memory.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "pipeline/host/live/wake.h"

namespace runnel::page {

// Thread-safe. The writer never waits for readers: a slow reader misses the oldest messages.
class MessageLog {
 public:
  struct Message {
    std::uint64_t number = 0;  // consecutive, from 1
    std::string text;
  };

  // `most_bytes`: limit for the kept texts.
  explicit MessageLog(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  void add(std::string text);
  // Ends the log; wakes readers.
  void close();

  // While it is listed, `wake` is raised by every message and by the end. It outlives its listing.
  void wake(const pipeline::Wake* wake);
  void forget(const pipeline::Wake* wake);

  // Number of the next message that will be added.
  [[nodiscard]] std::uint64_t next() const;
  // The kept messages from number `from` on, at most 64; waits for one up to the given time. Sets `closed`
  // when no more will come.
  [[nodiscard]] std::vector<Message> read(std::uint64_t from, std::chrono::milliseconds patience,
                                          bool& closed) const;

 private:
  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  mutable std::condition_variable added_;
  std::deque<Message> messages_;
  std::vector<const pipeline::Wake*> wakes_;
  std::size_t bytes_ = 0;
  std::uint64_t next_ = 1;
  bool closed_ = false;
};

}  // namespace runnel::page
