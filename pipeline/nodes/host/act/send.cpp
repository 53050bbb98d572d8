#include "pipeline/nodes/host/act/send.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Send::to>("to", "", "tcp:HOST:PORT or unix:PATH", true),
    parameter<&Send::queue>("queue", "", 1, 10000000, "records that may wait while there is no connection"),
    text_parameter<&Send::full>("full", "drop-oldest|drop-newest",
                                "what is dropped, and counted, when the queue is full"),
    parameter<&Send::retry>("retry", "s", 0.1, 3600, "longest time between two attempts to connect"),
    parameter<&Send::linger>("linger", "s", 0, 3600, "at the end, how long to wait until everything is sent"),
    text_parameter<&Send::source>("source", "",
                                  "name in the records; empty: that of the recording or device"),
};

constexpr int kFirstPause = 100;  // ms
constexpr int kConnectMilliseconds = 5000;
constexpr int kForEver = -1;

}  // namespace

const NodeType Send::type = {
    .name = "send",
    .help =
        "Sends events and gaps as JSON, one object per line, to a TCP or Unix socket; connects again when "
        "the connection is lost.",
    .input = {static_cast<Kinds>(Kind::events), "events"},
    .output = {},
    .parameters = kParameters,
    .make = make_node<Send>,
};

Send::~Send() {
  leaving_ = true;
  leave_.up();
  if (thread_.joinable()) thread_.join();
}

Status Send::configure() noexcept {
  RUNNEL_ASSIGN(address_, SocketAddress::parse(to));
  return {};
}

Status Send::start() noexcept {
  if (wake_.descriptor() < 0 || leave_.descriptor() < 0)
    return Status(Code::io_error) << "the system gives no event descriptor";
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& error) {
    return Status(Code::io_error) << "cannot start a thread: " << error.what();
  }
  return {};
}

void Send::put(std::string line) {
  line += '\n';
  {
    const std::lock_guard lock(mutex_);
    const bool is_full = static_cast<std::int64_t>(lines_.size()) >= queue;
    if (is_full) {
      book_.dropped("a record was dropped: " + std::to_string(queue) + " are waiting for " + std::string(to) +
                    " already");
      // A record that is partly sent is not dropped.
      const std::size_t oldest = sending_ ? 1 : 0;
      if (full == "drop-newest" || lines_.size() <= oldest) return;
      lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(oldest));
    }
    lines_.push_back(std::move(line));
  }
  wake_.up();
}

Status Send::gap(const Gap& gap) noexcept {
  book_.taken();
  put(records_.gap(gap));
  return {};
}

void Send::lost_connection(std::string_view why) {
  book_.say(std::string(to) + ": " + std::string(why) + "; trying again");
  socket_.close();
  sent_ = 0;
}

bool Send::connect() {
  Result<Descriptor> socket = connect_to(address_, kConnectMilliseconds, leave_.descriptor());
  if (socket.ok()) {
    socket_ = std::move(socket).value();
    pause_ = 0;
    return true;
  }
  book_.say(std::string(socket.status().text()) + "; trying again");
  pause_ = std::clamp(2 * pause_, kFirstPause, std::max(kFirstPause, static_cast<int>(retry * 1000)));
  return false;
}

bool Send::wait(int milliseconds) {
  pollfd polled[3] = {
      {leave_.descriptor(), POLLIN, 0}, {socket_.number(), POLLIN, 0}, {wake_.descriptor(), POLLIN, 0}};
  // Without a connection, wait only for the next attempt or the end.
  if (!socket_.is_open()) {
    poll(polled, 1, milliseconds);
    return !leaving_;
  }
  {
    const std::lock_guard lock(mutex_);
    if (!lines_.empty()) polled[1].events |= POLLOUT;
  }
  poll(polled, 3, kForEver);
  if (polled[2].revents != 0) wake_.clear();
  if ((polled[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
    char ignored[512];
    const ssize_t count = recv(socket_.number(), ignored, sizeof ignored, 0);
    if (count == 0)
      lost_connection("the other side closed the connection");
    else if (count < 0 && errno != EAGAIN)
      lost_connection(std::strerror(errno));
  }
  return !leaving_;
}

void Send::send_some() {
  for (;;) {
    std::string line;
    {
      const std::lock_guard lock(mutex_);
      if (lines_.empty()) return;
      sending_ = true;
      line = lines_.front();
    }
    const ssize_t count = ::send(socket_.number(), line.data() + sent_, line.size() - sent_, MSG_NOSIGNAL);
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) return lost_connection(std::strerror(errno));
    sent_ += static_cast<std::size_t>(count);
    if (sent_ < line.size()) continue;
    sent_ = 0;
    book_.done();
    const std::lock_guard lock(mutex_);
    sending_ = false;
    lines_.pop_front();
    if (lines_.empty()) empty_.notify_all();
  }
}

void Send::work() {
  while (!leaving_) {
    if (!socket_.is_open() && !connect()) {
      if (!wait(pause_)) return;
      continue;
    }
    send_some();
    // A connection that was lost while sending is made again at once: there is nothing to wait for.
    if (socket_.is_open() && !wait(kForEver)) return;
  }
}

Status Send::finish() noexcept {
  {
    std::unique_lock lock(mutex_);
    empty_.wait_for(lock, std::chrono::duration<double>(linger), [this] { return lines_.empty(); });
  }
  leaving_ = true;
  leave_.up();
  if (thread_.joinable()) thread_.join();
  socket_.close();
  for (; !lines_.empty(); lines_.pop_front())
    book_.dropped("the time to wait for " + std::string(to) + " (linger) was up");
  return {};
}

}  // namespace runnel::pipeline
