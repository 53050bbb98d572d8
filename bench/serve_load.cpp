// Cost of `runnel serve`: many clients of one server over loopback, each sending packets of 100 ms at
// its own times.
//
//   serve_load [--streams N] [--seconds S] [--speed X] [--chunk N] [--threads N] [--most-load X] [--wav F]
//     PROGRAM MODEL > serve.json
//
// The server is a separate process: the system's count of its processor time, in a window of S seconds of
// stream time (which starts two seconds after all streams are up), is divided by the audio sent in that
// window. Every tenth client requests progress; lateness is the time from sending a packet to the report that
// it was processed. Clients that the server refuses because it has no time for them (--most-load, its own
// setting) are counted and send nothing. --speed X sends X times as fast as real time, for memory over hours.
// stdout: one JSON object; stderr: the same for people. Keep the machine otherwise idle: clients and server
// share its cores.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sndfile.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/host/live/frame_stream.h"
#include "pipeline/host/step_times.h"

namespace runnel::bench {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr std::int64_t kPacket = 1600;  // samples
constexpr int kProgressEvery = 10;

struct Call {
  int streams = 500, chunk = 0, threads = 1;
  double seconds = 20, speed = 1, most_load = -1;
  std::string wav, program, model;
};

pid_t server_process = 0;

[[noreturn]] void give_up(const std::string& why) {
  if (server_process > 0) kill(server_process, SIGKILL);
  fmt::print(stderr, "serve_load: {}\n", why);
  std::exit(1);
}

std::vector<std::int16_t> sound_of(const Call& call) {
  std::vector<std::int16_t> samples;
  if (call.wav.empty()) {
    std::mt19937 random(4);
    for (std::int64_t i = 0; i < 16000 * 20; ++i) {
      const double t = static_cast<double>(i) / 16000;
      samples.push_back(static_cast<std::int16_t>(6000 * std::sin(6.28 * 3 * t) * std::sin(6.28 * 220 * t) +
                                                  600 * (static_cast<double>(random() % 2001) / 1000 - 1)));
    }
    return samples;
  }
  SF_INFO info{};
  SNDFILE* const file = sf_open(call.wav.c_str(), SFM_READ, &info);
  if (file == nullptr || info.channels != 1 || info.samplerate != 16000)
    give_up(call.wav + ": expected a recording of 16 kHz and one channel");
  samples.resize(static_cast<std::size_t>(info.frames));
  if (sf_read_short(file, samples.data(), info.frames) != info.frames) give_up(call.wav + ": cannot be read");
  sf_close(file);
  return samples;
}

// The server process and the system's accounting for it.
class ServerProcess {
 public:
  explicit ServerProcess(const Call& call) {
    std::vector<std::string> words = {call.program,
                                      "serve",
                                      call.model,
                                      "--listen",
                                      "127.0.0.1:0",
                                      "--max-streams",
                                      std::to_string(call.streams),
                                      "--chunk",
                                      std::to_string(call.chunk),
                                      "--threads",
                                      std::to_string(call.threads)};
    if (call.most_load >= 0) words.insert(words.end(), {"--most-load", std::to_string(call.most_load)});
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    int ends[2];
    if (pipe(ends) != 0) give_up("no pipe");
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], 1);
    posix_spawn_file_actions_addclose(&files, ends[0]);
    if (posix_spawn(&child_, pointers[0], &files, nullptr, pointers.data(), environ) != 0)
      give_up(call.program + ": cannot be started");
    posix_spawn_file_actions_destroy(&files);
    server_process = child_;
    close(ends[1]);
    out_ = fdopen(ends[0], "r");
    const Json listening = line();
    const std::string address = listening.at("address");
    port_ = std::stoi(address.substr(address.rfind(':') + 1));
  }
  [[nodiscard]] int port() const { return port_; }
  // Since its start, in seconds.
  [[nodiscard]] double processor_seconds() const {
    std::ifstream file("/proc/" + std::to_string(child_) + "/stat");
    std::string text;
    std::getline(file, text);
    // Fields 14 and 15; the second one is a name in brackets.
    std::istringstream rest(text.substr(text.rfind(')') + 2));
    std::string word;
    for (int i = 3; i < 14; ++i) rest >> word;
    double user = 0, system = 0;
    rest >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  [[nodiscard]] double resident_mb() const {
    std::ifstream file("/proc/" + std::to_string(child_) + "/statm");
    double size = 0, resident = 0;
    file >> size >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
  }
  // Ends it and returns its last record.
  Json stop(double& all_seconds) {
    kill(child_, SIGTERM);
    Json last;
    try {
      last = line();
    } catch (const Json::exception&) {
      give_up("the server wrote no summary at its end");
    }
    int state = 0;
    rusage usage{};
    wait4(child_, &state, 0, &usage);
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) give_up("the server failed");
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    all_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    return last;
  }

 private:
  Json line() {
    char* text = nullptr;
    std::size_t size = 0;
    if (getline(&text, &size, out_) <= 0) give_up("the server has ended");
    const Json json = Json::parse(text);
    std::free(text);
    return json;
  }
  pid_t child_ = 0;
  std::FILE* out_ = nullptr;
  int port_ = 0;
};

