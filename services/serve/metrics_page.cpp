#include "services/serve/metrics_page.h"

#include "services/net/http_server.h"

namespace runnel::serve {
namespace {

class Running final : public MetricsPage {
 public:
  explicit Running(std::unique_ptr<net::HttpServer> server) : server_(std::move(server)) {}
  [[nodiscard]] std::string origin() const override { return server_->origin(); }
  Status reload() override { return server_->reload(); }

 private:
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace

Result<std::unique_ptr<MetricsPage>> MetricsPage::start(const Options& options,
                                                        std::function<std::string()> text) {
  // One thread suffices for a few readers that ask every few seconds.
  RUNNEL_ASSIGN(std::unique_ptr<net::HttpServer> server,
                net::HttpServer::start({.address = options.address,
                                        .tokens = options.tokens,
                                        .threads = 1,
                                        .tls = options.tls,
                                        .admission = options.admission,
                                        .names = options.names},
                                       {{"/metrics",
                                         [text = std::move(text)](const auto&) {
                                           net::HttpReply reply;
                                           reply.type = "text/plain; version=0.0.4";
                                           reply.body = text();
                                           return reply;
                                         }}},
                                       {}));
  return std::unique_ptr<MetricsPage>(std::make_unique<Running>(std::move(server)));
}

}  // namespace runnel::serve
