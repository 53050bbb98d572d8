#include "services/wyoming/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "pipeline/host/json.h"
#include "services/net/access/inbox.h"
#include "services/net/tls/tls_entrance.h"
#include "services/wyoming/catalogue.h"
#include "services/wyoming/conversation.h"
#include "services/wyoming/message.h"

namespace runnel::wyoming {
namespace {

using Time = std::chrono::steady_clock::time_point;

constexpr int kSweepMilliseconds = 250;

Time clock_now() noexcept { return std::chrono::steady_clock::now(); }

struct Client {
  Client(net::Newcomer newcomer, const MessageLimits& limits, Catalogue& catalogue, Counts& counts, Time now)
      : fd(newcomer.socket),
        place(std::move(newcomer.place)),
        reader(limits),
        conversation(catalogue, counts),
        heard(now),
        taken(now) {}

  int fd;
  net::Place place;
  MessageReader reader;
  Conversation conversation;
  Message message;  // whose samples are being taken
  std::string out;  // answers; the first `sent` bytes are sent
  std::size_t sent = 0;
  Time heard, taken;     // last time a byte arrived; last time a byte of the answers was taken
  bool over = false;     // nothing more is read: a message was broken, or the client has said all
  bool closing = false;  // our side is shut down
  bool gone = false;     // to be deleted

  [[nodiscard]] std::size_t unsent() const noexcept { return out.size() - sent; }
};

class PollingServer final : public Server {
 public:
  PollingServer(ServerOptions options, Catalogue catalogue)
      : options_(std::move(options)), catalogue_(std::move(catalogue)) {}
  ~PollingServer() override {
    entrance_.reset();
    for (const auto& client : clients_) ::close(client->fd);
    for (const int fd : {listener_, wake_}) {
      if (fd >= 0) ::close(fd);
    }
  }

  Status start() {
    wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_ < 0) return Status(Code::io_error) << "no event to stop with: " << std::strerror(errno);
    RUNNEL_TRY(inbox_.open(options_.admission));
    RUNNEL_ASSIGN(const int listener, net::listen_at(options_.address));
    if (options_.tls.empty()) {
      listener_ = listener;
      return {};
    }
    net::TlsEntrance::Options entrance;
    entrance.listener = listener;
    entrance.files = options_.tls;
    entrance.admission = options_.admission;
    entrance.plain_answer = Conversation::error("tls", "this address speaks TLS only");
    entrance.enter = [this](int socket, net::Place place) { inbox_.put({socket, std::move(place), false}); };
    RUNNEL_ASSIGN(entrance_, net::TlsEntrance::start(std::move(entrance)));
    return {};
  }

  [[nodiscard]] const net::Address& address() const noexcept override { return options_.address; }

  Status reload() override { return entrance_ != nullptr ? entrance_->reload() : Status(); }

  void stop() noexcept override {
    if (entrance_ != nullptr) entrance_->close();
    const std::uint64_t one = 1;
    // Fails only when the counter is full, and then the server has been woken already.
    [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
  }

  Status run() override {
    while (!stopped_ || !clients_.empty()) {
      wait();
      step();
      sweep();
    }
    if (entrance_ != nullptr) entrance_->finish(options_.linger);
    if (cut_off_ == 0) return {};
    return Status(Code::io_error) << cut_off_
                                  << " clients of the Wyoming protocol did not take their answers in time";
  }

  [[nodiscard]] std::string summary() const override {
    return "{\"type\":\"wyoming\",\"clients\":" + std::to_string(counts_.clients) +
           ",\"requests\":" + std::to_string(counts_.requests) +
           ",\"events\":" + std::to_string(counts_.events) + ",\"errors\":" + std::to_string(counts_.errors) +
           ",\"audio_seconds\":" +
           pipeline::json_number(static_cast<double>(counts_.microseconds) * 1e-6, 3) + "}";
  }

 private:
  [[nodiscard]] bool blocked(const Client& client) const noexcept {
    return client.unsent() > options_.most_unsent;
  }
  [[nodiscard]] bool works(const Client& client) const noexcept {
    return !client.gone && client.conversation.busy() && !blocked(client);
  }

  void wait() {
    polled_.clear();
    polled_.push_back({wake_, static_cast<short>(stopped_ ? 0 : POLLIN), 0});
    polled_.push_back({listener_, POLLIN, 0});
    polled_.push_back({inbox_.descriptor(), POLLIN, 0});
    bool work = false;
    for (const auto& client : clients_) {
      const bool reads = !client->over && !client->conversation.busy() && !blocked(*client);
      // Once our side is shut down, only the end of the other is waited for.
      const bool listens = reads || client->closing;
      polled_.push_back(
          {client->fd, static_cast<short>((listens ? POLLIN : 0) | (client->unsent() > 0 ? POLLOUT : 0)), 0});
      work = work || works(*client);
    }
    const int timeout = work ? 0 : clients_.empty() ? -1 : kSweepMilliseconds;
    if (poll(polled_.data(), polled_.size(), timeout) < 0) {
      for (pollfd& one : polled_) one.revents = 0;
    }
    now_ = clock_now();
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      const short events = polled_[i + kOwnDescriptors].revents;
      Client& client = *clients_[i];
      if ((events & (POLLERR | POLLNVAL)) != 0) client.gone = true;
      if (!client.gone && (events & POLLOUT) != 0) write(client);
      // Samples that are being taken lie where the next bytes would go.
      const bool waits = !client.over && (client.conversation.busy() || blocked(client));
      if (!client.gone && !waits && (events & (POLLIN | POLLHUP)) != 0) read(client);
    }
    if ((polled_[0].revents & POLLIN) != 0) begin_stop();
    if (!stopped_ && (polled_[1].revents & POLLIN) != 0) accept_some();
    while (auto newcomer = inbox_.take()) receive(std::move(*newcomer));
  }

