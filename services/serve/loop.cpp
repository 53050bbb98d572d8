#include "services/serve/loop.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <thread>
#include <utility>

#include "pipeline/host/json.h"

namespace runnel::serve {
namespace {

using pipeline::json_number;
using pipeline::json_string;
using State = Connection::State;
using std::chrono::milliseconds;

constexpr int kMaxEvents = 512;
constexpr int kMaxAccepted = 64;  // in one round
constexpr int kMaxOpenings = 8;   // streams made in one round
constexpr milliseconds kSweep{250};
// The time before a connection may be closed to make room: a well-behaved client has sent its greeting by
// then, or taken its answers.
constexpr milliseconds kPatience{250};
// Socket buffers: large enough to receive a packet while the previous one is processed, and no larger,
// because there are many.
constexpr int kReceiveBuffer = 1 << 16, kSendBuffer = 1 << 16;
// Buffers that a client may have of the receiver's store before it is read on its own, as its stream takes
// what it sends.
constexpr std::size_t kMostHeld = 4;
constexpr std::size_t kArrivals = 512;  // in one round

Time clock_now() noexcept { return std::chrono::steady_clock::now(); }
std::int64_t nanoseconds(Time::duration time) noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

void set_option(int fd, int level, int name, int value) noexcept {
  setsockopt(fd, level, name, &value, sizeof value);
}

// Appends without temporary strings: allocates nothing while there is capacity.
void tell_progress(std::int64_t samples, std::string& out) {
  char digits[20];
  const auto count =
      static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, samples).ptr - digits);
  out.append("{\"type\":\"progress\",\"samples\":").append(digits, count).append("}\n");
}

std::string error_line(Reason reason, std::string_view message) {
  return "{\"type\":\"error\",\"reason\":\"" + std::string(name_of(reason)) +
         "\",\"message\":" + json_string(message) + "}\n";
}

// The number of models in a graph: the sessions of one stream.
std::size_t models_in(std::string_view around) {
  const auto text = pipeline::parse_graph(around);
  if (!text.ok()) return 1;
  const auto count =
      std::count_if(text->nodes.begin(), text->nodes.end(),
                    [](const pipeline::NodeText& node) { return node.type == pipeline::Infer::type.name; });
  return std::max<std::size_t>(static_cast<std::size_t>(count), 1);
}

}  // namespace

Loop::Loop(const ServerOptions& options, Metrics& metrics, Metrics::Times& times, int wake)
    : options_(options),
      metrics_(metrics),
      times_(times),
      wake_(wake),
      shared_(static_cast<std::size_t>(options.max_streams) * models_in(options.around)),
      nodes_(served_nodes(options.graph.nodes)),
      capacity_(options.most_load),
      now_(clock_now()),
      next_step_(now_),
      next_sweep_(now_),
      deadline_(now_) {}

Result<std::unique_ptr<Loop>> Loop::make(const ServerOptions& options, Metrics& metrics,
                                         Metrics::Times& times, int wake) {
  std::unique_ptr<Loop> loop(new Loop(options, metrics, times, wake));
  loop->epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (loop->epoll_ < 0)
    return Status(Code::io_error) << "no means to wait for clients: " << std::strerror(errno);
  RUNNEL_TRY(loop->inbox_.open(options.admission));
  RUNNEL_TRY(loop->watch(wake, kWake, EPOLLIN));
  return loop;
}

Loop::~Loop() {
  for (const auto& client : clients_) {
    if (client->fd >= 0) ::close(client->fd);
  }
  for (const int fd : {epoll_, listener_}) {
    if (fd >= 0) ::close(fd);
  }
}

Status Loop::watch(int fd, std::uint64_t tag, std::uint32_t events) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return Status(Code::io_error) << "cannot wait for a socket: " << std::strerror(errno);
}

Status Loop::prepare(const SampleFormat& format) {
  const int count = std::min<int>(options_.max_streams, pipeline::SharedSessions::kSeats);
  std::vector<std::unique_ptr<Stream>> streams(static_cast<std::size_t>(count));
  for (auto& stream : streams) {
    RUNNEL_ASSIGN(stream, stream_for(format));
  }
  RUNNEL_TRY(measure(streams));
  for (auto& stream : streams) free_.push_back(std::move(stream));
  return {};
}

