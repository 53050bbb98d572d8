#include "services/page/live_page.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <mutex>
#include <vector>

#include "services/net/http_server.h"
#include "services/page/document.h"
#include "services/page/feed.h"

namespace runnel::page {
namespace {

constexpr int kMaxReaders = 6;
constexpr std::size_t kMaxBytes = std::size_t{1} << 20;  // of queued messages for slow readers

class Page final : public LivePage {
 public:
  Page() : log_(kMaxBytes), feed_(log_, recordings_) {}
  ~Page() override {
    log_.close();  // ends the readers' requests
    server_.reset();
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  Status listen(const net::Address& address, std::string token) {
    // One thread per reader of messages; two more serve everything else.
    RUNNEL_ASSIGN(server_, net::HttpServer::start(
                               {.address = address, .token = std::move(token), .threads = kMaxReaders + 2},
                               [this](httplib::Server& server) { say_routes(server); }));
    return {};
  }
  [[nodiscard]] std::string url() const override { return "http://" + server_->address().text() + "/"; }
  void show(pipeline::Graph& graph) override {
    feed_.connect(graph);
    graph.on_step([this](const pipeline::Graph& stepped) { feed_.stepped(stepped); });
  }

 private:
  void say_routes(httplib::Server& server) {
    server.Get("/", [](const httplib::Request&, httplib::Response& response) {
      response.set_header("Content-Security-Policy",
                          "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
                          "connect-src 'self'; media-src 'self'; base-uri 'none'; frame-ancestors 'none'");
      response.set_header("Cache-Control", "no-store");
      response.set_header("Referrer-Policy", "no-referrer");
      response.set_content(kDocument.data(), kDocument.size(), "text/html; charset=utf-8");
    });
    server.Get("/messages",
               [this](const httplib::Request&, httplib::Response& response) { stream(response); });
    server.Get(R"(/recordings/(\d{1,9}))",
               [this](const httplib::Request& request, httplib::Response& response) {
                 send_recording(std::stoul(request.matches[1]), response);
               });
  }

  void stream(httplib::Response& response) {
    if (readers_.fetch_add(1) >= kMaxReaders) {
      readers_.fetch_sub(1);
      response.status = 503;
      response.set_content("six readers are looking already\n", "text/plain");
      return;
    }
    response.set_header("Cache-Control", "no-store");
    auto next = std::make_shared<std::uint64_t>(0);  // 0: send the description first
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, next](std::size_t, httplib::DataSink& sink) {
          std::string text;
          bool closed = false;
          if (*next == 0) {
            for (const std::string& message : feed_.beginning()) text += "data: " + message + "\n\n";
            *next = log_.next();
          } else {
            for (const MessageLog::Message& message :
                 log_.read(*next, std::chrono::milliseconds(500), closed)) {
              text += "data: " + message.text + "\n\n";
              *next = message.number + 1;
            }
            if (text.empty()) text = closed ? "data: {\"type\":\"end\"}\n\n" : ": still here\n\n";
          }
          if (!sink.write(text.data(), text.size())) return false;
          if (closed) sink.done();
          return true;
        },
        [this](bool) { readers_.fetch_sub(1); });
  }

  void send_recording(std::size_t number, httplib::Response& response) {
    const std::filesystem::path path = recordings_.path(number);
    std::ifstream file(path, std::ios::binary);
    if (path.empty() || !file) {
      response.status = 404;
      return;
    }
    response.set_content(std::string(std::istreambuf_iterator<char>(file), {}),
                         path.extension() == ".flac" ? "audio/flac" : "audio/wav");
  }

  MessageLog log_;
  Recordings recordings_;
  Feed feed_;
  std::atomic<int> readers_{0};
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace

Result<std::unique_ptr<LivePage>> LivePage::start(const net::Address& address, std::string token) {
  auto page = std::make_unique<Page>();
  RUNNEL_TRY(page->listen(address, std::move(token)));
  return std::unique_ptr<LivePage>(std::move(page));
}

}  // namespace runnel::page
