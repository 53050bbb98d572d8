// A server of the tests' own, on a free port, with its store in a temporary folder.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/support/data.h"

namespace runnel::fleet::test {

class NatsServer {
 public:
  // Null, and a reason, where nats-server is not installed or does not start. `more`: lines of configuration,
  // `store`: of its store.
  static std::unique_ptr<NatsServer> start(std::string& why, const std::string& more = {},
                                           const std::string& store = {});
  ~NatsServer();
  NatsServer(const NatsServer&) = delete;
  NatsServer& operator=(const NatsServer&) = delete;

  [[nodiscard]] std::string url() const { return "nats://127.0.0.1:" + std::to_string(port_); }
  // What it has said so far.
  [[nodiscard]] std::string log() const;
  // Where it keeps its logs.
  [[nodiscard]] std::filesystem::path store() const { return folder_.path() / "store"; }
  [[nodiscard]] int port() const { return port_; }
  // As the power going away, and the same server, store and port again.
  void kill();
  bool restart();
  // As a link that is cut, and mended.
  void stop() const;
  void go_on() const;

 private:
  NatsServer() = default;
  bool run();

  runnel::test::TemporaryFolder folder_;
  pid_t process_ = -1;
  int port_ = 0;
};

}  // namespace runnel::fleet::test