// The first estimate of what a stream costs: of the steps of a few together, and of its packets.
Status Loop::measure(std::span<const std::unique_ptr<Stream>> streams) {
  constexpr int kTicks = 20;  // the first one is not counted: caches are cold
  constexpr milliseconds kLongest{200};
  // Receiving ten packets, in seconds; an order of magnitude, until it has been measured as well.
  constexpr double kPackets = 100e-6;
  const Stream& one = *streams.front();
  const std::vector<std::byte> silence(static_cast<std::size_t>(one.tick()) * one.format().frame_bytes());
  for (const auto& stream : streams) stream->begin("", nullptr);
  // The fastest tick: others may have been interrupted.
  Time::duration least = Time::duration::max();
  const Time start = clock_now();
  for (int tick = 0; tick < kTicks && (tick < 2 || clock_now() - start < kLongest); ++tick) {
    turns_.clear();
    for (const auto& stream : streams) {
      stream->give(silence);
      turns_.emplace_back(stream.get());
    }
    const Time before = clock_now();
    together_.step(turns_);
    if (tick > 0) least = std::min(least, clock_now() - before);
    for (const Together::Turn& turn : turns_) RUNNEL_TRY(turn.status);
  }
  const double sound = static_cast<double>(one.tick()) / static_cast<double>(one.format().rate) *
                       static_cast<double>(streams.size());
  capacity_.expect(std::chrono::duration<double>(least).count() / sound + kPackets);
  return {};
}

Result<std::unique_ptr<Stream>> Loop::stream_for(const SampleFormat& format) {
  const auto kept = std::find_if(free_.begin(), free_.end(),
                                 [&](const auto& stream) { return stream->format() == format; });
  if (kept != free_.end()) {
    std::unique_ptr<Stream> stream = std::move(*kept);
    *kept = std::move(free_.back());
    free_.pop_back();
    return stream;
  }
  // The limit is reached, and all kept streams have other formats: delete one.
  if (made_ >= options_.max_streams && !free_.empty()) {
    free_.pop_back();
    --made_;
  }
  pipeline::GraphOptions graph = options_.graph;
  graph.nodes = nodes_;
  graph.shared = &shared_;
  RUNNEL_ASSIGN(std::unique_ptr<Stream> stream, Stream::make(options_.around, format, graph));
  ++made_;
  return stream;
}

void Loop::run(int listener, std::span<const std::unique_ptr<Loop>> loops) {
  listener_ = listener;
  loops_ = loops;
  start_receiver();
  listen_again();
  while (!stopped_ || !clients_.empty()) {
    wait();
    const std::uint64_t counted = sound_;
    if (!queue_.empty()) step();
    if (!unbuffered_.empty()) watch_again();
    if (now_ >= next_sweep_) sweep();
    if (any_closed_) bury();
    count();
    capacity_.took(clock_now() - woken_ - std::exchange(opening_, {}),
                   static_cast<std::int64_t>(sound_ - counted));
  }
  publish();
  receiver_.reset();
}

// In the thread that uses it.
void Loop::start_receiver() {
  if (!options_.receive_together) return;
  // An eighth of the clients at a time, a quarter of a megabyte for five hundred: more than send within the
  // time between two steps.
  receiver_ =
      Receiver::make(std::clamp<std::size_t>(static_cast<std::size_t>(options_.max_streams) / 8, 32, 2048));
  if (receiver_ != nullptr && !watch(receiver_->descriptor(), kReceiver, EPOLLIN | EPOLLET).ok())
    receiver_.reset();
}

void Loop::wait() {
  const bool work =
      std::any_of(queue_.begin(), queue_.end(), [&](const Connection* client) { return !blocked(*client); });
  // Clients whose data arrived meanwhile join the next step.
  if (!work && now_ < next_step_) std::this_thread::sleep_until(next_step_);
  int timeout = work ? 0 : -1;
  if (timeout < 0 && (!clients_.empty() || !listening_)) {
    timeout = static_cast<int>(
        std::clamp<std::int64_t>(nanoseconds(next_sweep_ - clock_now()) / 1'000'000 + 1, 0, kSweep.count()));
  }
  if (receiver_ != nullptr) receiver_->submit();
  epoll_event events[kMaxEvents];
  const int count = epoll_wait(epoll_, events, kMaxEvents, timeout);
  now_ = woken_ = clock_now();
  openings_left_ = kMaxOpenings;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[i];
    switch (event.data.u64) {
      case kListener:
        accept_some();
        break;
      case kWake:
        begin_drain();
        break;
      case kInbox:
        read_inbox();
        break;
      case kReceiver:
        receive();
        break;
      default:
        on_event(*static_cast<Connection*>(event.data.ptr), event.events);
    }
  }
}

