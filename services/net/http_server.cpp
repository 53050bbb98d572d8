#include "services/net/http_server.h"

#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <string_view>
#include <thread>

#include "services/net/token.h"

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

class Server final : public HttpServer {
 public:
  explicit Server(Options options) : options_(std::move(options)) {}
  ~Server() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void route(std::vector<HttpRoute> routes);
  bool listen();
  [[nodiscard]] const Address& address() const noexcept override { return options_.address; }

 private:
  [[nodiscard]] bool admits(const httplib::Request& request, httplib::Response& response) const;

  Options options_;
  httplib::Server server_;
  std::thread thread_;
  std::atomic<bool> ended_ = false;
};

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
    response.set_header("Set-Cookie",
                        std::string(kCookie) + options_.token + "; HttpOnly; SameSite=Strict; Path=/");
  return true;
}

void Server::route(std::vector<HttpRoute> routes) {
  server_.new_task_queue = [threads = options_.threads] {
    return new httplib::ThreadPool(static_cast<std::size_t>(threads));
  };
  // The library's default would share the address with other programs of this user, and each would get some
  // of the requests.
  server_.set_socket_options([](int socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server_.set_read_timeout(2);
  server_.set_write_timeout(2);
  server_.set_keep_alive_max_count(1);
  server_.set_payload_max_length(1024);
  server_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    return admits(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                     : httplib::Server::HandlerResponse::Handled;
  });
  for (HttpRoute& route : routes) {
    server_.Get(route.path, [reply = std::move(route.reply)](const httplib::Request& request,
                                                             httplib::Response& response) {
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
  const int port = wanted == 0                          ? server_.bind_to_any_port(host)
                   : server_.bind_to_port(host, wanted) ? wanted
                                                        : -1;
  if (port <= 0) return false;
  const auto bound = Address::parse(where.substr(0, colon + 1) + std::to_string(port));
  if (!bound.ok()) return false;
  options_.address = *bound;
  thread_ = std::thread([this] {
    server_.listen_after_bind();
    ended_ = true;
  });
  // stop() requires a running server.
  while (!server_.is_running() && !ended_) std::this_thread::yield();
  return !ended_;
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const Options& options, std::vector<HttpRoute> routes) {
  if (!options.address.is_loopback() && options.token.empty()) {
    return Status(Code::invalid_argument)
           << options.address.text()
           << ": other machines can reach this address; give a token, or listen at 127.0.0.1";
  }
  auto made = std::make_unique<Server>(options);
  made->route(std::move(routes));
  if (!made->listen()) return Status(Code::io_error) << options.address.text() << ": cannot listen there";
  return std::unique_ptr<HttpServer>(std::move(made));
}

}  // namespace runnel::net
