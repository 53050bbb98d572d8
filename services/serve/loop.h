// One thread of a server: its clients, their streams, and their common steps.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pipeline/host/shared_sessions.h"
#include "pipeline/host/step_times.h"
#include "services/serve/capacity.h"
#include "services/serve/connection.h"
#include "services/serve/greeting.h"
#include "services/serve/metrics.h"
#include "services/serve/receiver.h"
#include "services/serve/server.h"
#include "services/serve/spare_memory.h"
#include "services/serve/stream.h"

namespace runnel::serve {

// Waits (epoll), reads input, steps all streams that have data, and writes their output. Reads from a client
// only as fast as its stream consumes, so that TCP provides the backpressure; takes a tenth of a second of
// each stream in turn, so that a fast client does not delay others.
class Loop {
 public:
  // `wake`: readable when the server must stop. `times`: this thread's entry in the metrics. All references
  // outlive the loop.
  static Result<std::unique_ptr<Loop>> make(const ServerOptions& options, Metrics& metrics,
                                            Metrics::Times& times, int wake);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Makes streams of this format for the first clients, and measures what they cost.
  Status prepare(const SampleFormat& format);

  // Runs until the server stops and all streams are flushed. `listener`: owned by this loop, which
  // distributes clients among `loops`; -1: another loop has it.
  void run(int listener, std::span<const std::unique_ptr<Loop>> loops);
  // A client for this loop. From any thread.
  void give(net::Newcomer newcomer) noexcept;
  [[nodiscard]] int clients() const noexcept { return load_.load(std::memory_order_relaxed); }
  // The number of streams cut off at the end.
  [[nodiscard]] int cut_off() const noexcept { return cut_off_; }
  [[nodiscard]] const pipeline::StepTimes& step_times() const noexcept { return step_times_; }
  [[nodiscard]] const pipeline::StepTimes& lateness() const noexcept { return lateness_; }

 private:
  Loop(const ServerOptions& options, Metrics& metrics, Metrics::Times& times, int wake);
  enum Tag : std::uint64_t { kListener = 1, kWake = 2, kInbox = 3, kReceiver = 4 };  // not valid pointers

  Status watch(int fd, std::uint64_t tag, std::uint32_t events) noexcept;
  void wait();
  Status measure(std::span<const std::unique_ptr<Stream>> streams);
  void accept_some();
  void adopt(net::Newcomer newcomer);
  void hand_over(net::Newcomer newcomer);
  bool enters(int fd, const sockaddr_storage& from, net::Place& place);
  void read_inbox();
  void wait_for_room() noexcept;
  void stop_listening() noexcept;
  void listen_again() noexcept;
  [[nodiscard]] int most_others() const noexcept {
    return std::max(options_.max_others, options_.max_streams);
  }
  bool has_room();
  bool make_room();

  void start_receiver();
  void receive();
  void arrive(Connection& client, const Receiver::Arrival& arrival);
  void watch(Connection& client);
  void request(Connection& client);
  void watch_again();
  bool use_whole(Connection& client, std::span<const std::byte>& message);
  void use_held(Connection& client);
  void give_back_used(Connection& client) noexcept;
  void drop_held(Connection& client) noexcept;
  void on_event(Connection& client, std::uint32_t events);
  void on_readable(Connection& client);
  void greet(Connection& client, std::span<const std::byte> message);
  Result<std::unique_ptr<Stream>> stream_for(const SampleFormat& format);
  void take_input(Connection& client);
  void queue(Connection& client);
  [[nodiscard]] bool blocked(const Connection& client) const noexcept {
    return client.unsent() > options_.most_unsent;
  }

  void step();
  void account(Connection& client);
  void count() noexcept;
  void finish(Connection& client);
  void count_end(Connection& client, Reason reason) noexcept;
  void refuse(Connection& client, Reason reason, std::string_view message);
  void release(Connection& client);
  void answer_done(Connection& client);
  void write(Connection& client);
  void set_interest(Connection& client) noexcept;
  void close(Connection& client) noexcept;

  void sweep();
  void sweep(Connection& client);
  void begin_drain();
  void bury();
  void publish() noexcept;
  void publish_sessions();

  const ServerOptions& options_;
  Metrics& metrics_;
  Metrics::Times& times_;
  int wake_, epoll_ = -1, listener_ = -1;
  net::Inbox inbox_;        // clients from the loop that accepts, from TLS and from WebSockets
  bool listening_ = false;  // polls for new clients: on the listener, if it has it, and the inbox
  bool stopped_ = false;
  std::span<const std::unique_ptr<Loop>> loops_;
  std::atomic<int> load_{0};  // clients, those in the inbox included; the loop that accepts reads it

  pipeline::SharedSessions shared_;  // declared before the streams, which refer to it
  std::vector<const pipeline::NodeType*> nodes_;
  std::vector<std::unique_ptr<Stream>> free_;
  int made_ = 0;           // streams that exist
  int openings_left_ = 0;  // in this round: making a stream delays the others

  std::unique_ptr<Receiver> receiver_;   // null: the kernel has none
  std::vector<Connection*> unbuffered_;  // clients that it had no buffer for
  std::vector<std::unique_ptr<Connection>> clients_;
  int others_ = 0;           // connections that are not streams
  int streams_ = 0;          // clients that are streams
  std::uint64_t begun_ = 0;  // streams in all
  SpareMemory spare_;
  Capacity capacity_;
  std::chrono::nanoseconds opening_{0};  // spent in this round on making streams
  // Counted since count(): threads that add to shared counters for every packet would wait for each other.
  std::uint64_t new_bytes_ = 0, new_events_ = 0, new_microseconds_ = 0;
  std::vector<Connection*> queue_;  // clients with data to process
  std::vector<Connection*> stepping_;
  std::vector<Together::Turn> turns_;
  Together together_;
  bool any_closed_ = false;

  Time now_, woken_, next_step_, next_sweep_, deadline_;
  std::uint64_t sound_ = 0;  // microseconds processed in all
  pipeline::StepTimes step_times_, lateness_;
  int cut_off_ = 0;
};

}  // namespace runnel::serve
