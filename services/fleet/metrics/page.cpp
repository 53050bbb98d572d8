#include "services/fleet/metrics/page.h"

#include <utility>

#include "services/net/http_server.h"

namespace runnel::fleet {
namespace {

class Running final : public WorkerPage {
 public:
  explicit Running(std::unique_ptr<net::HttpServer> server) : server_(std::move(server)) {}
  [[nodiscard]] std::string origin() const override { return server_->origin(); }

 private:
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace

Result<std::unique_ptr<WorkerPage>> WorkerPage::start(const net::Address& address, net::Tokens tokens,
                                                      const WorkerBoard& board) {
  const auto metrics = [&board](const auto&) {
    net::HttpReply reply;
    reply.type = "text/plain; version=0.0.4";
    reply.body = prometheus_of(board.read());
    return reply;
  };
  const auto document = [&board](const auto&) {
    net::HttpReply reply;
    reply.headers = {
        {"Content-Security-Policy",
         "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"},
        {"Cache-Control", "no-store"},
        {"Referrer-Policy", "no-referrer"}};
    reply.type = "text/html; charset=utf-8";
    reply.body = document_of(board.read());
    return reply;
  };
  // One thread suffices for a few readers that ask every few seconds.
  RUNNEL_ASSIGN(std::unique_ptr<net::HttpServer> server,
                net::HttpServer::start({.address = address, .tokens = std::move(tokens), .threads = 1},
                                       {{"/metrics", metrics}, {"/", document}}, {}));
  return std::unique_ptr<WorkerPage>(std::make_unique<Running>(std::move(server)));
}

}  // namespace runnel::fleet
