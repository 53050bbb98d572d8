#include "services/net/tls/door.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <thread>
#include <utility>

#include "services/net/limits.h"
#include "services/net/request_head.h"
#include "services/net/tls/no_sigpipe.h"

namespace runnel::net {
namespace {

using Time = std::chrono::steady_clock::time_point;
using std::chrono::milliseconds;

constexpr int kMostEvents = 256, kMostAccepted = 64;  // in one round
constexpr milliseconds kSweep{100};
constexpr char kHandshakeByte = 0x16;  // the first one of a client of TLS

Time clock_now() noexcept { return std::chrono::steady_clock::now(); }

std::string_view phrase_of(int status) noexcept {
  switch (status) {
    case 400:
      return "Bad Request";
    case 411:
      return "Length Required";
    case 413:
      return "Payload Too Large";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Service Unavailable";
  }
}

struct Waiting {
  enum class State : std::uint8_t { hello, handshake, request, farewell };

  std::unique_ptr<Channel> channel;
  Place place;
  State state = State::hello;
  Time since;  // of the state
  Time came;
  RequestHead head;
  std::string begun;
  std::list<std::unique_ptr<Waiting>>::iterator self;
  std::uint32_t interest = 0;
};

class Running final : public Door {
 public:
  explicit Running(Options options) : options_(std::move(options)) {}
  ~Running() override {
    over_ = true;
    wake();
    if (thread_.joinable()) thread_.join();
    waiting_.clear();
    for (const int fd : {options_.listener, epoll_, wake_}) {
      if (fd >= 0) ::close(fd);
    }
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  Status start() {
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (epoll_ < 0 || wake_ < 0 || !watch(wake_, &wake_) || !watch(options_.listener, &options_.listener))
      return Status(Code::io_error) << "no means to wait for clients: " << std::strerror(errno);
    listening_ = true;
    thread_ = std::thread([this] { run(); });
    return {};
  }

  void close() noexcept override {
    closed_ = true;
    wake();
  }

 private:
  bool watch(int fd, void* tag) noexcept {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = tag;
    return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
  }
  void wake() const noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
  }

  void run() {
    block_sigpipe();
    std::array<epoll_event, kMostEvents> events{};
    while (!over_) {
      const bool waits = !waiting_.empty() || (!listening_ && !closed_);
      const int count =
          epoll_wait(epoll_, events.data(), kMostEvents, waits ? static_cast<int>(kSweep.count()) : -1);
      now_ = clock_now();
      bool accepts = false;
      for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.ptr == &options_.listener)
          accepts = true;
        else if (event.data.ptr == &wake_)
          hear();
        else
          go_on(*static_cast<Waiting*>(event.data.ptr));
      }
      // Those who wait come first: a newcomer may take the place of one of them.
      if (accepts) accept_some();
      sweep();
    }
  }

