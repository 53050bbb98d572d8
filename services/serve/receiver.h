// Receiving from many sockets with one call of the system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace runnel::serve {

// What arrives at a socket goes into buffers that the kernel takes from a common store, without a call for
// each packet (io_uring, Linux 6.1 or newer). For sockets that send a little now and then: one that has much
// at once would fill the store, and is better read as its bytes are used. One thread makes it, uses it and
// destroys it.
class Receiver {
 public:
  struct Arrival {
    enum class What : std::uint8_t {
      bytes,
      end,     // of the input
      paused,  // nothing more will arrive: pause()
      full,    // nor here: the store had no buffer for it
      failed   // the connection is broken
    };
    std::uintptr_t id = 0;
    What what = What::bytes;
    bool last = false;  // the socket is not watched any more
    std::uint16_t buffer = 0;
    std::uint16_t bytes = 0;
  };

  // With a store of so many buffers, 1 .. 32768. Null where the kernel does not have or does not allow it.
  static std::unique_ptr<Receiver> make(std::size_t buffers);
  virtual ~Receiver() = default;

  // Becomes readable whenever something arrives: an edge, which need not be read. Then take() until there is
  // nothing.
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  // Watches a socket under this id until an arrival is the last one. False: not possible now.
  virtual bool watch(int socket, std::uintptr_t id) noexcept = 0;
  // Asks for the end of it, which comes as an arrival.
  virtual void pause(std::uintptr_t id) noexcept = 0;
  // Hands requests to the kernel; call it before waiting.
  virtual void submit() noexcept = 0;
  // What has arrived: at most `room.size()` arrivals. The bytes of one stay valid until give_back().
  virtual std::span<const Arrival> take(std::span<Arrival> room) noexcept = 0;
  [[nodiscard]] virtual std::span<const std::byte> bytes(const Arrival& arrival) const noexcept = 0;
  virtual void give_back(std::uint16_t buffer) noexcept = 0;
  // Buffers that the kernel has.
  [[nodiscard]] virtual std::size_t free_buffers() const noexcept = 0;
  // Adds the bytes of the next arrival of the same socket to those of `to`, and gives their buffer back;
  // false: they do not fit into one.
  virtual bool join(Arrival& to, const Arrival& next) noexcept = 0;

  static constexpr std::size_t kBufferBytes = 4096;
};

}  // namespace runnel::serve
