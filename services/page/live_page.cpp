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
                               {{"/", [](const auto&) { return document(); }},
                                {"/messages", [this](const auto&) { return messages(); }},
                                {R"(/recordings/(\d{1,9}))", [this](const std::vector<std::string>& groups) {
                                   return recording(std::stoul(groups[1]));
                                 }}}));
    return {};
  }
  [[nodiscard]] std::string url() const override { return "http://" + server_->address().text() + "/"; }
  void show(pipeline::Graph& graph) override {
    feed_.connect(graph);
    graph.on_step([this](const pipeline::Graph& stepped) { feed_.stepped(stepped); });
  }

 private:
  static net::HttpReply document() {
    net::HttpReply reply;
    reply.headers = {{"Content-Security-Policy",
                      "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
                      "connect-src 'self'; media-src 'self'; base-uri 'none'; frame-ancestors 'none'"},
                     {"Cache-Control", "no-store"},
                     {"Referrer-Policy", "no-referrer"}};
    reply.type = "text/html; charset=utf-8";
    reply.body = kDocument;
    return reply;
  }

  net::HttpReply messages() {
    net::HttpReply reply;
    if (readers_.fetch_add(1) >= kMaxReaders) {
      readers_.fetch_sub(1);
      reply.status = 503;
      reply.body = "six readers are looking already\n";
      return reply;
    }
    reply.headers = {{"Cache-Control", "no-store"}};
    reply.type = "text/event-stream";
    // The number of the next message; 0: send the description first.
    reply.next = [this, next = std::make_shared<std::uint64_t>(0)](std::string& text) {
      bool closed = false;
      if (*next == 0) {
        for (const std::string& message : feed_.beginning()) text += "data: " + message + "\n\n";
        *next = log_.next();
        return true;
      }
      for (const MessageLog::Message& message : log_.read(*next, std::chrono::milliseconds(500), closed)) {
        text += "data: " + message.text + "\n\n";
        *next = message.number + 1;
      }
      if (text.empty()) text = closed ? "data: {\"type\":\"end\"}\n\n" : ": still here\n\n";
      return !closed;
    };
    reply.ended = [this] { readers_.fetch_sub(1); };
    return reply;
  }

  [[nodiscard]] net::HttpReply recording(std::size_t number) const {
    net::HttpReply reply;
    const std::filesystem::path path = recordings_.path(number);
    std::ifstream file(path, std::ios::binary);
    if (path.empty() || !file) {
      reply.status = 404;
      return reply;
    }
    reply.type = path.extension() == ".flac" ? "audio/flac" : "audio/wav";
    reply.body.assign(std::istreambuf_iterator<char>(file), {});
    return reply;
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