void Loop::accept_some() {
  if (stopped_) return;
  for (int i = 0; i < kMaxAccepted; ++i) {
    // Clients not accepted yet wait in the listen queue, in order.
    if (!has_room()) return wait_for_room();
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    const int fd =
        accept4(listener_, reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      metrics_.accepted.fetch_add(1, std::memory_order_relaxed);
      net::Newcomer newcomer{fd, {}, false};
      if (enters(fd, from, newcomer.place)) hand_over(std::move(newcomer));
      continue;
    }
    if (errno == ECONNABORTED || errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
      // Out of sockets or memory: free what is not needed; other clients wait.
      make_room();
      stop_listening();
    }
    return;
  }
}

// Whether its address may have one more connection; otherwise it is told, and closed.
bool Loop::enters(int fd, const sockaddr_storage& from, net::Place& place) {
  if (options_.admission == nullptr) return true;
  const net::ClientKey key = net::key_of(from, options_.admission->limits().own_machine);
  const net::Admission::Answer answer = options_.admission->enter(key, now_);
  if (answer == net::Admission::Answer::yes) {
    place = net::Place(options_.admission, key);
    return true;
  }
  metrics_.end(Reason::rate);
  const std::string text = error_line(Reason::rate, net::sentence_of(answer));
  [[maybe_unused]] const ssize_t sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::close(fd);
  return false;
}

void Loop::hand_over(net::Newcomer newcomer) {
  // Not in turn: clients stay for different times.
  Loop& loop = **std::min_element(loops_.begin(), loops_.end(),
                                  [](const auto& a, const auto& b) { return a->clients() < b->clients(); });
  if (&loop != this) return loop.give(std::move(newcomer));
  load_.fetch_add(1, std::memory_order_relaxed);
  adopt(std::move(newcomer));
}

void Loop::give(net::Newcomer newcomer) noexcept {
  load_.fetch_add(1, std::memory_order_relaxed);
  if (!inbox_.put(std::move(newcomer))) load_.fetch_sub(1, std::memory_order_relaxed);
}

void Loop::read_inbox() {
  while (true) {
    if (!stopped_ && !has_room()) return wait_for_room();
    auto newcomer = inbox_.take();
    if (!newcomer) return;
    adopt(std::move(*newcomer));
  }
}

void Loop::adopt(net::Newcomer newcomer) {
  const int fd = newcomer.socket;
  if (stopped_) {
    ::close(fd);
    load_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, SOL_SOCKET, SO_RCVBUF, kReceiveBuffer);
  set_option(fd, SOL_SOCKET, SO_SNDBUF, kSendBuffer);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(options_.idle.count()));
  auto client = std::make_unique<Connection>(std::move(newcomer), options_.longest_message, now_);
  epoll_event event{};
  event.events = client->interest = EPOLLIN;
  event.data.ptr = client.get();
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
    ::close(fd);
    load_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  metrics_.connections.fetch_add(1, std::memory_order_relaxed);
  ++others_;
  clients_.push_back(std::move(client));
  // Lists of clients do not grow while streams run.
  for (auto* const list : {&unbuffered_, &queue_, &stepping_}) list->reserve(clients_.capacity());
  turns_.reserve(clients_.capacity());
}

// Stops accepting until the next round, in which more streams may be made, or until a connection closes or
// times out: otherwise the poll would return at once and the loop would spin.
void Loop::wait_for_room() noexcept {
  if (openings_left_ > 0) stop_listening();
}

// New clients wait: in the listen queue, or in the inbox when another loop accepts them.
void Loop::stop_listening() noexcept {
  if (!listening_) return;
  if (listener_ >= 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, listener_, nullptr);
  epoll_ctl(epoll_, EPOLL_CTL_DEL, inbox_.descriptor(), nullptr);
  listening_ = false;
}

void Loop::listen_again() noexcept {
  if (listening_ || stopped_) return;
  // Those of the inbox wait in it until there is room.
  if (!watch(inbox_.descriptor(), kInbox, EPOLLIN).ok()) return;
  listening_ = true;
  if (listener_ >= 0 && !watch(listener_, kListener, EPOLLIN).ok()) stop_listening();
}

// Admits as many clients as may become streams in one round, even if the limit of others is smaller.
bool Loop::has_room() { return others_ < most_others() || make_room(); }

