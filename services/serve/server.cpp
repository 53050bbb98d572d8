#include "services/serve/server.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/limits.h"
#include "pipeline/host/json.h"
#include "services/serve/loop.h"

namespace runnel::serve {

Result<std::unique_ptr<Server>> Server::make(ServerOptions options) {
  if (!options.address.is_loopback() && options.tokens.empty()) {
    return Status(Code::invalid_argument) << options.address.text()
                                          << ": other machines can reach this address; give a token that "
                                             "clients must show, or listen at 127.0.0.1";
  }
  if (options.max_streams < 1 || options.max_streams > limits::kServeStreams || options.threads < 1 ||
      options.threads > Metrics::kMaxThreads) {
    return Status(Code::invalid_argument)
           << options.max_streams << " streams in " << options.threads << " threads: expected 1 to "
           << limits::kServeStreams << " streams, 1 to " << Metrics::kMaxThreads << " threads";
  }
  std::unique_ptr<Server> server(new Server(std::move(options)));
  server->metrics_.threads = server->options_.threads;
  server->wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (server->wake_ < 0) return Status(Code::io_error) << "no event to stop with: " << std::strerror(errno);
  for (int i = 0; i < server->options_.threads; ++i) {
    RUNNEL_ASSIGN(std::unique_ptr<Loop> loop,
                  Loop::make(server->options_, server->metrics_,
                             server->metrics_.times[static_cast<std::size_t>(i)], server->wake_));
    // Reports an error in the graph now, not to the first client.
    RUNNEL_TRY(loop->prepare({}));
    server->loops_.push_back(std::move(loop));
  }
  RUNNEL_TRY(server->listen());
  server->processor_before_ = processor_seconds();
  return server;
}

Server::Server(ServerOptions options) : options_(std::move(options)) {}

Server::~Server() {
  entrance_.reset();
  loops_.clear();
  if (listener_ >= 0) close(listener_);
  if (wake_ >= 0) close(wake_);
}

// With TLS, clients come by the entrance instead of a loop.
Status Server::listen() {
  RUNNEL_ASSIGN(const int listener, net::listen_at(options_.address));
  if (options_.tls.empty()) {
    listener_ = listener;
    return {};
  }
  net::TlsEntrance::Options entrance;
  entrance.listener = listener;
  entrance.files = options_.tls;
  entrance.admission = options_.admission;
  entrance.plain_answer =
      "{\"type\":\"error\",\"reason\":\"tls\",\"message\":\"this address speaks TLS only\"}\n";
  entrance.enter = [this](int socket, net::Place place) { admit({socket, std::move(place), false}); };
  RUNNEL_ASSIGN(entrance_, net::TlsEntrance::start(std::move(entrance)));
  return {};
}

void Server::admit(net::Newcomer newcomer) {
  metrics_.accepted.fetch_add(1, std::memory_order_relaxed);
  const auto least = std::min_element(
      loops_.begin(), loops_.end(), [](const auto& a, const auto& b) { return a->clients() < b->clients(); });
  (*least)->give(std::move(newcomer));
}

Result<int> Server::connect() {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
    return Status(Code::io_error) << "no local socket: " << std::strerror(errno);
  admit({ends[0], {}, true});
  return ends[1];
}

Status Server::reload() { return entrance_ != nullptr ? entrance_->reload() : Status(); }

Status Server::run() {
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < loops_.size(); ++i)
    threads.emplace_back([this, i] { loops_[i]->run(-1, loops_); });
  loops_[0]->run(std::exchange(listener_, -1), loops_);
  for (std::thread& thread : threads) thread.join();
  if (entrance_ != nullptr) entrance_->finish(options_.linger);
  int cut_off = 0;
  for (const auto& loop : loops_) cut_off += loop->cut_off();
  if (cut_off == 0) return {};
  return Status(Code::io_error) << cut_off
                                << " streams were cut off: their clients did not take the answers in time";
}

void Server::stop() noexcept {
  if (entrance_ != nullptr) entrance_->close();
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the server has been woken already.
  // A signal may come in the middle of another one.
  while (write(wake_, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

std::string Server::summary() const {
  using pipeline::json_number;
  double step = 0, late = 0, latest = 0;
  for (const auto& loop : loops_) {
    step = std::max(step, loop->step_times().quantile(0.99));
    late = std::max(late, loop->lateness().quantile(0.99));
    latest = std::max(latest, loop->lateness().largest());
  }
  const double audio = static_cast<double>(metrics_.microseconds.load()) * 1e-6;
  const double processor = processor_seconds() - processor_before_;
  std::string text = "{\"type\":\"summary\",\"streams\":" + std::to_string(metrics_.begun.load()) +
                     ",\"completed\":" + std::to_string(metrics_.completed.load()) +
                     ",\"most_at_a_time\":" + std::to_string(metrics_.most_streams.load()) + ",\"ended\":{";
  for (std::size_t i = 0; i < kReasons; ++i) {
    text += (i == 0 ? "\"" : ",\"") + std::string(name_of(static_cast<Reason>(i))) +
            "\":" + std::to_string(metrics_.ended[i].load());
  }
  return text + "},\"audio_seconds\":" + json_number(audio, 3) +
         ",\"events\":" + std::to_string(metrics_.events.load()) +
         ",\"processor_seconds\":" + json_number(processor, 3) + ",\"processor_ms_per_audio_second\":" +
         (audio > 0 ? json_number(processor * 1e3 / audio, 4) : "null") +
         ",\"step_p99_us\":" + json_number(step, 1) + ",\"lateness_p99_us\":" + json_number(late, 1) +
         ",\"lateness_max_us\":" + json_number(latest, 1) +
         ",\"resident_bytes\":" + std::to_string(resident_bytes()) + "}";
}

}  // namespace runnel::serve
