// A small HTTP server in threads of its own, for pages beside the work of a program. Only for builds with
// cpp-httplib.
#pragma once

#include <httplib.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "base/status.h"
#include "services/net/address.h"

namespace runnel::net {

// Answers until destroyed. Other machines only reach it with a token; without one, requests that were meant
// for another host's name are refused (a page elsewhere could make a browser ask them).
class HttpServer {
 public:
  struct Options {
    Address address;    // port 0: any that is free
    std::string token;  // empty: none
    int threads = 1;    // that answer; a request that lasts takes one of them
  };
  // `routes`: called once, to say what is answered. Errors: invalid_argument for an address that others can
  // reach without a token; io_error.
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
