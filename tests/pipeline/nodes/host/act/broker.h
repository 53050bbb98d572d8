// A broker of the test's own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace runnel::pipeline::test {

// Path of mosquitto; empty: this machine has none.
std::string broker_program();

// A port that was free a moment ago.
std::string free_port();

// Remembers sessions across kill -9. In a folder of the caller's.
class Broker {
 public:
  explicit Broker(const std::filesystem::path& folder);
  ~Broker() { kill_it(); }
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;
  // Before start(): a second listener, encrypted, for the user `ears` with this password. Gives its port; the
  // certificate is certificate().
  std::string also_guarded(const std::string& password);
  [[nodiscard]] std::string certificate() const { return folder_ / "certificate.pem"; }

  // Returns when it answers.
  void start();
  void kill_it();
  [[nodiscard]] int port() const { return std::stoi(port_); }

 private:
  std::filesystem::path folder_;
  std::string port_;
  pid_t child_ = -1;
};

}  // namespace runnel::pipeline::test
