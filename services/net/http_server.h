// A small HTTP server with its own threads, for status pages. Only in builds with cpp-httplib.
#pragma once

#include <httplib.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "base/status.h"
#include "services/net/address.h"

namespace runnel::net {

// Serves until destroyed. Access from other machines requires a token; without one, requests with another
// host name are refused (against DNS rebinding).
class HttpServer {
 public:
  struct Options {
    Address address;    // port 0: any free port
    std::string token;  // empty: none
    int threads = 1;    // that serve requests; a long request occupies one of them
  };
  // `routes`: called once, to register the handlers. Errors: invalid_argument for an address that is not
  // loopback without a token; io_error.
  static Result<std::unique_ptr<HttpServer>> start(const Options& options,
                                                   const std::function<void(httplib::Server&)>& routes);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] const Address& address() const noexcept { return options_.address; }

 private:
  explicit HttpServer(Options options) : options_(std::move(options)) {}
  bool listen();
  [[nodiscard]] bool admits(const httplib::Request& request, httplib::Response& response) const;

  Options options_;
  httplib::Server server_;
  std::thread thread_;
  std::atomic<bool> ended_ = false;
};

}  // namespace runnel::net
