#include "services/net/http_server.h"

#include <httplib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "services/net/channel.h"
#include "services/net/token.h"
#include "services/net/web_socket_session.h"

namespace runnel::net {
namespace {

constexpr std::string_view kCookie = "runnel_token=";

// The host of "host:port", in brackets or not.
std::string_view without_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  return colon == std::string_view::npos || text.back() == ']' ? text : text.substr(0, colon);
}

// The token of a request: in a header (programs), in a cookie, or in the query (the first request of a
// browser).
std::string shown_token(const httplib::Request& request, bool& in_address) {
  constexpr std::string_view kBearer = "Bearer ";
  in_address = false;
  const std::string authorization = request.get_header_value("Authorization"),
                    cookies = request.get_header_value("Cookie");
  if (authorization.starts_with(kBearer)) return authorization.substr(kBearer.size());
  if (request.has_param("token")) {
    in_address = true;
    return request.get_param_value("token");
  }
  const std::size_t at = cookies.find(kCookie);
  if (at == std::string::npos || (at > 0 && cookies[at - 1] != ' ' && cookies[at - 1] != ';')) return {};
  return cookies.substr(at + kCookie.size(), cookies.find(';', at) - at - kCookie.size());
}

bool same_without_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
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

// A connection as the library reads and writes it. Once it is a WebSocket's, what the library writes in
// answer to the handshake goes nowhere: it has no answer of its own without a body and with these headers.
class HttpStream final : public httplib::Stream {
 public:
  static constexpr std::chrono::milliseconds kPatience{2000};

  explicit HttpStream(Channel& channel) : channel_(channel) {}

  bool is_readable() const override { return begin_ < end_ || channel_.wait(false, kPatience); }
  bool is_writable() const override { return socket_ != nullptr || channel_.wait(true, kPatience); }
  ssize_t read(char* to, std::size_t size) override {
    if (begin_ == end_ && !fill()) return -1;
    const std::size_t count = std::min(size, end_ - begin_);
    std::copy_n(room_.begin() + static_cast<std::ptrdiff_t>(begin_), count, to);
    begin_ += count;
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
    net::run_web_socket(channel_, {room_.data() + begin_, end_ - begin_}, *socket_, *peer_, stop);
  }

 private:
  bool fill() {
    begin_ = end_ = 0;
    for (long count = Channel::kAgain; count == Channel::kAgain;) {
      if (!channel_.wait(false, kPatience)) return false;
      count = channel_.read(room_.data(), room_.size());
      if (count == Channel::kOver) return false;
      end_ = static_cast<std::size_t>(count);
    }
    return true;
  }

