#include "tests/services/serve/support.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

#include "compiler/ir/model_graph.h"
#include "compiler/npu/compile.h"
#include "compiler/write/writer.h"
#include "npu/host/simulator/simulated_npu.h"
#include "pipeline/host/live/frame_stream.h"
#include "pipeline/nodes/host/file/jsonl.h"
#include "tests/pipeline/support.h"

namespace runnel::serve::test {

Digits::Digits(int npu_block) : model_((folder_.path() / "digits.rnl").string()) {
  auto imported = compiler::import_file(RUNNEL_SOURCE_FOLDER "/models/digits/digits_c_s8.espdl", {});
  EXPECT_TRUE(imported.ok()) << imported.status().text();
  imported->graph.pipeline.labels = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "silence", "unknown"};
  auto written = compiler::write_model(imported->graph);
  EXPECT_TRUE(written.ok()) << written.status().text();
  if (npu_block > 0) {
    compiler::ethos_u::Options options;
    options.program.accelerator = *npu::find_accelerator("ethos-u55-128");
    options.block = npu_block;
    const auto model = OwnedModel::from_bytes(written->bytes);
    const auto compiled = compiler::ethos_u::compile(compiler::graph_of((*model)->model()), options);
    EXPECT_TRUE(compiled.ok()) << compiled.status().text();
    compiler::WriteOptions write;
    write.blocks.clear();
    written = compiler::write_model(compiled->graph, write);
    EXPECT_TRUE(written.ok()) << written.status().text();
  }
  std::ofstream(model_, std::ios::binary)
      .write(reinterpret_cast<const char*>(written->bytes.data()),
             static_cast<std::streamsize>(written->bytes.size()));
}

std::string Digits::around(const std::string& front_end, int chunk) const {
  return front_end + " ! infer model=" + model_ + " chunk=" + std::to_string(chunk) +
         " ! detect threshold=0.4 release=0.3 smoothing_frames=10 refractory_frames=10 ignore=\"\"";
}

pipeline::GraphOptions Digits::options() {
  pipeline::GraphOptions options;
  options.models = &loader_;
  options.operators = npu::simulating_operators();
  return options;
}

std::vector<std::string> Digits::offline(const std::vector<std::int16_t>& samples, const std::string& source,
                                         const std::string& around, int rate, int channels) {
  const std::filesystem::path path = folder_.path() / "offline.wav";
  pipeline::test::write_recording(path, samples, rate, channels);
  pipeline::GraphOptions with = options();
  with.insert_conversions = true;
  const auto graph = pipeline::Graph::build(
      "wav path=" + path.string() + " ! " + around + " ! jsonl source=" + source, with);
  EXPECT_TRUE(graph.ok()) << graph.status().text();
  std::vector<std::string> lines;
  if (!graph.ok()) return lines;
  for (int i = 0; i < (*graph)->size(); ++i) {
    if (auto* const jsonl = dynamic_cast<pipeline::Jsonl*>((*graph)->stage(i).node); jsonl != nullptr)
      jsonl->sink = [&](std::string_view line) { lines.emplace_back(line); };
  }
  const Status status = (*graph)->run();
  EXPECT_TRUE(status.ok()) << status.text();
  return lines;
}

Running::Running(ServerOptions options) {
  if (options.address.size == 0) options.address = *net::Address::parse("127.0.0.1:0");
  auto made = Server::make(std::move(options));
  EXPECT_TRUE(made.ok()) << made.status().text();
  server_ = std::move(made).value();
  thread_ = std::thread([this] { outcome_ = server_->run().text(); });
}

Running::~Running() { stop(); }

std::string Running::stop() {
  if (thread_.joinable()) {
    server_->stop();
    thread_.join();
  }
  return outcome_;
}

Client::Client(const Server& server, int buffers)
    : fd_(socket(server.address().bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (buffers > 0) {
    setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &buffers, sizeof buffers);
    setsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &buffers, sizeof buffers);
  }
  EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&server.address().bytes), server.address().size),
            0)
      << std::strerror(errno);
}

Client::~Client() {
  if (fd_ >= 0) close(fd_);
}

bool Client::send_bytes(const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

std::size_t Client::send_some(const std::string& bytes) {
  const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

bool Client::send(const std::string& message) { return send_bytes(framed(message)); }

bool Client::send_samples(const std::vector<std::int16_t>& samples, std::size_t first, std::size_t count) {
  return send(std::string(reinterpret_cast<const char*>(samples.data() + first), count * sizeof samples[0]));
}

void Client::close_sending() { shutdown(fd_, SHUT_WR); }

void Client::vanish() {
  const linger now{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(fd_);
  fd_ = -1;
}

std::string Client::line() {
  for (;;) {
    if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    pollfd wait{.fd = fd_, .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, 20000) != 1) {
      ADD_FAILURE() << "no line within 20 s";
      return "";
    }
    char text[4096];
    const ssize_t count = recv(fd_, text, sizeof text, 0);
    if (count <= 0) {
      EXPECT_EQ(unread_, "") << "half a line";
      return "";
    }
    unread_.append(text, static_cast<std::size_t>(count));
  }
}

std::vector<std::string> Client::rest() {
  std::vector<std::string> lines;
  for (std::string next = line(); !next.empty(); next = line()) lines.push_back(next);
  return lines;
}

std::string framed(const std::string& message) {
  const auto header = pipeline::frame_header(static_cast<std::uint32_t>(message.size()));
  return std::string(reinterpret_cast<const char*>(header.data()), header.size()) + message;
}

std::vector<std::int16_t> sound(double seconds, unsigned seed, int rate, int channels) {
  std::mt19937 random(seed);
  std::vector<std::int16_t> samples;
  double pitch = 0;
  for (int i = 0; i < static_cast<int>(seconds * rate); ++i) {
    const double t = static_cast<double>(i) / rate;
    if (i % (rate / 2) == 0) pitch = 150 + static_cast<double>(random() % 600);
    const double loud = std::fmod(t, 0.5) < 0.35 ? 8000 : 100;
    for (int c = 0; c < channels; ++c)
      samples.push_back(static_cast<std::int16_t>(loud * std::sin(6.2832 * pitch * t) * (c + 1) / channels +
                                                  static_cast<double>(random() % 200)));
  }
  return samples;
}

std::vector<std::string> events_among(const std::vector<std::string>& lines) {
  std::vector<std::string> events;
  for (const std::string& line : lines) {
    if (line.starts_with("{\"type\":\"event\"")) events.push_back(line);
  }
  return events;
}

Json record(const std::vector<std::string>& lines, const std::string& type) {
  Json found;
  int count = 0;
  for (const std::string& line : lines) {
    const Json json = Json::parse(line, nullptr, false);
    EXPECT_TRUE(json.is_object()) << line;
    if (!json.is_object() || json.at("type") != type) continue;
    found = json;
    ++count;
  }
  EXPECT_EQ(count, 1) << type;
  return found;
}

}  // namespace runnel::serve::test
