#include "services/serve/web_page.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "pipeline/host/json.h"
#include "services/net/http_server.h"
#include "services/page/document.h"
#include "services/serve/stream_socket.h"

namespace runnel::serve {
namespace {

using Clock = std::chrono::steady_clock;
using pipeline::json_number;
using pipeline::json_string;

constexpr std::size_t kMostRows = 200;
constexpr int kMostReaders = limits::kPageReaders, kOthers = 4;
constexpr std::chrono::milliseconds kBetween(500);
constexpr std::size_t kMostUnsentRows = limits::kUnsentBytes;

std::string sessions_message(const Server& server) {
  const Metrics& metrics = server.metrics();
  std::string rows;
  for (const SessionRow& row : metrics.sessions.read(kMostRows)) {
    rows += (rows.empty() ? "{\"source\":" : ",{\"source\":") + json_string(row.source) +
            ",\"rate\":" + std::to_string(row.rate) + ",\"channels\":" + std::to_string(row.channels) +
            ",\"connected\":" + json_number(row.connected, 1) + ",\"heard\":" + json_number(row.heard, 2) +
            ",\"silent\":" + json_number(row.silent, 1) + ",\"events\":" + std::to_string(row.events) +
            ",\"unsent\":" + std::to_string(row.unsent) + "}";
  }
  std::string ended;
  for (std::size_t i = 0; i < kReasons; ++i) {
    if (const std::uint64_t count = metrics.ended[i].load(); count > 0)
      ended += (ended.empty() ? "\"" : ",\"") + std::string(name_of(static_cast<Reason>(i))) +
               "\":" + std::to_string(count);
  }
  double late = 0;
  for (int i = 0; i < metrics.threads; ++i)
    late = std::max(late, metrics.times[static_cast<std::size_t>(i)].lateness.p99.load());
  return "{\"type\":\"sessions\",\"streams\":" + std::to_string(metrics.streams.load()) +
         ",\"most\":" + std::to_string(server.options().max_streams) +
         ",\"completed\":" + std::to_string(metrics.completed.load()) +
         ",\"events\":" + std::to_string(metrics.events.load()) +
         ",\"heard\":" + json_number(1e-6 * static_cast<double>(metrics.microseconds.load()), 1) +
         ",\"late_p99_us\":" + json_number(1e6 * late, 0) + ",\"ended\":{" + ended + "},\"rows\":[" + rows +
         "]}";
}

// Twice a second, what streams there are.
class SessionsSocket final : public net::SocketPeer {
 public:
  SessionsSocket(const Server& server, std::function<void()> ended)
      : server_(server), ended_(std::move(ended)) {}
  ~SessionsSocket() override { ended_(); }
  SessionsSocket(const SessionsSocket&) = delete;
  SessionsSocket& operator=(const SessionsSocket&) = delete;

  [[nodiscard]] Interest interest() const override { return {}; }
  void heard(bool, std::string_view, net::SocketOut&) override {}  // it has no questions
  void work(net::SocketOut& out) override {
    const auto now = Clock::now();
    if (now - told_ < kBetween || out.unsent() > kMostUnsentRows) return;
    told_ = now;
    out.text(sessions_message(server_));
  }

 private:
  const Server& server_;
  std::function<void()> ended_;
  Clock::time_point told_{};
};

class Page final : public WebPage {
 public:
  Page(const Options& options, Server& server) : options_(options), server_(server) {}

  Status listen() {
    net::SocketRoute stream, sessions;
    stream.path = "/stream";
    stream.scope = net::Scope::stream;
    stream.longest_message = server_.options().longest_message;
    stream.idle = server_.options().idle;
    stream.open = [this](net::Scopes, std::string& refusal) -> std::unique_ptr<net::SocketPeer> {
      if (streams_.fetch_add(1) < options_.most_streams) {
        // Without a connection it has not counted down.
        auto peer = StreamSocket::open(
            server_, [this] { streams_.fetch_sub(1); }, refusal);
        if (peer == nullptr) streams_.fetch_sub(1);
        return peer;
      }
      streams_.fetch_sub(1);
      refusal = "there are " + std::to_string(options_.most_streams) + " streams over WebSocket already";
      return nullptr;
    };
    sessions.path = "/socket";
    sessions.longest_message = 1024;
    sessions.open = [this](net::Scopes, std::string& refusal) -> std::unique_ptr<net::SocketPeer> {
      if (readers_.fetch_add(1) < kMostReaders)
        return std::make_unique<SessionsSocket>(server_, [this] { readers_.fetch_sub(1); });
      readers_.fetch_sub(1);
      refusal = "fifty readers are looking already";
      return nullptr;
    };
    RUNNEL_ASSIGN(http_, net::HttpServer::start({.address = options_.address,
                                                 .tokens = options_.tokens,
                                                 .threads = options_.most_streams + kMostReaders + kOthers,
                                                 .tls = options_.tls,
                                                 .admission = options_.admission,
                                                 .names = options_.names},
                                                routes(), {stream, sessions}));
    return {};
  }
  [[nodiscard]] std::string origin() const override { return http_->origin(); }
  Status reload() override { return http_->reload(); }

 private:
  std::vector<net::HttpRoute> routes() {
    std::vector<net::HttpRoute> all = {{"/", [](const auto&) { return page::document_reply(); }},
                                       {"/metrics", [this](const auto&) {
                                          net::HttpReply reply;
                                          reply.type = "text/plain; version=0.0.4";
                                          reply.body =
                                              server_.metrics().prometheus(server_.options().max_streams);
                                          return reply;
                                        }}};
    if (options_.drain != nullptr)
      all.push_back({"/drain",
                     [this](const auto&) {
                       options_.drain();
                       net::HttpReply reply;
                       reply.body = "the server stops\n";
                       return reply;
                     },
                     net::Scope::manage, "POST"});
    if (options_.reload != nullptr)
      all.push_back({"/reload",
                     [this](const auto&) {
                       const Status status = options_.reload();
                       net::HttpReply reply;
                       reply.status = status.ok() ? 200 : 500;
                       reply.body = status.ok() ? "the files have been read again\n"
                                                : std::string(status.text()) + "\n";
                       return reply;
                     },
                     net::Scope::manage, "POST"});
    return all;
  }

  Options options_;
  Server& server_;
  std::atomic<int> streams_{0}, readers_{0};
  std::unique_ptr<net::HttpServer> http_;  // destroyed first: its connections use the rest
};

}  // namespace

Result<std::unique_ptr<WebPage>> WebPage::start(const Options& options, Server& server) {
  auto page = std::make_unique<Page>(options, server);
  RUNNEL_TRY(page->listen());
  return std::unique_ptr<WebPage>(std::move(page));
}

}  // namespace runnel::serve
