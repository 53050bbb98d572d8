#include "services/fleet/nats/gathering.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <utility>

namespace runnel::fleet {
namespace {

// What a turn reads at once: a tenth of a second of a hundred streams.
constexpr int kBuffer = 1 << 18;
constexpr int kPatience = 100;  // ms, for what is not announced
constexpr int kReads = 64;      // of a turn: what waits behind is read in the next one

bool ready(int socket, short what) {
  pollfd one{socket, what, 0};
  return poll(&one, 1, 0) > 0;
}

}  // namespace

Gathering::Gathering(std::chrono::milliseconds every)
    : every_(every), wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

Gathering::~Gathering() {
  stop();
  if (wake_ >= 0) close(wake_);
}

void Gathering::stop() {
  ends_ = true;
  hurry();
  if (thread_.joinable()) thread_.join();
}

Status Gathering::attach_to(natsOptions* options) {
  if (wake_ < 0) return Status(Code::io_error, "an eventfd: the system has none left");
  natsOptions_SetIOBufSize(options, kBuffer);
  if (natsOptions_SetEventLoop(options, this, attached, reads, writes, detached) != NATS_OK)
    return Status(Code::io_error, "libnats does not take an event loop");
  return {};
}

void Gathering::start(std::function<void()> came) {
  came_ = std::move(came);
  thread_ = std::thread([this] { run(); });
}

void Gathering::hurry() const noexcept {
  const std::uint64_t one = 1;
  // It fails only where it is set already.
  static_cast<void>(!write(wake_, &one, sizeof one));
}

natsStatus Gathering::attached(void** data, void* self, natsConnection* connection, natsSock socket) {
  *data = self;
  auto& it = *static_cast<Gathering*>(self);
  it.connection_ = connection;
  it.socket_ = socket;
  it.hurry();
  return NATS_OK;
}

natsStatus Gathering::reads(void* self, bool add) {
  if (!add) static_cast<Gathering*>(self)->socket_ = -1;
  return NATS_OK;
}

natsStatus Gathering::writes(void* self, bool add) {
  auto& it = *static_cast<Gathering*>(self);
  if (!it.writes_.exchange(add) && add) it.hurry();
  return NATS_OK;
}

natsStatus Gathering::detached(void* self) {
  static_cast<Gathering*>(self)->socket_ = -1;
  return NATS_OK;
}

void Gathering::send() {
  if (socket_ >= 0 && writes_ && ready(socket_, POLLOUT)) natsConnection_ProcessWriteEvent(connection_);
}

void Gathering::run() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_read = Clock::now();
  while (!ends_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_read - Clock::now()).count();
    const natsSock socket = socket_;
    // What comes soon after a reading waits; a negative descriptor is left out.
    std::array<pollfd, 2> both = {{{wake_, POLLIN, 0}, {left > 0 ? -1 : socket, POLLIN, 0}}};
    poll(both.data(), both.size(), left > 0 ? static_cast<int>(left) : kPatience);
    if (both[0].revents != 0) {
      std::uint64_t count = 0;
      static_cast<void>(!read(wake_, &count, sizeof count));
    }
    // What others wait for goes out at once.
    send();
    if (both[1].revents == 0) continue;
    int reads = 0;
    do natsConnection_ProcessReadEvent(connection_);
    while (++reads < kReads && socket_ == socket && ready(socket, POLLIN));
    next_read = Clock::now() + every_;
    came_();
  }
  // What was published last.
  for (int i = 0; i < kReads && writes_; ++i) send();
}

}  // namespace runnel::fleet