struct Client {
  int fd = -1;
  std::int64_t sent = 0;  // samples
  std::string unread;     // of an incomplete line
  std::vector<std::pair<std::int64_t, Clock::time_point>>
      packets;  // of clients that request progress: samples at their end, sending time
  std::size_t answered = 0;
  bool ready = false, refused = false;
};

class Load {
 public:
  Load(const Call& call, int port)
      : call_(call), sound_(sound_of(call)), clients_(static_cast<std::size_t>(call.streams)) {
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      connect_client(i, port);
      if (i % 50 == 49) read_answers(0);
    }
    while (ready_ + refused_ < clients_.size()) read_answers(100);
  }
  [[nodiscard]] std::size_t refused() const { return refused_; }
  // What the server wrote to the last refused client.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  ~Load() {
    for (const Client& client : clients_) close(client.fd);
    close(epoll_);
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // Sends for `seconds` of stream time and calls `each_second`.
  template <class EachSecond>
  void send_for(double seconds, const EachSecond& each_second) {
    const auto beat =
        std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(0.1 / call_.speed));
    const auto packets = static_cast<std::int64_t>(std::llround(seconds * 10));
    const Clock::time_point start = Clock::now();
    for (std::int64_t packet = 0; packet < packets; ++packet) {
      for (std::size_t i = 0; i < clients_.size(); ++i) {
        const Clock::time_point due =
            start + packet * beat +
            beat * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(clients_.size());
        for (Clock::time_point now = Clock::now(); now < due; now = Clock::now()) {
          const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(due - now).count();
          read_answers(static_cast<int>(std::max<std::int64_t>(left, 1)));
        }
        send_packet(i);
      }
      if (packet % 10 == 9) each_second(static_cast<double>(packet + 1) / 10);
    }
    behind_ = std::max(behind_,
                       std::chrono::duration<double>(Clock::now() - start).count() - seconds / call_.speed);
  }
  // Waits until everything sent has been processed, as far as clients request progress.
  void settle() {
    const Clock::time_point end = Clock::now() + std::chrono::seconds(30);
    const auto all = [&] {
      return std::all_of(clients_.begin(), clients_.end(),
                         [](const Client& client) { return client.answered == client.packets.size(); });
    };
    while (!all() && Clock::now() < end) read_answers(50);
    if (!all()) give_up("packets were not processed within 30 s");
  }
  [[nodiscard]] const pipeline::StepTimes& lateness() const { return lateness_; }
  void forget_lateness() { lateness_ = {}; }
  [[nodiscard]] std::int64_t events() const { return events_; }
  // Lateness of the sender at the end, in seconds.
  [[nodiscard]] double behind() const { return behind_; }

 private:
  void connect_client(std::size_t index, int port) {
    Client& client = clients_[index];
    client.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (client.fd < 0 || connect(client.fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
      give_up(fmt::format("client {}: {}", index, std::strerror(errno)));
    const int on = 1;
    setsockopt(client.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::string greeting = fmt::format(R"({{"format":"s16","rate":16000,"source":"{}","progress":{}}})",
                                             index, index % kProgressEvery == 0);
    send_message(client, greeting.data(), greeting.size());
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = index;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, client.fd, &event);
  }
  void send_message(const Client& client, const void* data, std::size_t bytes) {
    message_.resize(pipeline::kFrameHeaderBytes + bytes);
    const auto header = pipeline::frame_header(static_cast<std::uint32_t>(bytes));
    std::memcpy(message_.data(), header.data(), header.size());
    std::memcpy(message_.data() + header.size(), data, bytes);
    // Blocks when the server holds the client up, as a client would.
    if (send(client.fd, message_.data(), message_.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(message_.size()))
      give_up("the server hung up");
  }
  void send_packet(std::size_t index) {
    Client& client = clients_[index];
    if (client.refused) return;
    packet_.resize(kPacket);
    for (std::int64_t i = 0; i < kPacket; ++i) {
      // Clients are at different places in the recording.
      packet_[static_cast<std::size_t>(i)] =
          sound_[(static_cast<std::size_t>(client.sent + i) + index * 7919) % sound_.size()];
    }
    client.sent += kPacket;
    if (index % kProgressEvery == 0) client.packets.emplace_back(client.sent, Clock::now());
    send_message(client, packet_.data(), packet_.size() * sizeof packet_[0]);
  }
  void read_answers(int milliseconds) {
    epoll_event events[256];
    const int count = epoll_wait(epoll_, events, 256, milliseconds);
    for (int i = 0; i < count; ++i) {
      Client& client = clients_[events[i].data.u64];
      char text[4096];
      const ssize_t bytes = recv(client.fd, text, sizeof text, MSG_DONTWAIT);
      if (bytes <= 0 && client.refused) {
        epoll_ctl(epoll_, EPOLL_CTL_DEL, client.fd, nullptr);
        continue;
      }
      if (bytes <= 0) give_up("the server hung up");
      client.unread.append(text, static_cast<std::size_t>(bytes));
      for (std::size_t end; (end = client.unread.find('\n')) != std::string::npos;
           client.unread.erase(0, end + 1))
        read_line(client, Json::parse(client.unread.substr(0, end)));
    }
  }
  void read_line(Client& client, const Json& line) {
    const std::string type = line.at("type");
    if (type == "event") {
      ++events_;
    } else if (type == "ready") {
      ++ready_;
    } else if (type == "progress") {
      const std::int64_t samples = line.at("samples");
      for (; client.answered < client.packets.size() && client.packets[client.answered].first <= samples;
           ++client.answered) {
        lateness_.add(
            std::chrono::duration_cast<nanoseconds>(Clock::now() - client.packets[client.answered].second)
                .count());
      }
    } else if (type == "error" && line.at("reason") == "overload") {
      client.refused = true;
      ++refused_;
      refusal_ = line.at("message");
    } else {
      give_up("the server says " + line.dump());
    }
  }

  const Call& call_;
  std::vector<std::int16_t> sound_;
  std::vector<Client> clients_;
  std::vector<std::int16_t> packet_;
  std::vector<std::byte> message_;
  int epoll_ = -1;
  std::size_t ready_ = 0, refused_ = 0;
  std::string refusal_;
  std::int64_t events_ = 0;
  double behind_ = 0;
  pipeline::StepTimes lateness_;
};

int run(const Call& call) {
  ServerProcess server(call);
  const double processor_of_start = server.processor_seconds();
  Json out;
  {
    Load load(call, server.port());
    const double processor_of_opening = server.processor_seconds() - processor_of_start;
    load.send_for(2 * call.speed, [](double) {});
    load.settle();
    load.forget_lateness();
    const double before = server.processor_seconds(), memory = server.resident_mb();
    std::vector<double> memories;
    load.send_for(call.seconds, [&](double second) {
      if (std::fmod(second, std::max(call.seconds / 10, 1.0)) < 1) memories.push_back(server.resident_mb());
    });
    load.settle();
    const double processor = server.processor_seconds() - before,
                 audio = call.seconds * static_cast<double>(call.streams - static_cast<int>(load.refused()));
    out = {{"type", "serve"},
           {"streams", call.streams},
           {"refused", load.refused()},
           {"refusal", load.refusal()},
           {"seconds", call.seconds},
           {"speed", call.speed},
           {"chunk", call.chunk},
           {"threads", call.threads},
           {"server_ms_per_audio_second", processor * 1e3 / audio},
           {"server_share_of_a_core", processor * call.speed / call.seconds},
           {"lateness_ms",
            {{"p50", load.lateness().quantile(0.5) / 1e3},
             {"p99", load.lateness().quantile(0.99) / 1e3},
             {"max", load.lateness().largest() / 1e3}}},
           {"opening_ms_per_stream", processor_of_opening * 1e3 / call.streams},
           {"events", load.events()},
           {"sender_behind_s", load.behind()},
           {"resident_mb", {{"before", memory}, {"during", memories}}}};
  }
  double all_seconds = 0;
  out["server"] = server.stop(all_seconds);
  out["server_rusage_seconds"] = all_seconds;
  std::printf("%s\n", out.dump(1).c_str());
  fmt::print(
      stderr,
      "{} streams, {} refused: {:.3f} ms of the server's processor time per second of sound; a packet is "
      "processed {:.1f} ms after it was sent (p50), {:.1f} (p99), {:.1f} (most)\n",
      call.streams, out["refused"].get<std::size_t>(), out["server_ms_per_audio_second"].get<double>(),
      out["lateness_ms"]["p50"].get<double>(), out["lateness_ms"]["p99"].get<double>(),
      out["lateness_ms"]["max"].get<double>());
  return 0;
}

}  // namespace
}  // namespace runnel::bench

