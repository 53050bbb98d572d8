// The state of one client of a server.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/host/live/frame_stream.h"
#include "services/net/access/inbox.h"
#include "services/serve/receiver.h"
#include "services/serve/stream.h"

namespace runnel::serve {

using Time = std::chrono::steady_clock::time_point;

struct Connection {
  // greeting: waits for the first message. streaming: samples in, events out. sending: waits until the client
  // has taken its answers; input is dropped. lingering: everything is sent and our side is shut down; the
  // client must close. closed: to be deleted.
  enum class State : std::uint8_t { greeting, streaming, sending, lingering, closed };

  Connection(net::Newcomer newcomer, std::size_t longest, Time now)
      : fd(newcomer.socket),
        place(std::move(newcomer.place)),
        trusted(newcomer.trusted),
        frames(longest),
        since(now),
        heard(now),
        taken(now) {}

  int fd;
  net::Place place;
  bool trusted;  // its token has been shown
  State state = State::greeting;
  pipeline::FrameStream frames;
  std::vector<Receiver::Arrival> held;  // bytes that follow those of `frames`, or of the message in use
  std::optional<std::uint16_t> in_use;  // the receiver's buffer whose message the stream is taking
  std::unique_ptr<Stream> stream;       // streaming
  std::uint64_t number = 0;             // of the thread's streams, from 1
  std::string source;
  std::string out;  // answers; the first `sent` bytes are sent
  std::size_t sent = 0;
  std::size_t greeted = 0;  // bytes of an incomplete first message
  Time since;               // start of the current state
  Time heard, taken;        // last time a byte arrived; last time a byte of the answers was taken
  Time arrived;             // arrival of the oldest unprocessed samples
  std::int64_t events = 0, samples = 0;  // already in the metrics
  std::uint32_t interest = 0;            // events registered with epoll
  bool progress = false;
  bool watched = false;           // by the receiver, which may still refer to this connection
  bool pausing = false;           // until the receiver says so
  bool waits_for_buffer = false;  // in the list of those that the receiver had no buffer for
  bool queued = false;            // in the queue of clients with data to process
  bool closed_by_peer = false;    // end of input
  bool over = false;              // all input has been given to the stream
  bool drained = false;           // ended by the server
  bool end_counted = false;       // already in the metrics

  [[nodiscard]] std::size_t unsent() const noexcept { return out.size() - sent; }
};

}  // namespace runnel::serve