// Closes the oldest connection that is not a stream, if its grace time is over.
bool Loop::make_room() {
  Connection* oldest = nullptr;
  for (const auto& client : clients_) {
    if (client->state == State::streaming || client->state == State::closed) continue;
    if (oldest == nullptr || client->since < oldest->since) oldest = client.get();
  }
  if (oldest == nullptr || now_ - oldest->since < kPatience) return false;
  // Under load, its message may have arrived but not been read yet.
  if (oldest->state == State::greeting) {
    if (openings_left_ <= 0) return false;
    on_readable(*oldest);
    if (oldest->state != State::greeting) return others_ < most_others();
  }
  count_end(*oldest, oldest->state == State::greeting ? Reason::greeting : Reason::slow_reader);
  close(*oldest);
  return true;
}

void Loop::on_event(Connection& client, std::uint32_t events) {
  if (client.state == State::closed) return;
  if ((events & EPOLLERR) != 0) {
    count_end(client, Reason::gone);
    close(client);
    return;
  }
  if ((events & EPOLLOUT) != 0) write(client);
  if ((events & (EPOLLIN | EPOLLHUP)) != 0 && client.state != State::closed) on_readable(client);
}

void Loop::receive() {
  Receiver::Arrival room[kArrivals];
  std::span<const Receiver::Arrival> arrivals;
  do {
    arrivals = receiver_->take(room);
    for (const Receiver::Arrival& arrival : arrivals)
      arrive(*reinterpret_cast<Connection*>(arrival.id), arrival);
  } while (!arrivals.empty());
}

void Loop::arrive(Connection& client, const Receiver::Arrival& arrival) {
  using What = Receiver::Arrival::What;
  const bool reads = client.state == State::streaming && !client.over;
  if (arrival.last) client.watched = client.pausing = false;
  if (arrival.what == What::bytes && !reads) {
    receiver_->give_back(arrival.buffer);
  } else if (arrival.what == What::bytes) {
    new_bytes_ += arrival.bytes;
    client.heard = client.arrived = now_;
    if (client.held.empty() || !receiver_->join(client.held.back(), arrival)) client.held.push_back(arrival);
    if (client.held.size() > kMostHeld && client.watched && !client.pausing) {
      receiver_->pause(arrival.id);
      client.pausing = true;
    }
    if (!client.queued) take_input(client);
  } else if (client.state != State::closed && arrival.what == What::failed) {
    if (client.state == State::streaming) count_end(client, Reason::gone);
    close(client);
  } else if (client.state != State::closed && arrival.what == What::end) {
    client.closed_by_peer = true;
    if (client.state == State::lingering)
      close(client);
    else if (reads && !client.queued)
      take_input(client);
  }
  if (!arrival.last) return;
  if (arrival.what == What::full && client.state == State::streaming && !client.waits_for_buffer) {
    client.waits_for_buffer = true;
    unbuffered_.push_back(&client);
  } else {
    set_interest(client);
  }
}

// After a step, which has used and given back buffers. As many clients as there are buffers, the first ones
// first: each of the others would only hear again that there is none.
void Loop::watch_again() {
  const std::size_t free = receiver_->free_buffers();
  // If there are few, clients that do not read their answers hold them: the others are read on their own.
  const bool enough = free >= kMostHeld;
  const std::size_t count = enough ? std::min(free, unbuffered_.size()) : unbuffered_.size();
  for (std::size_t i = 0; i < count; ++i) {
    Connection& client = *unbuffered_[i];
    client.waits_for_buffer = false;
    const bool reads = client.state == State::streaming && !client.over && !client.closed_by_peer;
    if (enough && reads && !blocked(client))
      request(client);
    else
      set_interest(client);
  }
  unbuffered_.erase(unbuffered_.begin(), unbuffered_.begin() + static_cast<std::ptrdiff_t>(count));
  receiver_->submit();
}

// Hands the socket of a stream to the receiver.
void Loop::watch(Connection& client) {
  if (receiver_ == nullptr || client.watched || client.waits_for_buffer) return;
  request(client);
  receiver_->submit();
}

// Submit it before a socket is closed: it would be for another client's that is opened later.
void Loop::request(Connection& client) {
  client.held.reserve(kMostHeld + 1);
  client.watched = receiver_->watch(client.fd, reinterpret_cast<std::uintptr_t>(&client));
  set_interest(client);
}