int main(int argc, char** argv) {
  runnel::bench::Call call;
  std::vector<std::string> words;
  bool good = true;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      words.push_back(word);
      continue;
    }
    const char* const value = i + 1 < argc ? argv[++i] : "";
    if (word == "--streams")
      call.streams = std::atoi(value);
    else if (word == "--seconds")
      call.seconds = std::strtod(value, nullptr);
    else if (word == "--speed")
      call.speed = std::strtod(value, nullptr);
    else if (word == "--chunk")
      call.chunk = std::atoi(value);
    else if (word == "--threads")
      call.threads = std::atoi(value);
    else if (word == "--most-load")
      call.most_load = std::strtod(value, nullptr);
    else if (word == "--wav")
      call.wav = value;
    else
      good = false;
  }
  if (!good || words.size() != 2 || call.streams < 1 || call.streams > 20000 || call.seconds < 1 ||
      call.seconds > 86400 || call.speed < 0.1 || call.chunk < 0 || call.threads < 1) {
    std::fputs(
        "usage: serve_load [--streams N] [--seconds S] [--speed X] [--chunk N] [--threads N] [--most-load X] "
        "[--wav F] PROGRAM MODEL > serve.json\n",
        stderr);
    return 2;
  }
  call.program = words[0];
  call.model = words[1];
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  signal(SIGPIPE, SIG_IGN);
  return runnel::bench::run(call);
}