  void accept_some() {
    for (;;) {
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      const int fd =
          accept4(listener_, reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
      net::Newcomer newcomer{fd, {}, false};
      if (enters(from, newcomer)) receive(std::move(newcomer));
    }
  }

  // Whether its address may have one more connection; otherwise it is told, and closed.
  bool enters(const sockaddr_storage& from, net::Newcomer& newcomer) {
    if (options_.admission == nullptr) return true;
    const net::ClientKey key = net::key_of(from, options_.admission->limits().own_machine);
    const net::Admission::Answer answer = options_.admission->enter(key, now_);
    if (answer == net::Admission::Answer::yes) {
      newcomer.place = net::Place(options_.admission, key);
      return true;
    }
    const std::string text = Conversation::error("busy", net::sentence_of(answer));
    [[maybe_unused]] const ssize_t sent =
        send(newcomer.socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    ::close(newcomer.socket);
    return false;
  }

  void receive(net::Newcomer newcomer) {
    if (stopped_) {
      ::close(newcomer.socket);
      return;
    }
    MessageLimits limits;
    limits.payload = options_.longest_message;
    clients_.push_back(std::make_unique<Client>(std::move(newcomer), limits, catalogue_, counts_, now_));
    ++counts_.clients;
    const auto full = std::count_if(clients_.begin(), clients_.end(),
                                    [](const auto& client) { return !client->over && !client->gone; });
    if (full > options_.max_clients)
      hang_up(*clients_.back(), "busy",
              "there are " + std::to_string(options_.max_clients) + " clients already; come back later");
    // Those that are told so take room for a moment only; beyond that, without a word.
    if (clients_.size() > 2 * static_cast<std::size_t>(options_.max_clients)) clients_.back()->gone = true;
  }

  void read(Client& client) {
    if (client.over) {
      char dropped[4096];
      const ssize_t count = recv(client.fd, dropped, sizeof dropped, MSG_DONTWAIT);
      if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) client.gone = client.unsent() == 0;
      return;
    }
    const std::span<std::byte> room = client.reader.room();
    const ssize_t count = recv(client.fd, room.data(), room.size(), MSG_DONTWAIT);
    if (count < 0) {
      client.gone = errno != EAGAIN && errno != EINTR;
      return;
    }
    if (count == 0) {
      // The client has said all; a sound that was not stopped ends here, and its answers still go out.
      if (client.reader.empty()) {
        client.conversation.end(client.out);
        client.over = true;
        write(client);
      } else {
        hang_up(client, "message", "the connection ended within a message");
      }
      return;
    }
    client.heard = now_;
    client.reader.add(static_cast<std::size_t>(count));
    take_messages(client);
  }

  void take_messages(Client& client) {
    while (!client.over && !client.conversation.busy() && !blocked(client)) {
      const Result<bool> whole = client.reader.next(client.message);
      if (!whole.ok()) {
        client.place.blame();
        hang_up(client, "message", whole.status().text());
        return;
      }
      if (!*whole) break;
      client.conversation.take(client.message, client.out);
    }
    if (client.unsent() > 0) write(client);
  }

  // An error after which the connection is of no use.
  void hang_up(Client& client, std::string_view code, std::string_view text) {
    ++counts_.errors;
    client.out += Conversation::error(code, text);
    client.over = true;
    write(client);
  }

  void write(Client& client) {
    while (client.unsent() > 0) {
      const ssize_t count =
          send(client.fd, client.out.data() + client.sent, client.unsent(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0) {
        if (errno == EINTR) continue;
        client.gone = errno != EAGAIN;
        return;
      }
      client.sent += static_cast<std::size_t>(count);
      client.taken = now_;
    }
    client.out.clear();
    client.sent = 0;
    // Closing while bytes of the client are on their way would make the system discard our answers.
    if (client.over && !std::exchange(client.closing, true)) {
      shutdown(client.fd, SHUT_WR);
      client.taken = now_;
    }
  }

  void step() {
    for (const auto& offer : catalogue_.offers()) {
      turns_.clear();
      for (const auto& client : clients_) {
        if (works(*client)) client->conversation.add_turns(*offer, turns_);
      }
      if (turns_.empty()) continue;
      together_.step(turns_);
      for (const serve::Together::Turn& turn : turns_) {
        if (turn.status.ok()) continue;
        for (const auto& client : clients_) {
          if (client->conversation.owns(turn.stream)) client->conversation.fail(turn.status, client->out);
        }
      }
    }
    for (const auto& client : clients_) {
      if (client->gone) continue;
      client->conversation.collect(client->out);
      if (!client->conversation.busy()) take_messages(*client);
      if (!client->gone && client->unsent() > 0) write(*client);
    }
  }

  void sweep() {
    for (const auto& client : clients_) {
      if (client->gone) continue;
      if (client->closing) {
        client->gone = now_ - client->taken > options_.linger;
      } else if (client->unsent() > 0) {
        if (now_ - client->taken > options_.idle) client->gone = true;
      } else if (!client->over && !client->conversation.busy() && now_ - client->heard > options_.idle) {
        hang_up(*client, "idle",
                "nothing was heard for " +
                    pipeline::json_number(static_cast<double>(options_.idle.count()) / 1000, 1) + " s");
      }
      if (!client->gone && stopped_ && now_ > deadline_) {
        cut_off_ += client->unsent() > 0 ? 1 : 0;
        client->gone = true;
      }
    }
    std::erase_if(clients_, [](const auto& client) {
      if (client->gone) ::close(client->fd);
      return client->gone;
    });
  }

  void begin_stop() {
    stopped_ = true;
    deadline_ = now_ + options_.drain;
    if (listener_ >= 0) ::close(std::exchange(listener_, -1));
    for (const auto& client : clients_) {
      if (client->gone || client->over) continue;
      // What was received is processed, as at the end of the sound.
      while (client->conversation.busy() && !client->gone) {
        for (const auto& offer : catalogue_.offers()) {
          turns_.clear();
          client->conversation.add_turns(*offer, turns_);
          if (turns_.empty()) continue;
          together_.step(turns_);
          const auto failed =
              std::find_if(turns_.begin(), turns_.end(), [](const auto& turn) { return !turn.status.ok(); });
          if (failed != turns_.end()) client->conversation.fail(failed->status, client->out);
        }
        client->conversation.collect(client->out);
      }
      client->conversation.end(client->out);
      client->out += Conversation::error("shutdown", "the server stops");
      client->over = true;
      write(*client);
    }
  }

  ServerOptions options_;
  Catalogue catalogue_;  // precedes the clients, whose streams it has made
  Counts counts_;
  static constexpr std::size_t kOwnDescriptors = 3;  // polled before those of clients
  int listener_ = -1, wake_ = -1;
  net::Inbox inbox_;  // of those who come over TLS
  std::unique_ptr<net::TlsEntrance> entrance_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<pollfd> polled_;
  std::vector<serve::Together::Turn> turns_;
  serve::Together together_;
  Time now_ = clock_now(), deadline_;
  bool stopped_ = false;
  int cut_off_ = 0;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::make(ServerOptions options) {
  if (!options.address.is_loopback() && !options.open && options.tls.client_ca.empty()) {
    return Status(Code::invalid_argument)
           << options.address.text()
           << ": other machines can reach this address, and the Wyoming protocol has no password; expected "
              "127.0.0.1, certificates of clients (--client-ca), or --wyoming-open in a network that you "
              "trust";
  }
  if (options.max_clients < 1 || options.max_clients > 1024)
    return Status(Code::invalid_argument)
           << options.max_clients << " clients of the Wyoming protocol: expected 1 to 1024";
  std::vector<OfferSettings> offers;
  for (const ServerModel& model : options.models) offers.push_back({model.name, model.around});
  RUNNEL_ASSIGN(Catalogue catalogue,
                Catalogue::make(offers, options.graph, static_cast<std::size_t>(options.max_clients),
                                options.language));
  auto server = std::make_unique<PollingServer>(std::move(options), std::move(catalogue));
  RUNNEL_TRY(server->start());
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace runnel::wyoming
