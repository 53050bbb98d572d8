// What the tests of serving share: the digits model, a server in a thread, clients, and what a recording
// gives offline.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "compiler/import/load.h"
#include "services/serve/server.h"
#include "tests/support/data.h"

namespace runnel::serve::test {

using Json = nlohmann::json;

// The digits model of the project in a file of its own, and a graph around it that finds something in any
// sound.
class Digits {
 public:
  // `npu_block`: compiled for an Ethos-U in blocks of this many frames; 0: for the CPU.
  explicit Digits(int npu_block = 0);
  [[nodiscard]] std::string around(
      const std::string& front_end = "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600",
      int chunk = 0) const;
  // Models and operators set.
  [[nodiscard]] pipeline::GraphOptions options();
  // The events of a recording as lines, as `runnel run` would write them with this source.
  std::vector<std::string> offline(const std::vector<std::int16_t>& samples, const std::string& source,
                                   const std::string& around, int rate = 16000, int channels = 1);
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  runnel::test::TemporaryFolder folder_;
  std::string model_;
  compiler::FileLoader loader_;
};

// Runs until stop() or the end of the object.
class Running {
 public:
  explicit Running(ServerOptions options);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  [[nodiscard]] Server& server() { return *server_; }
  // What run() said.
  std::string stop();

 private:
  std::unique_ptr<Server> server_;
  std::thread thread_;
  std::string outcome_;
};

// One connection; failures of the system are failures of the test.
class Client {
 public:
  // `buffers`: bytes that the system keeps of each direction; 0: as it likes.
  explicit Client(const Server& server, int buffers = 0);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Raw bytes. False when the server has hung up.
  bool send_bytes(const std::string& bytes);
  // As many as the system takes without waiting.
  std::size_t send_some(const std::string& bytes);
  bool send(const std::string& message);
  bool greet(const std::string& json = "{}") { return send(json); }
  bool send_samples(const std::vector<std::int16_t>& samples, std::size_t first, std::size_t count);
  bool end() { return send(""); }
  // Nothing more will be sent.
  void close_sending();
  // Ends the connection without a word (RST).
  void vanish();
  // The next line; "" at the end of the connection, and a failure after ten seconds.
  std::string line();
  // All lines to the end of the connection.
  std::vector<std::string> rest();

 private:
  int fd_ = -1;
  std::string unread_;
};

std::string framed(const std::string& message);
// Bursts of tones of changing pitch.
std::vector<std::int16_t> sound(double seconds, unsigned seed, int rate = 16000, int channels = 1);
std::vector<std::string> events_among(const std::vector<std::string>& lines);
// The record of this type among them; a failure when there is none or several.
Json record(const std::vector<std::string>& lines, const std::string& type);

}  // namespace runnel::serve::test
