// The live page's WebSocket: messages, fifty readers, and microphones.
#include "services/page/page_socket.h"

#include <gtest/gtest.h>
#include <httplib.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "services/page/live_page.h"
#include "services/page/watches.h"
#include "tests/pipeline/support.h"
#include "tests/services/net/socket_client.h"
#include "tests/support/data.h"

namespace runnel::page {
namespace {

using Json = nlohmann::json;
using net::test::SocketClient;
using std::chrono::milliseconds;

class PageSockets : public testing::Test {
 protected:
  ~PageSockets() override { end(); }

  void run(const std::string& text, double speed = 0) {
    auto page = LivePage::start({.address = *net::Address::parse("127.0.0.1:0")});
    ASSERT_TRUE(page.ok()) << page.status().text();
    page_ = std::move(page).value();
    pipeline::GraphOptions options;
    options.nodes = pipeline::test::test_nodes();
    options.speed = speed;
    options.stop = &stop_;
    options.amend = [nodes = options.nodes](pipeline::GraphText& graph) { add_watches(graph, nodes); };
    auto graph = pipeline::Graph::build(text, options);
    ASSERT_TRUE(graph.ok()) << graph.status().text();
    graph_ = std::move(graph).value();
    page_->show(*graph_);
    thread_ = std::thread([this] { status_ = graph_->run().ok(); });
  }
  // Ends the run, then the page.
  void end() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    page_.reset();
    graph_.reset();
  }
  [[nodiscard]] int port() const {
    const std::string url = page_->url();
    return std::stoi(url.substr(url.rfind(':') + 1));
  }
  [[nodiscard]] std::string path(const char* name) const {
    return pipeline::quote_value((folder_.path() / name).string());
  }
  [[nodiscard]] std::string sound_file() const {
    pipeline::test::write_recording(folder_.path() / "sound.wav", pipeline::test::make_samples(32000));
    return path("sound.wav");
  }
  // The next message of this type; null when there is none.
  static Json next(SocketClient& client, const std::string& type) {
    while (const auto message = client.next()) {
      if (message->opcode != net::Opcode::text) break;
      Json json = Json::parse(message->payload);
      if (json["type"] == type) return json;
    }
    return {};
  }
  static std::string bytes_of(const std::vector<std::int16_t>& samples) {
    return {reinterpret_cast<const char*>(samples.data()), 2 * samples.size()};
  }
  static std::string ask(const std::string& session, int rate = 16000, std::int64_t first = 0,
                         bool over = false) {
    return Json({{"type", "microphone"},
                 {"rate", rate},
                 {"session", session},
                 {"first", first},
                 {"take_over", over}})
        .dump();
  }

  runnel::test::TemporaryFolder folder_;
  std::atomic<bool> stop_{false};
  bool status_ = false;
  std::unique_ptr<LivePage> page_;
  std::unique_ptr<pipeline::Graph> graph_;
  std::thread thread_;
};

TEST_F(PageSockets, BringWhatServerSentEventsBring) {
  pipeline::test::Events::at = {8000, 16000};
  pipeline::test::Events::label = "word";
  run("wav path=" + sound_file() + " ! events ! jsonl path=" + path("events.jsonl"), 2);
  SocketClient client(port(), "/socket",
                      "Origin: " + page_->url().substr(0, page_->url().size() - 1) + "\r\n");
  ASSERT_EQ(client.status(), 101) << client.head();
  EXPECT_EQ(next(client, "graph")["nodes"][0]["type"], "wav");
  EXPECT_EQ(next(client, "event")["label"], "word");
  EXPECT_EQ(next(client, "event")["label"], "word");
  thread_.join();
  std::thread ends([this] { page_.reset(); });
  EXPECT_FALSE(next(client, "end").is_null());
  const auto last = client.next();
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->opcode, net::Opcode::close);
  EXPECT_EQ(last->code(), net::kNormal);
  client.send(net::Opcode::close, last->payload);
  ends.join();
  EXPECT_TRUE(status_);
}

