// One stream of a sender: a thread that makes samples puts them in, another one that talks to the servers
// takes them out. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "services/fleet/send/backlog.h"

namespace runnel::fleet {

struct LaneFacts {
  std::int64_t taken = 0;    // samples
  std::int64_t lost = 0;     // samples for which there was no room
  std::int64_t waiting = 0;  // samples that no server has stored yet
  std::size_t waiting_bytes = 0, pieces = 0;
};

class Lane {
 public:
  // `run`, `next`: of what was put into the backlog by an earlier process; 0: nothing was.
  Lane(std::string subject, std::unique_ptr<Backlog> backlog, std::uint64_t run = 0, std::int64_t next = 0)
      : subject_(std::move(subject)), backlog_(std::move(backlog)), next_(next), run_(run) {}

  [[nodiscard]] const std::string& subject() const noexcept { return subject_; }

  // The producer's. With `waits`: until there is room or `stop` is set, which gives false; else what finds no
  // room is counted as lost. Errors: io_error; those of fail().
  Result<bool> put(const Piece& piece, bool waits, const std::atomic<bool>* stop);
  // Nothing more comes.
  void close();

  // The sender's.
  Result<std::optional<Piece>> front(std::size_t most);
  Status stored(std::uint64_t run, std::int64_t next, bool ended);
  Status sync();
  // What was put last: its run, and the sample that comes next.
  [[nodiscard]] std::pair<std::uint64_t, std::int64_t> newest() const;
  // Nothing more comes, and all of it was stored.
  [[nodiscard]] bool done() const;
  // It cannot go on: put() returns this from now on.
  void fail(const Status& why);
  [[nodiscard]] Status status() const;
  [[nodiscard]] LaneFacts facts() const;

 private:
  std::string subject_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable room_;
  std::unique_ptr<Backlog> backlog_;
  bool closed_ = false;
  std::int64_t taken_ = 0, lost_ = 0, next_ = 0;
  std::uint64_t run_ = 0;
  Status status_;
};

}  // namespace runnel::fleet
