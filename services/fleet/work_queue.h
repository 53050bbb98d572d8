// A queue of work that many processes share: items in a fixed order, each given to one process at a time
// until that one acknowledges it, and given to another one when it is silent for too long. NATS with
// JetStream has it (nats/jetstream_queue.h); tests have one in memory that loses and repeats.
//
// The queue promises "at least once". What follows from that is for its users (recordings/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::fleet {

struct QueueItem {
  std::uint64_t sequence = 0;    // place in the queue, from 1, without holes
  std::uint64_t deliveries = 1;  // how often it was given to anybody, this time included
  std::string handle;            // of this delivery, for the queue
  std::string data;
};

struct QueueState {
  std::uint64_t total = 0;      // items so far
  std::uint64_t waiting = 0;    // never given to anybody
  std::uint64_t under_way = 0;  // given, and not acknowledged
};

// A word about an item or about the whole queue, which all can read.
struct QueueNote {
  std::uint64_t revision = 0;  // 0: there is none
  std::string text;
};

struct QueueEntry {
  std::string key;  // unique for what must be in the queue once: letters and digits
  std::string data;
};

// One thread calls it. What answers waits for the answer, a few seconds at most; the others return at once.
// Errors: io_error when the server cannot be reached, refuses, or answers nothing: what was asked for may
// have happened or not.
class WorkQueue {
 public:
  virtual ~WorkQueue() = default;

  // Asks for so many further items. They come by next(), as far as there are any.
  virtual void pull(int count) = 0;
  // Items that were asked for and may still come.
  [[nodiscard]] virtual int coming() const = 0;
  // Gives what has come, or comes within so many milliseconds; false: nothing.
  virtual bool next(QueueItem& out, int milliseconds) = 0;

  // It is done, and will not be given to anybody again once the queue has confirmed that. What is not
  // confirmed is said again.
  virtual void acknowledge(const QueueItem& item) = 0;
  // Sequences that were confirmed since the last call.
  virtual std::vector<std::uint64_t> confirmed() = 0;
  // It is still being worked on. What cannot be said is lost.
  virtual void keep(const QueueItem& item) = 0;
  // Others may have it, after so many seconds.
  virtual void give_back(const QueueItem& item, double seconds) = 0;
  // Sends what waits, at most so many milliseconds.
  virtual void flush(int milliseconds) = 0;

  virtual Result<QueueState> state() = 0;
  // Appends entries in their order, each once: the keys that the queue has had are left out. Returns how many
  // were added. After an error some are added; the same call goes on there.
  virtual Result<std::size_t> add(std::span<const QueueEntry> entries) = 0;

  // Notes have names such as "note.17". One is set only if its revision is still `after`; returns the new
  // revision, 0 if nothing was set.
  virtual Result<QueueNote> note(std::string_view name) = 0;
  virtual Result<std::uint64_t> set_note(std::string_view name, std::uint64_t after,
                                         std::string_view text) = 0;
  // The names that start with `prefix` and a dot.
  virtual Result<std::vector<std::string>> notes(std::string_view prefix) = 0;
};

}  // namespace runnel::fleet