// The events of the sound that was spoken are those of the same samples as a recording.
TEST_F(PageSockets, TakeAMicrophoneSampleForSample) {
  run("browser rate=16000 ! wav path=" + path("heard.wav") + " encoding=float32");
  SocketClient client(port(), "/socket");
  client.text(ask("a"));
  const Json state = next(client, "microphone");
  EXPECT_EQ(state["state"], "open");
  EXPECT_EQ(state["rate"], 16000);
  EXPECT_EQ(next(client, "speaker")["speaks"], true);
  std::vector<std::int16_t> samples(16000);
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] =
        static_cast<std::int16_t>(std::lround(12000 * std::sin(0.01 * static_cast<double>(i * i % 6283))));
  for (std::size_t at = 0; at < samples.size(); at += 320)
    client.binary(bytes_of({samples.begin() + static_cast<std::ptrdiff_t>(at),
                            samples.begin() + static_cast<std::ptrdiff_t>(at) + 320}));
  client.text(R"({"type":"silent"})");
  EXPECT_EQ(next(client, "speaker")["speaks"], false);
  end();
  EXPECT_TRUE(status_);
  std::ifstream file(folder_.path() / "heard.wav", std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  const std::string bytes = all.str();
  ASSERT_GT(bytes.size(), samples.size() * sizeof(float));
  const std::string tail = bytes.substr(bytes.size() - samples.size() * sizeof(float));
  std::vector<float> heard(samples.size());
  std::memcpy(heard.data(), tail.data(), tail.size());
  for (std::size_t i = 0; i < samples.size(); ++i)
    ASSERT_EQ(heard[i], static_cast<float>(samples[i]) / 32768) << i;
}

TEST_F(PageSockets, CountWhatABrokenConnectionLoses) {
  run("browser rate=16000 ! null");
  const std::string second = bytes_of(std::vector<std::int16_t>(16000, 100));
  {
    SocketClient client(port(), "/socket");
    client.text(ask("a"));
    EXPECT_EQ(next(client, "microphone")["state"], "open");
    client.binary(second);
    EXPECT_FALSE(next(client, "spectrum").is_null());
  }  // closed without a word
  SocketClient client(port(), "/socket");
  // The old connection may still be open: the same page is let in all the same.
  client.text(ask("a", 16000, 16000 + 4000));
  EXPECT_EQ(next(client, "microphone")["state"], "open");
  client.binary(second);
  EXPECT_EQ(next(client, "gap")["lost_samples"], 4000);
  client.text(R"({"type":"lost","samples":800})");
  client.binary(second);
  EXPECT_EQ(next(client, "gap")["lost_samples"], 800);
}

TEST_F(PageSockets, HaveOneMicrophoneAtATime) {
  run("browser ! null");
  SocketClient first(port(), "/socket"), second(port(), "/socket");
  first.text(ask("a"));
  EXPECT_EQ(next(first, "microphone")["state"], "open");
  EXPECT_EQ(next(second, "speaker")["speaks"], true) << "other pages see it";
  SocketClient late(port(), "/socket");
  EXPECT_EQ(next(late, "speaker")["rate"], 16000) << "those that come later too";
  second.text(ask("b"));
  const Json refused = next(second, "microphone");
  EXPECT_EQ(refused["state"], "refused");
  EXPECT_NE(refused["message"].get<std::string>().find("another page"), std::string::npos);
  second.text(ask("b", 16000, 0, true));
  EXPECT_EQ(next(second, "microphone")["state"], "open");
  first.binary(std::string(640, '\0'));
  EXPECT_EQ(next(first, "microphone")["state"], "taken");
}

