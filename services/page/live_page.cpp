#include "services/page/live_page.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "pipeline/nodes/host/live/browser/browser.h"
#include "services/net/http_server.h"
#include "services/page/document.h"
#include "services/page/feed.h"
#include "services/page/page_socket.h"

namespace runnel::page {
namespace {

constexpr int kMaxReaders = limits::kPageReaders;
constexpr int kOthers = 6;  // threads for requests that are soon answered
constexpr std::string_view kFull = "fifty readers are looking already";
constexpr std::size_t kMaxBytes = limits::kPageQueueBytes;  // of queued messages for slow readers

class Page final : public LivePage {
 public:
  Page() : log_(kMaxBytes), feed_(log_, recordings_) {}
  ~Page() override {
    log_.close();  // ends the readers' requests
    server_.reset();
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  Status listen(const Options& options) {
    net::SocketRoute socket;
    socket.path = "/socket";
    socket.open = [this](net::Scopes scopes, std::string& refusal) { return open_socket(scopes, refusal); };
    // A second of sound at 192 kHz is 384,000 bytes; pages send 50 times a second.
    socket.longest_message = std::size_t{1} << 19;
    // One thread per reader of messages; some more serve everything else.
    RUNNEL_ASSIGN(server_, net::HttpServer::start({.address = options.address,
                                                   .tokens = options.tokens,
                                                   .threads = kMaxReaders + kOthers,
                                                   .tls = options.tls,
                                                   .admission = options.admission,
                                                   .names = options.names},
                                                  {{"/", [](const auto&) { return document_reply(); }},
                                                   {"/messages", [this](const auto&) { return messages(); }},
                                                   {R"(/recordings/(\d{1,9}))",
                                                    [this](const std::vector<std::string>& groups) {
                                                      return recording(std::stoul(groups[1]));
                                                    }}},
                                                  {socket}));
    return {};
  }
  [[nodiscard]] std::string url() const override { return server_->origin() + "/"; }
  void show(pipeline::Graph& graph) override {
    feed_.connect(graph);
    for (int i = 0; i < graph.size(); ++i) {
      if (const auto* node = dynamic_cast<pipeline::Browser*>(graph.stage(i).node); node != nullptr)
        microphone_.connect(node->sound());
    }
    graph.on_step([this](const pipeline::Graph& stepped) { feed_.stepped(stepped); });
  }

 private:
  bool has_room() {
    if (readers_.fetch_add(1) < kMaxReaders) return true;
    readers_.fetch_sub(1);
    return false;
  }

  std::unique_ptr<net::SocketPeer> open_socket(net::Scopes scopes, std::string& refusal) {
    if (has_room())
      return std::make_unique<PageSocket>(log_, feed_, microphone_, scopes.has(net::Scope::stream),
                                          [this] { readers_.fetch_sub(1); });
    refusal = kFull;
    return nullptr;
  }

  net::HttpReply messages() {
    net::HttpReply reply;
    if (!has_room()) {
      reply.status = 503;
      reply.body = std::string(kFull) + "\n";
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
  Microphone microphone_;
  std::atomic<int> readers_{0};
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace

Result<std::unique_ptr<LivePage>> LivePage::start(const Options& options) {
  auto page = std::make_unique<Page>();
  RUNNEL_TRY(page->listen(options));
  return std::unique_ptr<LivePage>(std::move(page));
}

}  // namespace runnel::page
