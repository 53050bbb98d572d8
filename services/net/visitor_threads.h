// Threads that talk with those who came through a door.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "services/net/tls/door.h"

namespace runnel::net {

// A visitor has a thread until it leaves; threads are made when they are needed first. Thread-safe.
class VisitorThreads {
 public:
  // `talk`: called by the threads. At most `most` at a time; as many may wait.
  VisitorThreads(int most, std::function<void(Door::Visitor&)> talk) : most_(most), talk_(std::move(talk)) {}
  // Drops who waits, and waits for those who talk.
  ~VisitorThreads();
  VisitorThreads(const VisitorThreads&) = delete;
  VisitorThreads& operator=(const VisitorThreads&) = delete;

  // False: too many wait already, and the visitor stays with the caller.
  bool take(Door::Visitor& visitor);

 private:
  void run();

  int most_;
  std::function<void(Door::Visitor&)> talk_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Door::Visitor> waiting_;
  int idle_ = 0;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace runnel::net