// Moves the oldest bytes that are held into the client's messages.
void Loop::use_held(Connection& client) {
  const Receiver::Arrival first = client.held.front();
  client.held.erase(client.held.begin());
  spare_.lend(client.frames);
  for (std::span<const std::byte> bytes = receiver_->bytes(first); !bytes.empty();) {
    const std::span<std::byte> room = client.frames.room();
    const std::size_t count = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), count);
    client.frames.add(count);
    bytes = bytes.subspan(count);
  }
  receiver_->give_back(first.buffer);
}

// When the oldest bytes that are held are one whole message, and none came before: it is used where it lies.
bool Loop::use_whole(Connection& client, std::span<const std::byte>& message) {
  if (client.held.empty() || !client.frames.empty()) return false;
  const std::span<const std::byte> bytes = receiver_->bytes(client.held.front());
  if (bytes.size() <= pipeline::kFrameHeaderBytes) return false;
  const auto length = static_cast<std::uint32_t>(bytes.size() - pipeline::kFrameHeaderBytes);
  const auto header = pipeline::frame_header(length);
  if (length > options_.longest_message || !std::equal(header.begin(), header.end(), bytes.begin()))
    return false;
  message = bytes.subspan(pipeline::kFrameHeaderBytes);
  client.in_use = client.held.front().buffer;
  client.held.erase(client.held.begin());
  return true;
}

void Loop::give_back_used(Connection& client) noexcept {
  if (client.in_use) receiver_->give_back(*client.in_use);
  client.in_use.reset();
}

void Loop::drop_held(Connection& client) noexcept {
  give_back_used(client);
  for (const Receiver::Arrival& arrival : client.held) receiver_->give_back(arrival.buffer);
  client.held.clear();
}

void Loop::on_readable(Connection& client) {
  if (client.watched) return;
  const bool dropping = client.state == State::sending || client.state == State::lingering;
  // Process earlier data first; the rest stays in the socket buffer, which slows the client down.
  if (!dropping && (client.queued || client.over)) return;
  if (client.state == State::greeting && openings_left_ <= 0) return;
  std::byte dropped[4096];
  if (!dropping) spare_.lend(client.frames);
  const std::span<std::byte> room = dropping ? std::span<std::byte>(dropped) : client.frames.room();
  const ssize_t count = recv(client.fd, room.data(), room.size(), MSG_DONTWAIT);
  if (count < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return;
    if (!dropping) count_end(client, Reason::gone);
    close(client);
    return;
  }
  if (count == 0) {
    client.closed_by_peer = true;
    if (client.state == State::lingering) {
      close(client);
      return;
    }
    set_interest(client);
    if (client.state == State::greeting) {
      count_end(client, Reason::gone);
      close(client);
    } else if (client.state == State::streaming) {
      take_input(client);
    }
    return;
  }
  if (dropping) return;
  new_bytes_ += static_cast<std::uint64_t>(count);
  client.frames.add(static_cast<std::size_t>(count));
  client.heard = client.arrived = now_;
  if (client.state == State::greeting) {
    std::span<const std::byte> message;
    const Result<bool> whole = client.frames.next(message);
    if (!whole.ok()) {
      refuse(client, Reason::greeting, whole.status().text());
      return;
    }
    if (!*whole) {
      client.greeted += static_cast<std::size_t>(count);
      if (client.greeted >= Greeting::kLongest + pipeline::kFrameHeaderBytes)
        refuse(client, Reason::greeting, "the first message is too long, expected at most 4096 bytes");
      return;
    }
    greet(client, message);
  }
  if (client.state == State::streaming) take_input(client);
  if (!client.queued) spare_.take_back(client.frames);
}

