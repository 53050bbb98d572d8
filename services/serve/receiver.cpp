#include "services/serve/receiver.h"

#if __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#endif

#if defined(IORING_RECV_MULTISHOT) && defined(IORING_SETUP_DEFER_TASKRUN)
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace runnel::serve {
namespace {

constexpr unsigned kRequests = 1024, kCompletions = 4096;
constexpr std::uint16_t kStore = 1;   // the group of the buffers
constexpr std::uint64_t kNobody = 0;  // id of requests whose outcome does not matter
constexpr int kNoMemory = -ENOBUFS, kCanceled = -ECANCELED;

// Memory mapped from the kernel, or for it.
class Mapped {
 public:
  Mapped() = default;
  ~Mapped() {
    if (data_ != MAP_FAILED) munmap(data_, bytes_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  bool map(std::size_t bytes, int ring, off_t offset) noexcept {
    bytes_ = bytes;
    const int flags = ring < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED | MAP_POPULATE;
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, ring, offset);
    return data_ != MAP_FAILED;
  }
  template <class T>
  [[nodiscard]] T* at(std::size_t offset = 0) const noexcept {
    return reinterpret_cast<T*>(static_cast<std::byte*>(data_) + offset);
  }

 private:
  void* data_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

// The compilers' own operations: libc++ has no std::atomic_ref before its version 19.
template <class T>
T acquire(T* from) noexcept {
  return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}
template <class T>
void release(T* to, T value) noexcept {
  __atomic_store_n(to, value, __ATOMIC_RELEASE);
}

class Ring final : public Receiver {
 public:
  ~Ring() override {
    for (const int fd : {ring_, event_}) {
      if (fd >= 0) close(fd);
    }
  }

  bool open(std::size_t buffers) noexcept {
    io_uring_params parameters{};
    parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE;
    parameters.cq_entries = kCompletions;
    ring_ = static_cast<int>(syscall(__NR_io_uring_setup, kRequests, &parameters));
    if (ring_ < 0) return false;
    // Both rings lie in one mapping (Linux 5.4).
    const std::size_t bytes = std::max(parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned),
                                       parameters.cq_off.cqes + parameters.cq_entries * sizeof(io_uring_cqe));
    if ((parameters.features & IORING_FEAT_SINGLE_MMAP) == 0 ||
        !rings_.map(bytes, ring_, IORING_OFF_SQ_RING) ||
        !requests_.map(parameters.sq_entries * sizeof(io_uring_sqe), ring_, IORING_OFF_SQES))
      return false;
    request_head_ = rings_.at<unsigned>(parameters.sq_off.head);
    request_tail_ = rings_.at<unsigned>(parameters.sq_off.tail);
    request_count_ = parameters.sq_entries;
    auto* const order = rings_.at<unsigned>(parameters.sq_off.array);
    for (unsigned i = 0; i < request_count_; ++i) order[i] = i;
    head_ = rings_.at<unsigned>(parameters.cq_off.head);
    tail_ = rings_.at<unsigned>(parameters.cq_off.tail);
    completions_ = rings_.at<io_uring_cqe>(parameters.cq_off.cqes);
    completion_mask_ = parameters.cq_entries - 1;
    // Work that is done when the thread asks for it makes this readable, but not the ring itself.
    event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event_ < 0 || syscall(__NR_io_uring_register, ring_, IORING_REGISTER_EVENTFD, &event_, 1) < 0)
      return false;
    return open_store(std::bit_ceil(buffers));
  }

  [[nodiscard]] int descriptor() const noexcept override { return event_; }

  bool watch(int socket, std::uintptr_t id) noexcept override {
    io_uring_sqe* const request = next_request();
    if (request == nullptr) return false;
    request->opcode = IORING_OP_RECV;
    request->fd = socket;
    request->ioprio = IORING_RECV_MULTISHOT;
    request->flags = IOSQE_BUFFER_SELECT;
    request->buf_group = kStore;
    request->user_data = id;
    return true;
  }

  void pause(std::uintptr_t id) noexcept override {
    io_uring_sqe* const request = next_request();
    if (request == nullptr) return;
    request->opcode = IORING_OP_ASYNC_CANCEL;
    request->addr = id;
    request->user_data = kNobody;
  }

  void submit() noexcept override {
    if (waiting_ > 0) enter(0);
  }

  std::span<const Arrival> take(std::span<Arrival> room) noexcept override {
    enter(IORING_ENTER_GETEVENTS);
    const unsigned tail = acquire(tail_);
    unsigned head = *head_;
    std::size_t count = 0;
    for (; head != tail && count < room.size(); ++head) {
      const io_uring_cqe& done = completions_[head & completion_mask_];
      if (done.user_data == kNobody) continue;
      Arrival& arrival = room[count++];
      arrival = {};
      arrival.id = static_cast<std::uintptr_t>(done.user_data);
      arrival.last = (done.flags & IORING_CQE_F_MORE) == 0;
      using What = Arrival::What;
      arrival.what = done.res > 0            ? What::bytes
                     : done.res == 0         ? What::end
                     : done.res == kCanceled ? What::paused
                     : done.res == kNoMemory ? What::full
                                             : What::failed;
      const auto buffer = static_cast<std::uint16_t>(done.flags >> IORING_CQE_BUFFER_SHIFT);
      if ((done.flags & IORING_CQE_F_BUFFER) != 0) --free_;
      if (done.res > 0) {
        arrival.buffer = buffer;
        arrival.bytes = static_cast<std::uint16_t>(done.res);
      } else if ((done.flags & IORING_CQE_F_BUFFER) != 0) {
        give_back(buffer);
      }
    }
    release(head_, head);
    return room.first(count);
  }

  [[nodiscard]] std::span<const std::byte> bytes(const Arrival& arrival) const noexcept override {
    return {memory_.at<std::byte>(arrival.buffer * kBufferBytes), arrival.bytes};
  }

  bool join(Arrival& to, const Arrival& next) noexcept override {
    if (std::size_t{to.bytes} + next.bytes > kBufferBytes) return false;
    std::memcpy(memory_.at<std::byte>(to.buffer * kBufferBytes + to.bytes),
                memory_.at<std::byte>(next.buffer * kBufferBytes), next.bytes);
    to.bytes = static_cast<std::uint16_t>(to.bytes + next.bytes);
    give_back(next.buffer);
    return true;
  }

  void give_back(std::uint16_t buffer) noexcept override {
    // io_uring_buf_ring is an array of these, whose first one has the tail in its unused field; in C++ the
    // header's own declaration puts the array elsewhere.
    auto* const entries = store_.at<io_uring_buf>();
    io_uring_buf& entry = entries[store_tail_ & store_mask_];
    entry.addr = reinterpret_cast<std::uintptr_t>(memory_.at<std::byte>(buffer * kBufferBytes));
    entry.len = kBufferBytes;
    entry.bid = buffer;
    release(&entries[0].resv, ++store_tail_);
    ++free_;
  }

  [[nodiscard]] std::size_t free_buffers() const noexcept override { return free_; }

 private:
  bool open_store(std::size_t buffers) noexcept {
    if (!memory_.map(buffers * kBufferBytes, -1, 0) || !store_.map(buffers * sizeof(io_uring_buf), -1, 0))
      return false;
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uintptr_t>(store_.at<std::byte>());
    registration.ring_entries = static_cast<std::uint32_t>(buffers);
    registration.bgid = kStore;
    if (syscall(__NR_io_uring_register, ring_, IORING_REGISTER_PBUF_RING, &registration, 1) < 0) return false;
    store_mask_ = static_cast<std::uint16_t>(buffers - 1);
    for (std::size_t i = 0; i < buffers; ++i) give_back(static_cast<std::uint16_t>(i));
    return true;
  }

  io_uring_sqe* next_request() noexcept {
    if (*request_tail_ - acquire(request_head_) == request_count_) submit();
    if (*request_tail_ - acquire(request_head_) == request_count_) return nullptr;
    io_uring_sqe* const request = requests_.at<io_uring_sqe>() + (*request_tail_ & (request_count_ - 1));
    std::memset(request, 0, sizeof *request);
    release(request_tail_, *request_tail_ + 1);
    ++waiting_;
    return request;
  }

  void enter(unsigned flags) noexcept {
    const long taken = syscall(__NR_io_uring_enter, ring_, waiting_, 0, flags, nullptr, 0);
    if (taken > 0) waiting_ -= std::min(waiting_, static_cast<unsigned>(taken));
  }

  int ring_ = -1, event_ = -1;
  Mapped rings_, requests_, store_, memory_;
  unsigned *request_head_ = nullptr, *request_tail_ = nullptr, request_count_ = 0, waiting_ = 0;
  unsigned *head_ = nullptr, *tail_ = nullptr, completion_mask_ = 0;
  io_uring_cqe* completions_ = nullptr;
  std::uint16_t store_tail_ = 0, store_mask_ = 0;
  std::size_t free_ = 0;
};

}  // namespace

std::unique_ptr<Receiver> Receiver::make(std::size_t buffers) {
  auto ring = std::make_unique<Ring>();
  if (!ring->open(buffers)) return nullptr;
  return ring;
}

}  // namespace runnel::serve

#else

namespace runnel::serve {

std::unique_ptr<Receiver> Receiver::make(std::size_t) { return nullptr; }

}  // namespace runnel::serve

#endif
