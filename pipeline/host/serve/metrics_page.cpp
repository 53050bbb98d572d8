#include "pipeline/host/serve/metrics_page.h"

#include <httplib.h>

#include <thread>

#include "pipeline/host/serve/greeting.h"

namespace runnel::serve {
namespace {

class Page final : public MetricsPage {
 public:
  Page(const Address& address, std::string token, std::function<std::string()> text) : address_(address), token_(std::move(token)), text_(std::move(text)) {
    // One thread answers: a few readers, seconds apart.
    server_.new_task_queue = [] { return new httplib::ThreadPool(1); };
    server_.set_read_timeout(2);
    server_.set_write_timeout(2);
    server_.set_keep_alive_max_count(1);
    server_.set_payload_max_length(1024);
    server_.Get("/metrics", [this](const httplib::Request& request, httplib::Response& response) {
      if (!token_.empty() && !equal_in_constant_time(request.get_header_value("Authorization"), "Bearer " + token_)) {
        response.status = 401;
        response.set_header("WWW-Authenticate", "Bearer");
        return;
      }
      response.set_content(text_(), "text/plain; version=0.0.4");
    });
  }
  ~Page() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  bool listen() {
    const std::string where = address_.text();
    const std::size_t colon = where.rfind(':');
    std::string host = where.substr(0, colon);
    if (host.front() == '[') host = host.substr(1, host.size() - 2);
    const int wanted = std::stoi(where.substr(colon + 1));
    const int port = wanted == 0 ? server_.bind_to_any_port(host) : server_.bind_to_port(host, wanted) ? wanted : -1;
    if (port <= 0) return false;
    const auto bound = Address::parse(where.substr(0, colon + 1) + std::to_string(port));
    if (!bound.ok()) return false;
    address_ = *bound;
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();   // stop() is for servers that run
    return true;
  }
  [[nodiscard]] const Address& address() const noexcept override { return address_; }

 private:
  Address address_;
  std::string token_;
  std::function<std::string()> text_;
  httplib::Server server_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<MetricsPage>> MetricsPage::start(const Address& address, std::string token, std::function<std::string()> text) {
  if (!address.is_loopback() && token.empty()) return Status(Code::invalid_argument) << address.text() << ": other machines can reach this address; give a token, or listen at 127.0.0.1";
  auto page = std::make_unique<Page>(address, std::move(token), std::move(text));
  if (!page->listen()) return Status(Code::io_error) << address.text() << ": cannot listen there";
  return std::unique_ptr<MetricsPage>(std::move(page));
}

}  // namespace runnel::serve
