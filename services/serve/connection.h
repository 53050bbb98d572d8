// What a server knows of one client.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "pipeline/host/live/frame_stream.h"
#include "services/serve/stream.h"

namespace runnel::serve {

using Time = std::chrono::steady_clock::time_point;

struct Connection {
  // greeting: the first message is not there. streaming: samples in, events out. sending: answers wait to be
  // taken, whatever comes in is dropped. lingering: everything is sent and told to be over; the client has to
  // close. closed: to be forgotten.
  enum class State : std::uint8_t { greeting, streaming, sending, lingering, closed };

  Connection(int socket, std::size_t longest, Time now)
      : fd(socket), frames(longest), since(now), heard(now), taken(now) {}

  int fd;
  State state = State::greeting;
  pipeline::FrameStream frames;
  std::unique_ptr<Stream> stream;  // streaming
  std::string source;
  std::string out;  // answers; the first `sent` bytes are gone
  std::size_t sent = 0;
  std::size_t greeted = 0;               // bytes of a first message that is not whole
  Time since;                            // the state began
  Time heard, taken;                     // a byte came; a byte of the answers went
  Time arrived;                          // the oldest samples that were not processed
  std::int64_t events = 0, samples = 0;  // told to the metrics
  std::uint32_t interest = 0;            // what the system was asked to tell
  bool progress = false;
  bool queued = false;          // among those that have something to process
  bool closed_by_peer = false;  // nothing more will come
  bool over = false;            // everything that will be processed was given to the stream
  bool drained = false;         // ended by the server
  bool end_counted = false;     // told to the metrics

  [[nodiscard]] std::size_t unsent() const noexcept { return out.size() - sent; }
};

}  // namespace runnel::serve