void Loop::greet(Connection& client, std::span<const std::byte> message) {
  const Result<Greeting> greeting = parse_greeting(message);
  if (!greeting.ok()) {
    refuse(client, Reason::greeting, greeting.status().text());
    return;
  }
  if (const net::Scopes scopes = client.trusted ? net::Scopes::all() : options_.tokens.of(greeting->token);
      !scopes.has(net::Scope::stream)) {
    refuse(client, Reason::token,
           scopes.none() ? "the token is not the right one" : "the token lacks the scope stream");
    return;
  }
  const std::int64_t streams = metrics_.streams.fetch_add(1) + 1;
  if (streams > options_.max_streams) {
    metrics_.streams.fetch_sub(1);
    refuse(client, Reason::busy,
           "there are " + std::to_string(options_.max_streams) + " streams already; come back later");
    return;
  }
  if (!capacity_.fits(streams_ + 1)) {
    metrics_.streams.fetch_sub(1);
    refuse(client, Reason::overload,
           "the server is at its capacity: " + std::to_string(streams_) + " streams take " +
               json_number(100 * capacity_.cost() * streams_, 0) +
               " % of this thread's time, one more does not fit; come back later");
    return;
  }
  const Time opening = clock_now();
  const int made_before = made_;
  const SampleFormat format{greeting->format, greeting->rate, greeting->channels};
  Result<std::unique_ptr<Stream>> stream = stream_for(format);
  if (made_ != made_before) --openings_left_;
  opening_ += clock_now() - opening;
  if (!stream.ok()) {
    metrics_.streams.fetch_sub(1);
    refuse(client, Reason::greeting, stream.status().text());
    return;
  }
  std::int64_t most = metrics_.most_streams.load();
  while (most < streams && !metrics_.most_streams.compare_exchange_weak(most, streams)) {
  }
  metrics_.begun.fetch_add(1, std::memory_order_relaxed);
  client.stream = std::move(*stream);
  client.source = greeting->source;
  client.progress = greeting->progress;
  client.state = State::streaming;
  client.since = now_;
  client.number = ++begun_;
  --others_;
  ++streams_;
  spare_.lend(client.out);
  client.stream->begin(client.source, &client.out);
  std::string ready = "{\"type\":\"ready\",\"source\":" + json_string(client.source) +
                      ",\"longest_message\":" + std::to_string(options_.longest_message) +
                      ",\"conversions\":[";
  const char* comma = "";
  for (const pipeline::Insertion& one : client.stream->inserted()) {
    ready += comma + json_string(one.note);
    comma = ",";
  }
  client.out += ready + "]}\n";
  write(client);
  if (client.state == State::streaming) watch(client);
}

// Gives the stream the next message once it has consumed the last one.
void Loop::take_input(Connection& client) {
  while (client.stream->waiting() == 0 && !client.over) {
    give_back_used(client);
    std::span<const std::byte> message;
    const Result<bool> whole = use_whole(client, message) ? true : client.frames.next(message);
    if (!whole.ok()) {
      refuse(client, Reason::data, whole.status().text());
      return;
    }
    if (!*whole) {
      if (!client.held.empty()) {
        use_held(client);
        continue;
      }
      if (client.closed_by_peer && client.frames.cut() && !client.drained) {
        refuse(client, Reason::data, "the stream ended within a message");
        return;
      }
      client.over = client.closed_by_peer || client.drained;
      if (!client.over) return;
    } else if (message.empty()) {
      client.over = true;
    } else if (message.size() % client.stream->format().frame_bytes() != 0) {
      refuse(client, Reason::data,
             "a message of " + std::to_string(message.size()) + " bytes, expected a multiple of " +
                 std::to_string(client.stream->format().frame_bytes()) +
                 ", the bytes of a sample of all channels");
      return;
    } else {
      client.stream->give(message);
    }
  }
  queue(client);
}

void Loop::queue(Connection& client) {
  if (client.queued) return;
  client.queued = true;
  queue_.push_back(&client);
}

void Loop::step() {
  stepping_.clear();
  turns_.clear();
  std::size_t kept = 0;
  for (Connection* const client : queue_) {
    if (client->state != State::streaming) {
      client->queued = false;
    } else if (blocked(*client)) {
      queue_[kept++] = client;
    } else {
      if (client->unsent() == 0 && client->progress) spare_.lend(client->out);
      stepping_.push_back(client);
      turns_.emplace_back(client->stream.get());
      client->queued = false;
    }
  }
  queue_.resize(kept);
  if (turns_.empty()) return;
  next_step_ = now_ + options_.gather;
  together_.step(turns_);
  const Time done = clock_now();
  step_times_.add(nanoseconds(done - now_));
  metrics_.steps.fetch_add(1, std::memory_order_relaxed);
  for (Connection* const client : stepping_) account(*client);
  count();  // before the clients learn of it
  for (std::size_t i = 0; i < stepping_.size(); ++i) {
    Connection& client = *stepping_[i];
    if (!turns_[i].status.ok()) {
      refuse(client, Reason::failed, turns_[i].status.text());
      continue;
    }
    if (client.stream->waiting() == 0) lateness_.add(nanoseconds(done - client.arrived));
    if (client.progress) tell_progress(client.stream->samples(), client.out);
    if (client.stream->waiting() > 0)
      queue(client);
    else if (client.over)
      finish(client);
    else
      take_input(client);
    if (client.unsent() > 0 && client.state != State::closed)
      write(client);
    else if (client.unsent() == 0)
      spare_.take_back(client.out);
    if (!client.queued) spare_.take_back(client.frames);
  }
  now_ = done;
}