  void hear() noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_, &count, sizeof count);
    if (!closed_ || options_.listener < 0) return;
    ::close(std::exchange(options_.listener, -1));
    listening_ = false;
  }

  void accept_some() {
    for (int i = 0; i < kMostAccepted && options_.listener >= 0; ++i) {
      if (waiting_.size() >= kMostWaiting && !make_room()) return stop_listening();
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      const int fd =
          accept4(options_.listener, reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) {
        if (errno == ECONNABORTED || errno == EINTR) continue;
        // Out of sockets or memory: others wait in the system's queue.
        if (errno != EAGAIN && errno != EWOULDBLOCK && !make_room()) stop_listening();
        return;
      }
      receive(fd, from);
    }
  }

  void receive(int fd, const sockaddr_storage& from) {
    Place place;
    if (options_.admission != nullptr) {
      const ClientKey key = key_of(from, options_.admission->limits().own_machine);
      const Admission::Answer answer = options_.admission->enter(key, now_);
      if (answer != Admission::Answer::yes) {
        // In the clear only: an answer within TLS would cost what the limit is to save.
        if (options_.tls == nullptr && options_.reads_request) {
          const std::string text = http_refusal(429, sentence_of(answer));
          [[maybe_unused]] const ssize_t sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
        }
        ::close(fd);
        return;
      }
      place = Place(options_.admission, key);
    }
    auto client = std::make_unique<Waiting>();
    Waiting& one = *client;
    one.channel = std::make_unique<Channel>(fd);
    one.place = std::move(place);
    one.since = one.came = now_;
    if (options_.tls == nullptr) one.state = Waiting::State::request;
    waiting_.push_back(std::move(client));
    one.self = std::prev(waiting_.end());
    one.interest = EPOLLIN;
    if (!watch(fd, &one)) waiting_.erase(one.self);
  }

  void stop_listening() noexcept {
    if (!listening_) return;
    epoll_ctl(epoll_, EPOLL_CTL_DEL, options_.listener, nullptr);
    listening_ = false;
  }

  // The oldest one goes, if it has had its time.
  bool make_room() {
    if (waiting_.empty() || now_ - waiting_.front()->came < kWaitingPatience) return false;
    drop(*waiting_.front());
    return true;
  }

  // The event of one that has been dropped in this round is never looked at: accept_some() and sweep(), which
  // drop others than the one at hand, come after all events.
  void drop(Waiting& client) { waiting_.erase(client.self); }

  void go_on(Waiting& client) {
    using State = Waiting::State;
    if (client.state == State::hello && !hear_hello(client)) return;
    if (client.state == State::handshake) {
      const Channel::Greeting greeting = client.channel->greet();
      if (greeting == Channel::Greeting::failed) {
        client.place.blame();
        return drop(client);
      }
      if (greeting == Channel::Greeting::again) return want(client);
      client.state = State::request;
      client.since = now_;
      if (!options_.reads_request) return admit(client);
    }
    if (client.state == State::request) return options_.reads_request ? read_request(client) : admit(client);
    if (client.state == State::farewell) {
      std::array<char, 4096> dropped{};
      while (true) {
        const long count = client.channel->read(dropped.data(), dropped.size());
        if (count == Channel::kOver) return drop(client);
        if (count == Channel::kAgain) return;
      }
    }
  }

  // Whether it goes on: the first byte is that of TLS.
  bool hear_hello(Waiting& client) {
    char first = 0;
    const ssize_t count = recv(client.channel->socket(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return false;
    if (count <= 0) {
      drop(client);
      return false;
    }
    if (first == kHandshakeByte) {
      client.channel->secure(*options_.tls);
      client.state = Waiting::State::handshake;
      client.since = now_;
      return true;
    }
    client.place.blame();
    say_farewell(client, options_.plain_answer);
    return false;
  }

  void read_request(Waiting& client) {
    std::array<char, 4096> room;  // NOLINT: filled by read()
    while (true) {
      const long count = client.channel->read(room.data(), room.size());
      if (count == Channel::kOver) return drop(client);
      if (count == Channel::kAgain) return want(client);
      client.begun.append(room.data(), static_cast<std::size_t>(count));
      const RequestHead::State state = client.head.look(client.begun);
      if (state == RequestHead::State::whole) return admit(client);
      if (state == RequestHead::State::wrong) {
        client.place.blame();
        return say_farewell(client, http_refusal(client.head.status(), client.head.fault()));
      }
    }
  }

  void say_farewell(Waiting& client, std::string_view text) {
    // What the system does not take at once is lost: nobody waits for a stranger.
    if (!text.empty()) client.channel->write(text.data(), text.size());
    client.channel->finish();
    client.state = Waiting::State::farewell;
    client.since = now_;
  }

  void want(Waiting& client) noexcept {
    const std::uint32_t interest = (client.channel->also() & POLLOUT) != 0 ? EPOLLOUT : EPOLLIN;
    if (interest == client.interest) return;
    epoll_event event{};
    event.events = client.interest = interest;
    event.data.ptr = &client;
    epoll_ctl(epoll_, EPOLL_CTL_MOD, client.channel->socket(), &event);
  }

  void admit(Waiting& client) {
    epoll_ctl(epoll_, EPOLL_CTL_DEL, client.channel->socket(), nullptr);
    Visitor visitor{std::move(client.channel), std::move(client.begun), client.head.size(),
                    std::move(client.place)};
    drop(client);
    options_.enter(std::move(visitor));
  }

  void sweep() {
    using State = Waiting::State;
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      Waiting& client = **at++;
      const milliseconds time = client.state == State::farewell  ? kFarewellTime
                                : client.state == State::request ? kHeadTime
                                                                 : kHandshakeTime;
      if (now_ - client.since <= time) continue;
      if (client.state != State::farewell) client.place.blame();
      drop(client);
    }
    if (!listening_ && options_.listener >= 0 && waiting_.size() < kMostWaiting)
      listening_ = watch(options_.listener, &options_.listener);
    else if (!listening_ && options_.listener >= 0 && make_room())
      listening_ = watch(options_.listener, &options_.listener);
  }

  Options options_;
  int epoll_ = -1, wake_ = -1;
  bool listening_ = false;
  std::atomic<bool> over_{false}, closed_{false};
  std::list<std::unique_ptr<Waiting>> waiting_;  // the oldest first
  Time now_ = clock_now();
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Door>> Door::open(Options options) {
  auto door = std::make_unique<Running>(std::move(options));
  RUNNEL_TRY(door->start());
  return std::unique_ptr<Door>(std::move(door));
}

std::string http_refusal(int status, std::string_view sentence) {
  return "HTTP/1.1 " + std::to_string(status) + " " + std::string(phrase_of(status)) +
         "\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: " +
         std::to_string(sentence.size() + 1) + "\r\n\r\n" + std::string(sentence) + "\n";
}

}  // namespace runnel::net
