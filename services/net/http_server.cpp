#include "services/net/http_server.h"

#include <httplib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "services/net/access/origin.h"
#include "services/net/limits.h"
#include "services/net/login_page.h"
#include "services/net/tls/channel.h"
#include "services/net/tls/door.h"
#include "services/net/visitor_threads.h"
#include "services/net/web_socket_session.h"

namespace runnel::net {
namespace {

constexpr std::string_view kCookie = "runnel_token=";

// The token of a request: in a header (programs), or in a cookie (browsers).
std::string shown_token(const httplib::Request& request) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string authorization = request.get_header_value("Authorization"),
                    cookies = request.get_header_value("Cookie");
  if (authorization.starts_with(kBearer)) return authorization.substr(kBearer.size());
  const std::size_t at = cookies.find(kCookie);
  if (at == std::string::npos || (at > 0 && cookies[at - 1] != ' ' && cookies[at - 1] != ';')) return {};
  return from_cookie(cookies.substr(at + kCookie.size(), cookies.find(';', at) - at - kCookie.size()));
}

// Whether a list such as "keep-alive, Upgrade" has a word.
bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view part = list.substr(0, comma);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    if (same_without_case(part, word)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

// A connection as the library reads and writes it. Its request has come as a whole, so that nothing waits for
// more of it. Once it is a WebSocket's, what the library writes in answer to the handshake goes nowhere: it
// has no answer of its own without a body and with these headers.
class HttpStream final : public httplib::Stream {
 public:
  static constexpr std::chrono::milliseconds kPatience{2000};

  explicit HttpStream(Door::Visitor& visitor) : visitor_(visitor), channel_(*visitor.channel) {}

  bool is_readable() const override { return at_ < visitor_.request; }
  bool is_writable() const override { return socket_ != nullptr || channel_.wait(true, kPatience); }
  ssize_t read(char* to, std::size_t size) override {
    const std::size_t count = std::min(size, visitor_.request - at_);
    visitor_.begun.copy(to, count, at_);
    at_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* from, std::size_t size) override {
    if (socket_ != nullptr) return static_cast<ssize_t>(size);
    return write_all({from, size}) ? static_cast<ssize_t>(size) : -1;
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override { get_remote_ip_and_port(ip, port); }
  socket_t socket() const override { return channel_.socket(); }

  bool write_all(std::string_view text) {
    while (!text.empty()) {
      const long count = channel_.write(text.data(), text.size());
      if (count == Channel::kOver || (count == Channel::kAgain && !channel_.wait(true, kPatience)))
        return false;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  void blame() const noexcept { visitor_.place.blame(); }
  // The handshake was accepted.
  void become(const SocketRoute& route, std::unique_ptr<SocketPeer> peer, std::string accept) {
    socket_ = &route;
    peer_ = std::move(peer);
    accept_ = std::move(accept);
  }
  [[nodiscard]] bool is_web_socket() const noexcept { return socket_ != nullptr; }
  void run_web_socket(int stop) {
    if (!write_all("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                   "Sec-WebSocket-Accept: " +
                   accept_ + "\r\n\r\n"))
      return;
    net::run_web_socket(channel_, visitor_.begun.substr(visitor_.request), *socket_, *peer_, stop);
  }

 private:
  Door::Visitor& visitor_;
  Channel& channel_;
  std::size_t at_ = 0;  // of what has come
  const SocketRoute* socket_ = nullptr;
  std::unique_ptr<SocketPeer> peer_;
  std::string accept_;
};

class Server final : public HttpServer, private httplib::Server {
 public:
  explicit Server(HttpServer::Options options)
      : options_(std::move(options)), stopping_(eventfd(0, EFD_CLOEXEC)) {
    if (!options_.address.is_loopback()) {
      for (std::string& name : names_of_machine()) options_.names.push_back(std::move(name));
    }
  }
  ~Server() override {
    door_.reset();
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stopping_, &one, sizeof one);
    svr_sock_ = INVALID_SOCKET;  // the library ends answers without an end
    threads_.reset();
    ::close(stopping_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Status prepare_tls();
  void route(std::vector<HttpRoute> routes, std::vector<SocketRoute> sockets);
  Status listen();
  [[nodiscard]] const Address& address() const noexcept override { return options_.address; }
  [[nodiscard]] std::string origin() const override {
    return (tls_ != nullptr ? "https://" : "http://") + options_.address.text();
  }
  Status reload() override { return tls_ != nullptr ? tls_->reload() : Status(); }

 private:
  void add(HttpRoute route);
  [[nodiscard]] bool admits(const httplib::Request& request, httplib::Response& response) const;
  void log_in(const httplib::Request& request, httplib::Response& response) const;
  bool opens_socket(const httplib::Request& request, httplib::Response& response);
  void enter(Door::Visitor& visitor);
  void talk(Door::Visitor& visitor);

  HttpServer::Options options_;
  std::vector<SocketRoute> sockets_;
  std::unique_ptr<TlsIdentity> tls_;
  int stopping_;  // readable when WebSockets must end
  std::unique_ptr<VisitorThreads> threads_;
  std::unique_ptr<Door> door_;  // destroyed first: it gives visitors to the threads
  // Of the request of this thread.
  static thread_local HttpStream* stream_;
  static thread_local Scopes scopes_;
};

thread_local HttpStream* Server::stream_ = nullptr;
thread_local Scopes Server::scopes_;

Status Server::prepare_tls() {
  if (options_.tls.empty()) return {};
  RUNNEL_ASSIGN(tls_, TlsIdentity::read(options_.tls));
  return {};
}

void refuse(httplib::Response& response, int status, std::string_view why) {
  response.status = status;
  response.set_content(std::string(why) + "\n", "text/plain");
}

void lack(httplib::Response& response, Scope scope) {
  refuse(response, 403, "this token lacks the scope " + std::string(name_of(scope)));
}

void answer(HttpReply reply, httplib::Response& response) {
  if (reply.status != 200) response.status = reply.status;  // the library knows 206 for parts of a body
  for (const auto& [name, value] : reply.headers) response.set_header(name, value);
  if (reply.next == nullptr) {
    response.set_content(reply.body, reply.type);
    return;
  }
  response.set_chunked_content_provider(
      reply.type,
      [next = std::move(reply.next)](std::size_t, httplib::DataSink& sink) {
        std::string piece;
        const bool more = next(piece);
        if (!sink.write(piece.data(), piece.size())) return false;
        if (!more) sink.done();
        return true;
      },
      [ended = std::move(reply.ended)](bool) {
        if (ended != nullptr) ended();
      });
}

bool Server::admits(const httplib::Request& request, httplib::Response& response) const {
  const auto no = [&](int status, std::string_view why) {
    refuse(response, status, why);
    return false;
  };
  const std::string host = request.get_header_value("Host");
  if (!is_own_host(host, options_.address, options_.names))
    return no(403, "this address answers to its own name only");
  // Browsers send it always where it matters, and pages cannot change it.
  if (!is_own_origin(request.get_header_value("Origin"), tls_ != nullptr, host))
    return no(403, "pages of another origin may not use this address");
  scopes_ = Scopes::all();
  if (options_.tokens.empty() || request.path == kLogin) return true;
  const std::string shown = shown_token(request);
  scopes_ = shown.empty() ? Scopes() : options_.tokens.of(shown);
  if (!scopes_.none()) return true;
  if (!shown.empty()) stream_->blame();
  response.set_header("WWW-Authenticate", "Bearer");
  if (request.method == "GET" && request.get_header_value("Accept").find("text/html") != std::string::npos) {
    answer(login_page(!shown.empty()), response);
    return false;
  }
  return no(401, "show the token: Authorization: Bearer TOKEN");
}

// A browser's answer to the page that asks.
void Server::log_in(const httplib::Request& request, httplib::Response& response) const {
  const std::string shown = request.get_param_value("token");
  if (options_.tokens.of(shown).none()) {
    stream_->blame();
    return answer(login_page(true), response);
  }
  response.status = 303;
  response.set_header("Location", "/");
  response.set_header("Set-Cookie", std::string(kCookie) + to_cookie(shown) +
                                        "; HttpOnly; SameSite=Strict; Path=/" +
                                        (tls_ != nullptr ? "; Secure" : ""));
}

// The handshake of a WebSocket (RFC 6455, section 4.2). False: the request is not one. Otherwise the answer
// is in `response`, or the stream has become the socket's.
bool Server::opens_socket(const httplib::Request& request, httplib::Response& response) {
  const auto route = std::find_if(sockets_.begin(), sockets_.end(),
                                  [&](const SocketRoute& socket) { return socket.path == request.path; });
  if (route == sockets_.end()) return false;
  const auto no = [&](int status, std::string_view why) {
    refuse(response, status, why);
    return true;
  };
  if (!scopes_.has(route->scope)) {
    lack(response, route->scope);
    return true;
  }
  if (request.method != "GET" || !has_word(request.get_header_value("Upgrade"), "websocket") ||
      !has_word(request.get_header_value("Connection"), "upgrade")) {
    response.set_header("Upgrade", "websocket");
    return no(426, "this path is a WebSocket");
  }
  if (request.get_header_value("Sec-WebSocket-Version") != "13") {
    response.set_header("Sec-WebSocket-Version", "13");
    return no(426, "expected version 13 of WebSocket");
  }
  std::string accept = accept_of(request.get_header_value("Sec-WebSocket-Key"));
  if (accept.empty()) return no(400, "Sec-WebSocket-Key: expected 16 bytes in base64");
  std::string refusal;
  std::unique_ptr<SocketPeer> peer = route->open(scopes_, refusal);
  if (peer == nullptr) return no(503, refusal);
  stream_->become(*route, std::move(peer), std::move(accept));
  return true;
}

void Server::enter(Door::Visitor& visitor) {
  if (threads_->take(visitor)) return;
  const std::string text = http_refusal(503, "too many requests at a time; come back later");
  visitor.channel->write(text.data(), text.size());
  visitor.channel->finish();
}

void Server::talk(Door::Visitor& visitor) {
  HttpStream stream(visitor);
  stream_ = &stream;
  bool closed = false;
  process_request(stream, true, closed, [](httplib::Request&) {});
  stream_ = nullptr;
  if (stream.is_web_socket())
    stream.run_web_socket(stopping_);
  else
    visitor.channel->finish();
}

void Server::add(HttpRoute route) {
  const auto handler = [route](const httplib::Request& request, httplib::Response& response) {
    if (!scopes_.has(route.scope)) return lack(response, route.scope);
    answer(route.reply({request.matches.begin(), request.matches.end()}), response);
  };
  if (route.method == "POST")
    Post(route.path, handler);
  else
    Get(route.path, handler);
}

void Server::route(std::vector<HttpRoute> routes, std::vector<SocketRoute> sockets) {
  sockets_ = std::move(sockets);
  set_write_timeout(2);
  set_keep_alive_max_count(1);
  set_payload_max_length(kLongestBody);
  set_default_headers({{"X-Content-Type-Options", "nosniff"}});
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    return admits(request, response) && !opens_socket(request, response)
               ? httplib::Server::HandlerResponse::Unhandled
               : httplib::Server::HandlerResponse::Handled;
  });
  for (HttpRoute& route : routes) add(std::move(route));
  if (options_.tokens.empty()) return;
  Post(std::string(kLogin),
       [this](const httplib::Request& request, httplib::Response& response) { log_in(request, response); });
}

Status Server::listen() {
  RUNNEL_ASSIGN(const int listener, listen_at(options_.address));
  svr_sock_ = listener;  // for the library's own questions; nobody accepts but the door
  threads_ =
      std::make_unique<VisitorThreads>(options_.threads, [this](Door::Visitor& visitor) { talk(visitor); });
  Door::Options door;
  door.listener = listener;
  door.tls = tls_.get();
  door.admission = options_.admission;
  door.reads_request = true;
  door.plain_answer = http_refusal(400, "this address speaks HTTPS only");
  door.enter = [this](Door::Visitor&& visitor) { enter(visitor); };
  RUNNEL_ASSIGN(door_, Door::open(std::move(door)));
  return {};
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const Options& options, std::vector<HttpRoute> routes,
                                                      std::vector<SocketRoute> sockets) {
  if (!options.address.is_loopback() && options.tokens.empty()) {
    return Status(Code::invalid_argument)
           << options.address.text()
           << ": other machines can reach this address; give a token, or listen at 127.0.0.1";
  }
  auto made = std::make_unique<Server>(options);
  RUNNEL_TRY(made->prepare_tls());
  made->route(std::move(routes), std::move(sockets));
  RUNNEL_TRY(made->listen());
  return std::unique_ptr<HttpServer>(std::move(made));
}

}  // namespace runnel::net