// Adds what has been counted to the metrics.
void Loop::count() noexcept {
  const auto add = [](std::uint64_t& counted, Metrics::Number<std::uint64_t>& to) {
    if (counted > 0) to.fetch_add(std::exchange(counted, 0), std::memory_order_relaxed);
  };
  add(new_bytes_, metrics_.bytes);
  add(new_events_, metrics_.events);
  add(new_microseconds_, metrics_.microseconds);
}

// Updates the metrics.
void Loop::account(Connection& client) {
  const std::int64_t samples = client.stream->samples(), events = client.stream->events();
  const auto rate = static_cast<std::uint64_t>(client.stream->format().rate);
  const auto microseconds = [&](std::int64_t count) {
    return static_cast<std::uint64_t>(count) * 1'000'000 / rate;
  };
  const std::uint64_t sound = microseconds(samples) - microseconds(client.samples);
  new_microseconds_ += sound;
  sound_ += sound;
  new_events_ += static_cast<std::uint64_t>(events - client.events);
  client.samples = samples;
  client.events = events;
}

void Loop::finish(Connection& client) {
  if (const Status status = client.stream->end(); !status.ok()) {
    refuse(client, Reason::failed, status.text());
    return;
  }
  account(client);
  count();
  client.out += "{\"type\":\"summary\",\"source\":" + json_string(client.source) +
                ",\"audio_seconds\":" + json_number(client.stream->seconds(), 3) +
                ",\"events\":" + std::to_string(client.stream->events()) +
                ",\"drained\":" + (client.drained ? "true" : "false") + "}\n";
  metrics_.completed.fetch_add(1, std::memory_order_relaxed);
  answer_done(client);
}

// Count one end per connection: a refused client may also disconnect later.
void Loop::count_end(Connection& client, Reason reason) noexcept {
  if (!std::exchange(client.end_counted, true)) metrics_.end(reason);
}

void Loop::refuse(Connection& client, Reason reason, std::string_view message) {
  if (reason == Reason::token || reason == Reason::greeting) client.place.blame();
  count_end(client, reason);
  client.out += error_line(reason, message);
  answer_done(client);
}

// The last answer is in `out`.
void Loop::answer_done(Connection& client) {
  release(client);
  client.state = State::sending;
  client.since = client.taken = now_;
  write(client);
}

// Returns the stream for reuse by another client.
void Loop::release(Connection& client) {
  drop_held(client);
  if (client.stream == nullptr) return;
  free_.push_back(std::move(client.stream));
  metrics_.streams.fetch_sub(1);
  ++others_;
  --streams_;
}

void Loop::write(Connection& client) {
  while (client.unsent() > 0) {
    const ssize_t count =
        send(client.fd, client.out.data() + client.sent, client.unsent(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) break;
      count_end(client, Reason::gone);
      close(client);
      return;
    }
    client.sent += static_cast<std::size_t>(count);
    client.taken = now_;
  }
  if (client.unsent() == 0) {
    client.out.clear();
    client.sent = 0;
    spare_.take_back(client.out);
    if (client.state == State::sending) {
      // If data of the client is still in flight, closing now would make the system discard answers that the
      // client has not read.
      shutdown(client.fd, SHUT_WR);
      client.state = State::lingering;
      client.since = now_;
      if (client.closed_by_peer) {
        close(client);
        return;
      }
    }
  }
  set_interest(client);
}

void Loop::set_interest(Connection& client) noexcept {
  const bool reads = !client.watched && !client.waits_for_buffer && !client.closed_by_peer &&
                     !(client.state == State::streaming && (client.over || blocked(client)));
  const std::uint32_t interest = (reads ? static_cast<std::uint32_t>(EPOLLIN) : 0U) |
                                 (client.unsent() > 0 ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
  if (interest == client.interest || client.state == State::closed) return;
  epoll_event event{};
  event.events = client.interest = interest;
  event.data.ptr = &client;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, client.fd, &event);
}

