#include "services/net/http_server.h"

#include <sys/socket.h>

#include <memory>
#include <string_view>

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

}  // namespace

bool HttpServer::admits(const httplib::Request& request, httplib::Response& response) const {
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

bool HttpServer::listen() {
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

Result<std::unique_ptr<HttpServer>> HttpServer::start(const Options& options,
                                                      const std::function<void(httplib::Server&)>& routes) {
  if (!options.address.is_loopback() && options.token.empty()) {
    return Status(Code::invalid_argument)
           << options.address.text()
           << ": other machines can reach this address; give a token, or listen at 127.0.0.1";
  }
  std::unique_ptr<HttpServer> made(new HttpServer(options));
  httplib::Server& server = made->server_;
  server.new_task_queue = [threads = options.threads] {
    return new httplib::ThreadPool(static_cast<std::size_t>(threads));
  };
  // The library's default would share the address with other programs of this user, and each would get some
  // of the requests.
  server.set_socket_options([](int socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_read_timeout(2);
  server.set_write_timeout(2);
  server.set_keep_alive_max_count(1);
  server.set_payload_max_length(1024);
  server.set_pre_routing_handler(
      [self = made.get()](const httplib::Request& request, httplib::Response& response) {
        return self->admits(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                               : httplib::Server::HandlerResponse::Handled;
      });
  routes(server);
  if (!made->listen()) return Status(Code::io_error) << options.address.text() << ": cannot listen there";
  return made;
}

HttpServer::~HttpServer() {
  server_.stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace runnel::net
