#include "services/net/tls/tls_entrance.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "services/net/tls/door.h"
#include "services/net/tls/no_sigpipe.h"
#include "services/net/tls/tls_link.h"

namespace runnel::net {
namespace {

using std::chrono::milliseconds;

constexpr int kMostEvents = 256;
constexpr milliseconds kSweep{250};
constexpr std::size_t kRecord = std::size_t{1} << 14;  // the longest one of TLS

TlsLink::Time clock_now() noexcept { return std::chrono::steady_clock::now(); }

// A link among those that are waited for: epoll knows its two sockets by these.
struct Seat {
  struct Side {
    static constexpr short kNotWaitedFor = -1;
    Seat* seat = nullptr;
    short events = 0;
  };
  Seat(std::unique_ptr<Channel> channel, int local) : link(std::move(channel), local) {}

  TlsLink link;
  Side outside{this}, inside{this};
  bool over = false;
};

class Relay final : public TlsEntrance {
 public:
  Relay(Options options, std::unique_ptr<TlsIdentity> identity)
      : options_(std::move(options)), identity_(std::move(identity)) {}
  ~Relay() override {
    door_.reset();
    stop_ = true;
    wake();
    if (thread_.joinable()) thread_.join();
    seats_.clear();
    newcomers_.clear();
    for (const int fd : {epoll_, wake_}) {
      if (fd >= 0) ::close(fd);
    }
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  Status start() {
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = nullptr;
    if (epoll_ < 0 || wake_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) != 0) {
      ::close(std::exchange(options_.listener, -1));
      return Status(Code::io_error) << "no means to wait for clients: " << std::strerror(errno);
    }
    Door::Options door;
    door.listener = std::exchange(options_.listener, -1);
    door.tls = identity_.get();
    door.admission = options_.admission;
    door.plain_answer = options_.plain_answer;
    door.enter = [this](Door::Visitor&& visitor) { enter(visitor); };
    RUNNEL_ASSIGN(door_, Door::open(std::move(door)));
    thread_ = std::thread([this] { run(); });
    return {};
  }

  Status reload() override { return identity_->reload(); }
  void close() noexcept override { door_->close(); }
  bool finish(milliseconds patience) override {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [this] { return newcomers_.empty() && !has_links_; });
  }

 private:
  void wake() const noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
  }

  // In the door's thread.
  void enter(Door::Visitor& visitor) {
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return;
    const int on = 1;
    setsockopt(visitor.channel->socket(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(visitor.channel->socket(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    {
      const std::lock_guard lock(mutex_);
      newcomers_.push_back(std::make_unique<Seat>(std::move(visitor.channel), ends[0]));
    }
    wake();
    options_.enter(ends[1], std::move(visitor.place));
  }

  void run() {
    block_sigpipe();
    std::array<epoll_event, kMostEvents> events{};
    while (!stop_) {
      const int count = epoll_wait(epoll_, events.data(), kMostEvents,
                                   seats_.empty() ? -1 : static_cast<int>(kSweep.count()));
      const auto now = clock_now();
      bool newcomers = false;
      for (int i = 0; i < count; ++i) {
        auto* const side = static_cast<Seat::Side*>(events[static_cast<std::size_t>(i)].data.ptr);
        if (side == nullptr)
          newcomers = true;
        else
          happen(*side, events[static_cast<std::size_t>(i)].events, now);
      }
      if (newcomers) take_newcomers(now);
      if (now - swept_ > kSweep) sweep(now);
      if (any_over_) bury();
    }
  }

  void take_newcomers(TlsLink::Time now) {
    std::uint64_t number = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_, &number, sizeof number);
    std::vector<std::unique_ptr<Seat>> fresh;
    {
      const std::lock_guard lock(mutex_);
      fresh.swap(newcomers_);
      has_links_ = has_links_ || !fresh.empty();
    }
    for (auto& seat : fresh) {
      seats_.push_back(std::move(seat));
      Seat& one = *seats_.back();
      if (!watch(one.outside, one.link.outside()) || !watch(one.inside, one.link.local()))
        leave(one);
      else
        carry(one, now);  // what came with the handshake, no event announces
    }
  }

  bool watch(Seat::Side& side, int fd) noexcept {
    epoll_event event{};
    event.data.ptr = &side;
    return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
  }

  void want(Seat::Side& side, int fd, short events) noexcept {
    if (side.events == events || side.events == Seat::Side::kNotWaitedFor) return;
    epoll_event event{};
    event.events = (events & POLLIN) != 0 ? static_cast<std::uint32_t>(EPOLLIN) : 0U;
    if ((events & POLLOUT) != 0) event.events |= static_cast<std::uint32_t>(EPOLLOUT);
    event.data.ptr = &side;
    side.events = events;
    epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
  }

  // The end of a socket is reported until it is not waited for any more.
  void happen(Seat::Side& side, std::uint32_t events, TlsLink::Time now) {
    Seat& seat = *side.seat;
    const bool ended = (events & (EPOLLHUP | EPOLLERR)) != 0;
    if (ended && &side == &seat.outside && (side.events & POLLIN) == 0 && !seat.over) return leave(seat);
    carry(seat, now);
    if (!ended || &side != &seat.inside || seat.over) return;
    // What the server has said last is there already.
    epoll_ctl(epoll_, EPOLL_CTL_DEL, seat.link.local(), nullptr);
    side.events = Seat::Side::kNotWaitedFor;
  }

  void carry(Seat& seat, TlsLink::Time now) {
    if (seat.over) return;
    if (!seat.link.carry(room_, now)) return leave(seat);
    want(seat.outside, seat.link.outside(), seat.link.outside_events());
    want(seat.inside, seat.link.local(), seat.link.local_events());
  }

  // Events of this round may still refer to it.
  void leave(Seat& seat) noexcept {
    seat.over = any_over_ = true;
    epoll_ctl(epoll_, EPOLL_CTL_DEL, seat.link.outside(), nullptr);
    epoll_ctl(epoll_, EPOLL_CTL_DEL, seat.link.local(), nullptr);
  }

  void sweep(TlsLink::Time now) {
    swept_ = now;
    for (const auto& seat : seats_) {
      if (!seat->over && seat->link.is_late(now)) leave(*seat);
    }
  }

  void bury() {
    any_over_ = false;
    std::erase_if(seats_, [](const auto& seat) { return seat->over; });
    if (!seats_.empty()) return;
    const std::lock_guard lock(mutex_);
    has_links_ = false;
    changed_.notify_all();
  }

  Options options_;
  std::unique_ptr<TlsIdentity> identity_;
  int epoll_ = -1, wake_ = -1;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // guards the next three
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Seat>> newcomers_;
  bool has_links_ = false;
  // Of the thread alone.
  std::vector<std::unique_ptr<Seat>> seats_;
  std::array<char, kRecord> room_{};
  TlsLink::Time swept_{};
  bool any_over_ = false;
  std::unique_ptr<Door> door_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<TlsEntrance>> TlsEntrance::start(Options options) {
  auto identity = TlsIdentity::read(options.files);
  if (!identity.ok()) {
    ::close(options.listener);
    return identity.status();
  }
  auto relay = std::make_unique<Relay>(std::move(options), std::move(identity).value());
  RUNNEL_TRY(relay->start());
  return std::unique_ptr<TlsEntrance>(std::move(relay));
}

}  // namespace runnel::net
