// A link between two servers, which a test can cut: what is sent over it goes no further until it is mended,
// as with a cable. Connections stay open, for TCP does not hear of cables.
#pragma once

#include <atomic>
#include <string>
#include <thread>

namespace runnel::apps::test {

class Link {
 public:
  // Listens on a free port of this machine, and connects to `to` for each connection that it takes.
  explicit Link(int to);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // 0: no port could be had.
  [[nodiscard]] int port() const noexcept { return port_; }
  void cut() noexcept { cut_ = true; }
  void mend() noexcept { cut_ = false; }

 private:
  void run();

  int to_ = 0, port_ = 0, listening_ = -1;
  std::atomic<bool> cut_ = false, ends_ = false;
  std::thread thread_;
};

}  // namespace runnel::apps::test
