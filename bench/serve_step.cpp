// Cost of a server's steps without the network: streams of one graph in memory, some of them stepped together
// at a time, as when every client sends packets of 100 ms at its own times.
//
//   serve_step [--streams N] [--together N] [--seconds S] [--rounds R] [--chunk N] MODEL > step.json
//
// One thread's processor time; the fastest of R rounds, and their median. stdout: one JSON object; stderr:
// the same for people.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "compiler/import/load.h"
#include "services/serve/stream.h"

namespace runnel::bench {
namespace {

constexpr std::int64_t kPacket = 1600;  // samples
constexpr int kPacketsPerSecond = 10;

struct Call {
  int streams = 500, together = 50, seconds = 2, rounds = 5, chunk = 0;
  std::string model;
};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// A stream and its latest packet.
struct Client {
  std::unique_ptr<serve::Stream> stream;
  std::vector<std::int16_t> packet;
  std::string answers;
  std::int64_t sent = 0;
};

std::vector<std::int16_t> sound() {
  std::mt19937 random(4);
  std::vector<std::int16_t> samples;
  for (std::int64_t i = 0; i < 16000 * 20; ++i) {
    const double t = static_cast<double>(i) / 16000;
    samples.push_back(static_cast<std::int16_t>(6000 * std::sin(6.28 * 3 * t) * std::sin(6.28 * 220 * t) +
                                                600 * (static_cast<double>(random() % 2001) / 1000 - 1)));
  }
  return samples;
}

Result<std::string> around(const Call& call, compiler::FileLoader& loader) {
  RUNNEL_ASSIGN(const Model* const model, loader.load(call.model));
  if (model->pipeline() == nullptr || model->pipeline()->front_end() == nullptr ||
      model->pipeline()->decision() == nullptr) {
    return Status(Code::unsupported) << call.model << " has no front end and decision";
  }
  return model->pipeline()->front_end()->str() + " ! infer model=\"" + call.model +
         "\" chunk=" + std::to_string(call.chunk) + " ! " + model->pipeline()->decision()->str();
}

// Every client sends a packet, and all are stepped, some at a time.
Status send_packets(const Call& call, std::vector<Client>& clients, const std::vector<std::int16_t>& samples,
                    serve::Together& together, std::vector<serve::Together::Turn>& turns) {
  for (std::size_t first = 0; first < clients.size(); first += static_cast<std::size_t>(call.together)) {
    turns.clear();
    for (std::size_t i = first; i < std::min(clients.size(), first + static_cast<std::size_t>(call.together));
         ++i) {
      Client& client = clients[i];
      const std::size_t at = (static_cast<std::size_t>(client.sent) + i * 7919) % (samples.size() - kPacket);
      std::memcpy(client.packet.data(), samples.data() + at, kPacket * sizeof samples[0]);
      client.sent += kPacket;
      client.stream->give(std::as_bytes(std::span(client.packet)));
      turns.emplace_back(client.stream.get());
    }
    together.step(turns);
    for (const serve::Together::Turn& turn : turns) RUNNEL_TRY(turn.status);
  }
  return {};
}

Status run(const Call& call) {
  compiler::FileLoader loader;
  RUNNEL_ASSIGN(const std::string text, around(call, loader));
  pipeline::SharedSessions shared(static_cast<std::size_t>(call.streams));
  const std::vector<const pipeline::NodeType*> nodes = serve::served_nodes(pipeline::host_nodes());
  pipeline::GraphOptions options;
  options.nodes = nodes;
  options.models = &loader;
  options.operators = all_operators();
  options.shared = &shared;
  std::vector<Client> clients(static_cast<std::size_t>(call.streams));
  for (Client& client : clients) {
    RUNNEL_ASSIGN(client.stream, serve::Stream::make(text, {}, options));
    client.packet.resize(kPacket);
    client.stream->begin("bench", &client.answers);
  }
  const std::vector<std::int16_t> samples = sound();
  serve::Together together;
  std::vector<serve::Together::Turn> turns;
  for (int i = 0; i < kPacketsPerSecond; ++i)
    RUNNEL_TRY(send_packets(call, clients, samples, together, turns));
  std::vector<double> costs;
  for (int round = 0; round < call.rounds; ++round) {
    const double start = processor_seconds();
    for (int i = 0; i < call.seconds * kPacketsPerSecond; ++i)
      RUNNEL_TRY(send_packets(call, clients, samples, together, turns));
    costs.push_back((processor_seconds() - start) * 1e3 / call.seconds / call.streams);
  }
  std::sort(costs.begin(), costs.end());
  const nlohmann::ordered_json out = {
      {"type", "serve_step"},
      {"streams", call.streams},
      {"together", call.together},
      {"chunk", call.chunk},
      {"ms_per_audio_second", {{"least", costs.front()}, {"median", costs[costs.size() / 2]}}},
      {"bytes_per_stream",
       {{"graph", clients.front().stream->memory_bytes()},
        {"model", shared.memory_bytes() / clients.size()}}}};
  std::printf("%s\n", out.dump(1).c_str());
  fmt::print(
      stderr,
      "{} streams, {} at a time: {:.4f} ms of processor time per second of sound (least; median {:.4f})\n",
      call.streams, call.together, costs.front(), costs[costs.size() / 2]);
  return {};
}

}  // namespace
}  // namespace runnel::bench

int main(int argc, char** argv) {
  runnel::bench::Call call;
  bool good = true;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      good = good && call.model.empty();
      call.model = word;
      continue;
    }
    const int value = i + 1 < argc ? std::atoi(argv[++i]) : 0;
    if (word == "--streams")
      call.streams = value;
    else if (word == "--together")
      call.together = value;
    else if (word == "--seconds")
      call.seconds = value;
    else if (word == "--rounds")
      call.rounds = value;
    else if (word == "--chunk")
      call.chunk = value;
    else
      good = false;
  }
  if (!good || call.model.empty() || call.streams < 1 || call.streams > 65536 || call.together < 1 ||
      call.seconds < 1 || call.rounds < 1 || call.chunk < 0) {
    std::fputs(
        "usage: serve_step [--streams N] [--together N] [--seconds S] [--rounds R] [--chunk N] MODEL > "
        "step.json\n",
        stderr);
    return 2;
  }
  const runnel::Status status = runnel::bench::run(call);
  if (status.ok()) return 0;
  fmt::print(stderr, "serve_step: {}\n", status.text());
  return 1;
}