TEST_F(PageSockets, RefuseWhatIsNotAMicrophone) {
  run("browser ! null");
  const auto code_after = [&](bool is_text, const std::string& message, bool opened = false) {
    SocketClient client(port(), "/socket");
    if (opened) {
      client.text(ask("x", 16000, 0, true));
      EXPECT_EQ(next(client, "microphone")["state"], "open");
    }
    is_text ? client.text(message) : client.binary(message);
    while (const auto got = client.next()) {
      if (got->opcode == net::Opcode::close) return got->code();
    }
    return 0;
  };
  EXPECT_EQ(code_after(true, "{"), net::kNotAccepted);
  EXPECT_EQ(code_after(true, "[]"), net::kNotAccepted);
  EXPECT_EQ(code_after(true, "{}"), net::kNotAccepted);
  EXPECT_EQ(code_after(true, R"({"type":5})"), net::kNotAccepted);
  EXPECT_EQ(code_after(true, R"({"type":"shout"})"), net::kNotAccepted);
  EXPECT_EQ(code_after(true, R"({"type":"lost"})"), net::kNotAccepted);
  EXPECT_EQ(code_after(true, R"({"type":"microphone","rate":"fast","session":"a"})"), net::kNotAccepted);
  EXPECT_EQ(code_after(true, R"({"type":"microphone","rate":16000})"), net::kNotAccepted);
  EXPECT_EQ(code_after(false, "odd", true), net::kNotAccepted) << "half a sample";
  EXPECT_EQ(code_after(false, std::string((1 << 19) + 2, '\0'), true), net::kTooLong);
  SocketClient client(port(), "/socket");
  client.text(ask("y", 12345));
  EXPECT_EQ(next(client, "microphone")["state"], "refused");
  client.binary(std::string(640, '\0'));  // without a turn: ignored
  client.text(ask("y", 16000, 0, true));
  EXPECT_EQ(next(client, "microphone")["state"], "open");
}

// A page of another origin, a message of a gigabyte, and a client that is gone: the one that speaks is heard
// to its last sample.
TEST_F(PageSockets, ThatAttackDisturbNobody) {
  run("browser rate=16000 ! wav path=" + path("heard.wav") + " encoding=float32");
  SocketClient speaker(port(), "/socket");
  speaker.text(ask("a"));
  EXPECT_EQ(next(speaker, "microphone")["state"], "open");
  const std::vector<std::int16_t> half(8000, 1000);
  speaker.binary(bytes_of(half));
  EXPECT_EQ(SocketClient(port(), "/socket", "Origin: http://attacker.example\r\n").status(), 403);
  SocketClient huge(port(), "/socket");
  huge.send_bytes(std::string{'\x82', '\xff', 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4});
  int code = 0;
  while (const auto got = huge.next()) {
    if (got->opcode == net::Opcode::close) code = got->code();
    if (code != 0) break;
  }
  EXPECT_EQ(code, net::kTooLong);
  {
    const SocketClient gone(port(), "/socket");
    EXPECT_EQ(gone.status(), 101);
  }
  speaker.binary(bytes_of(half));
  speaker.text(R"({"type":"silent"})");
  EXPECT_EQ(next(speaker, "speaker")["speaks"], true);
  EXPECT_EQ(next(speaker, "speaker")["speaks"], false);
  end();
  EXPECT_TRUE(status_);
  const auto heard = std::filesystem::file_size(folder_.path() / "heard.wav");
  EXPECT_GE(heard, 2 * half.size() * sizeof(float));
  EXPECT_LT(heard, 2 * half.size() * sizeof(float) + 1000) << "a gap, or sound of somebody else";
}

TEST_F(PageSockets, OfOtherRunsTakeNoSound) {
  run("wav path=" + sound_file() + " ! null", 1);
  SocketClient client(port(), "/socket");
  client.text(ask("a"));
  EXPECT_NE(next(client, "microphone")["message"].get<std::string>().find("--browser"), std::string::npos);
}

// Fifty pages look while one of them speaks; the next one is refused, and all see the same.
TEST_F(PageSockets, HaveRoomForFiftyReaders) {
  run("browser rate=16000 ! null");
  std::vector<std::unique_ptr<SocketClient>> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(std::make_unique<SocketClient>(port(), "/socket"));
    ASSERT_EQ(clients.back()->status(), 101) << i;
  }
  for (auto& client : clients) EXPECT_FALSE(next(*client, "graph").is_null());
  EXPECT_EQ(SocketClient(port(), "/socket").status(), 503);
  httplib::Client plain("127.0.0.1", port());
  EXPECT_EQ(plain.Get("/messages")->status, 503);
  EXPECT_EQ(plain.Get("/")->status, 200);
  clients[7]->text(ask("a"));
  for (int i = 0; i < 20; ++i)
    clients[7]->binary(bytes_of(std::vector<std::int16_t>(1600, static_cast<std::int16_t>(i * 1000))));
  Json seen;
  for (auto& client : clients) {
    const Json column = next(*client, "spectrum");
    ASSERT_FALSE(column.is_null());
    if (seen.is_null()) seen = column;
    EXPECT_EQ(column, seen);
  }
}

}  // namespace
}  // namespace runnel::page
