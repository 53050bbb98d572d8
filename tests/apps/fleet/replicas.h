// Whether the servers of a cluster all have what the leaders of some JetStream streams have.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "services/fleet/nats/wire.h"

namespace runnel::apps::test {

class Replicas {
 public:
  // Errors: those of Wire::open().
  Status open(const std::string& urls);
  // Every stream has a leader, and so many others, each of which has caught up. False also if nobody answers
  // within a second.
  bool current(const std::vector<std::string>& streams, std::size_t others);
  // The server that leads a stream; "": nobody says so within a second.
  std::string leader(const std::string& stream);

 private:
  std::string info(const std::string& stream);

  std::mutex mutex_;  // guards the three below, which the library's thread fills
  std::condition_variable came_;
  std::uint64_t asked_ = 0;
  std::string answer_;
  std::unique_ptr<fleet::Wire> wire_;  // goes first
};

}  // namespace runnel::apps::test