  Channel& channel_;
  std::array<char, 4096> room_{};
  std::size_t begin_ = 0, end_ = 0;
  const SocketRoute* socket_ = nullptr;
  std::unique_ptr<SocketPeer> peer_;
  std::string accept_;
};

class Server final : public HttpServer, private httplib::Server {
 public:
  explicit Server(HttpServer::Options options)
      : options_(std::move(options)), stopping_(eventfd(0, EFD_CLOEXEC)) {}
  ~Server() override {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stopping_, &one, sizeof one);
    stop();
    if (thread_.joinable()) thread_.join();
    ::close(stopping_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Status prepare_tls();
  void route(std::vector<HttpRoute> routes, std::vector<SocketRoute> sockets);
  bool listen();
  [[nodiscard]] const Address& address() const noexcept override { return options_.address; }
  [[nodiscard]] std::string origin() const override {
    return (tls_ != nullptr ? "https://" : "http://") + options_.address.text();
  }

 private:
  [[nodiscard]] bool admits(const httplib::Request& request, httplib::Response& response) const;
  bool opens_socket(const httplib::Request& request, httplib::Response& response);
  bool process_and_close_socket(socket_t socket) override;

  HttpServer::Options options_;
  std::vector<SocketRoute> sockets_;
  TlsContext tls_;
  int stopping_;  // readable when WebSockets must end
  std::thread thread_;
  std::atomic<bool> ended_ = false;
  static thread_local HttpStream* stream_;  // of the request of this thread
};

thread_local HttpStream* Server::stream_ = nullptr;

Status Server::prepare_tls() {
  if (options_.tls_certificate.empty() != options_.tls_key.empty())
    return Status(Code::invalid_argument, "HTTPS needs both a certificate and its key");
  if (options_.tls_certificate.empty()) return {};
  RUNNEL_ASSIGN(tls_, make_tls(options_.tls_certificate, options_.tls_key));
  return {};
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
  if (options_.token.empty()) {
    const std::string host = request.get_header_value("Host");
    const std::string_view name = without_port(host);
    if (name == "localhost" || name == without_port(options_.address.text())) return true;
    response.status = 403;
    response.set_content("this address answers to its own name only\n", "text/plain");
    return false;
  }
  bool in_address = false;
  if (!equal_in_constant_time(shown_token(request, in_address), options_.token)) {
    response.status = 401;
    response.set_header("WWW-Authenticate", "Bearer");
    response.set_content("show the token: Authorization: Bearer TOKEN, or ?token=TOKEN\n", "text/plain");
    return false;
  }
  if (in_address)
    response.set_header("Set-Cookie", std::string(kCookie) + options_.token +
                                          "; HttpOnly; SameSite=Strict; Path=/" +
                                          (tls_ != nullptr ? "; Secure" : ""));
  return true;
}

// The handshake of a WebSocket (RFC 6455, section 4.2). False: the request is not one. Otherwise the answer
// is in `response`, or the stream has become the socket's.
bool Server::opens_socket(const httplib::Request& request, httplib::Response& response) {
  const auto route = std::find_if(sockets_.begin(), sockets_.end(),
                                  [&](const SocketRoute& socket) { return socket.path == request.path; });
  if (route == sockets_.end()) return false;
  const auto refuse = [&](int status, std::string_view why) {
    response.status = status;
    response.set_content(std::string(why) + "\n", "text/plain");
    return true;
  };
  if (request.method != "GET" || !has_word(request.get_header_value("Upgrade"), "websocket") ||
      !has_word(request.get_header_value("Connection"), "upgrade")) {
    response.set_header("Upgrade", "websocket");
    return refuse(426, "this path is a WebSocket");
  }
  // Browsers send it always, and pages cannot change it.
  const std::string from = request.get_header_value("Origin");
  if (!from.empty() &&
      !same_without_case(from, (tls_ != nullptr ? "https://" : "http://") + request.get_header_value("Host")))
    return refuse(403, "pages of another origin may not open this WebSocket");
  if (request.get_header_value("Sec-WebSocket-Version") != "13") {
    response.set_header("Sec-WebSocket-Version", "13");
    return refuse(426, "expected version 13 of WebSocket");
  }
  std::string accept = accept_of(request.get_header_value("Sec-WebSocket-Key"));
  if (accept.empty()) return refuse(400, "Sec-WebSocket-Key: expected 16 bytes in base64");
  std::string refusal;
  std::unique_ptr<SocketPeer> peer = route->open(refusal);
  if (peer == nullptr) return refuse(503, refusal);
  stream_->become(*route, std::move(peer), std::move(accept));
  return true;
}

// Virtual in the library, whose own version reads the socket itself.
bool Server::process_and_close_socket(socket_t socket) {
  constexpr unsigned char kHandshake = 0x16;  // the first byte of a client of TLS
  Channel channel(socket, tls_.get());
  if (tls_ != nullptr) {
    unsigned char first = 0;
    if (!channel.wait(false, HttpStream::kPatience)) return false;
    if (recv(socket, &first, 1, MSG_PEEK) == 1 && first != kHandshake) {
      constexpr std::string_view kAnswer =
          "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
          "this address speaks HTTPS only\n";
      [[maybe_unused]] const ssize_t sent = send(socket, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
      shutdown(socket, SHUT_WR);
      // Closing with unread bytes would make the system discard the answer.
      std::array<char, 4096> unread{};
      while (channel.wait(false, std::chrono::milliseconds(500)) &&
             recv(socket, unread.data(), unread.size(), 0) > 0) {
      }
      return false;
    }
    if (!channel.greet(2 * HttpStream::kPatience)) return false;
  }
  HttpStream stream(channel);
  stream_ = &stream;
  bool closed = false;
  process_request(stream, true, closed, [](httplib::Request&) {});
  stream_ = nullptr;
  if (stream.is_web_socket())
    stream.run_web_socket(stopping_);
  else
    channel.finish();
  return true;
}

void Server::route(std::vector<HttpRoute> routes, std::vector<SocketRoute> sockets) {
  sockets_ = std::move(sockets);
  new_task_queue = [threads = options_.threads] {
    return new httplib::ThreadPool(static_cast<std::size_t>(threads));
  };
  // The library's default would share the address with other programs of this user, and each would get some
  // of the requests.
  set_socket_options([](int socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  set_read_timeout(2);
  set_write_timeout(2);
  set_keep_alive_max_count(1);
  set_payload_max_length(1024);
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    return admits(request, response) && !opens_socket(request, response)
               ? httplib::Server::HandlerResponse::Unhandled
               : httplib::Server::HandlerResponse::Handled;
  });
  for (HttpRoute& route : routes) {
    Get(route.path,
        [reply = std::move(route.reply)](const httplib::Request& request, httplib::Response& response) {
          answer(reply({request.matches.begin(), request.matches.end()}), response);
        });
  }
}

bool Server::listen() {
  const std::string where = options_.address.text();
  const std::size_t colon = where.rfind(':');
  std::string host = where.substr(0, colon);
  if (host.front() == '[') host = host.substr(1, host.size() - 2);
  const int wanted = std::stoi(where.substr(colon + 1));
  const int port = wanted == 0 ? bind_to_any_port(host) : bind_to_port(host, wanted) ? wanted : -1;
  if (port <= 0) return false;
  const auto bound = Address::parse(where.substr(0, colon + 1) + std::to_string(port));
  if (!bound.ok()) return false;
  options_.address = *bound;
  thread_ = std::thread([this] {
    listen_after_bind();
    ended_ = true;
  });
  // stop() requires a running server.
  while (!is_running() && !ended_) std::this_thread::yield();
  return !ended_;
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const Options& options, std::vector<HttpRoute> routes,
                                                      std::vector<SocketRoute> sockets) {
  if (!options.address.is_loopback() && options.token.empty()) {
    return Status(Code::invalid_argument)
           << options.address.text()
           << ": other machines can reach this address; give a token, or listen at 127.0.0.1";
  }
  auto made = std::make_unique<Server>(options);
  RUNNEL_TRY(made->prepare_tls());
  made->route(std::move(routes), std::move(sockets));
  if (!made->listen()) return Status(Code::io_error) << options.address.text() << ": cannot listen there";
  return std::unique_ptr<HttpServer>(std::move(made));
}

}  // namespace runnel::net