// Events of this round, and the receiver, may still refer to the client: it is deleted when they do not.
void Loop::close(Connection& client) noexcept {
  if (client.state == State::closed) return;
  release(client);
  --others_;
  if (client.watched) {
    // The receiver keeps the socket open until it has heard of its end.
    shutdown(client.fd, SHUT_RDWR);
    if (!client.pausing) receiver_->pause(reinterpret_cast<std::uintptr_t>(&client));
    client.pausing = true;
  }
  ::close(client.fd);
  client.fd = -1;
  client.place = {};
  client.state = State::closed;
  any_closed_ = true;
  load_.fetch_sub(1, std::memory_order_relaxed);
  metrics_.connections.fetch_sub(1, std::memory_order_relaxed);
}

void Loop::bury() {
  for (auto* const list : {&queue_, &unbuffered_})
    std::erase_if(*list, [](const Connection* client) { return client->state == State::closed; });
  std::erase_if(clients_,
                [](const auto& client) { return client->state == State::closed && !client->watched; });
  any_closed_ = std::any_of(clients_.begin(), clients_.end(),
                            [](const auto& client) { return client->state == State::closed; });
  if (others_ < most_others()) listen_again();
}

void Loop::sweep() {
  next_sweep_ = now_ + kSweep;
  capacity_.update();
  if (receiver_ != nullptr) receive();  // costs nothing here, and no edge can be missed for long
  listen_again();
  publish();
  if (metrics_.sessions.wanted()) publish_sessions();
  for (const auto& client : clients_) {
    if (client->state != State::closed) sweep(*client);
  }
  if (!stopped_ || now_ < deadline_) return;
  for (const auto& client : clients_) {
    if (client->state == State::closed) continue;
    if (client->state != State::lingering) {
      count_end(*client, Reason::shutdown);
      ++cut_off_;
    }
    close(*client);
  }
}

void Loop::sweep(Connection& client) {
  const auto seconds = [](milliseconds time) {
    return json_number(static_cast<double>(time.count()) / 1000, 1);
  };
  if (client.unsent() > 0 && now_ - client.taken > options_.idle) {
    count_end(client, Reason::slow_reader);
    close(client);
  } else if (client.state == State::greeting && now_ - client.since > options_.greeting) {
    refuse(client, Reason::greeting, "no first message within " + seconds(options_.greeting) + " s");
  } else if (client.state == State::streaming && !client.queued && now_ - client.heard > options_.idle) {
    refuse(client, Reason::idle, "nothing was heard for " + seconds(options_.idle) + " s");
  } else if (client.state == State::lingering && now_ - client.since > options_.linger) {
    close(client);
  } else if (client.state == State::streaming && !client.queued && !client.over && !client.closed_by_peer &&
             !blocked(client)) {
    watch(client);  // it has calmed down
  }
}

void Loop::begin_drain() {
  if (stopped_) return;
  stopped_ = true;
  epoll_ctl(epoll_, EPOLL_CTL_DEL, wake_, nullptr);
  if (listener_ >= 0) {
    ::close(listener_);
    listener_ = -1;
  }
  deadline_ = now_ + options_.drain;
  for (const auto& client : clients_) {
    if (client->state == State::greeting) {
      refuse(*client, Reason::shutdown, "the server stops");
    } else if (client->state == State::streaming) {
      client->drained = true;
      take_input(*client);
      if (client->state == State::streaming) set_interest(*client);
    }
  }
  next_sweep_ = now_;
}

// The only thing that allocates memory while streams run, and only while somebody looks.
void Loop::publish_sessions() {
  const auto seconds = [&](Time since) { return std::chrono::duration<double>(now_ - since).count(); };
  std::vector<SessionRow> rows;
  for (const auto& client : clients_) {
    if (client->state != State::streaming) continue;
    const SampleFormat& format = client->stream->format();
    rows.push_back({.number = client->number,
                    .source = client->source,
                    .rate = format.rate,
                    .channels = static_cast<int>(format.channels),
                    .connected = seconds(client->since),
                    .heard = client->stream->seconds(),
                    .silent = seconds(client->heard),
                    .events = client->stream->events(),
                    .unsent = client->unsent()});
  }
  metrics_.sessions.write(static_cast<std::size_t>(&times_ - metrics_.times.data()), std::move(rows));
}

void Loop::publish() noexcept {
  const auto tell = [](const pipeline::StepTimes& from, Metrics::Quantiles& to) {
    to.p50 = from.quantile(0.5) * 1e-6;
    to.p99 = from.quantile(0.99) * 1e-6;
    to.largest = from.largest() * 1e-6;
  };
  tell(step_times_, times_.step);
  tell(lateness_, times_.lateness);
}

}  // namespace runnel::serve
