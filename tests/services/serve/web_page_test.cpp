// Streams over WebSocket, and the page of a server.
#include "services/serve/web_page.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <thread>

#include "tests/services/net/socket_client.h"
#include "tests/services/serve/support.h"

namespace runnel::serve::test {
namespace {

using net::test::SocketClient;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class ServeWeb : public testing::Test {
 protected:
  ServerOptions options() {
    ServerOptions options;
    options.around = digits_.around();
    options.graph = digits_.options();
    return options;
  }
  static std::unique_ptr<WebPage> page_of(Server& server, net::Tokens tokens = {}, int most = 64) {
    auto page = WebPage::start(
        {.address = *net::Address::parse("127.0.0.1:0"), .tokens = std::move(tokens), .most_streams = most},
        server);
    EXPECT_TRUE(page.ok()) << page.status().text();
    return std::move(page).value();
  }
  static int port_of(const WebPage& page) {
    const std::string origin = page.origin();
    return std::stoi(origin.substr(origin.rfind(':') + 1));
  }
  static std::string bytes_of(const std::vector<std::int16_t>& samples, std::size_t first,
                              std::size_t count) {
    return {reinterpret_cast<const char*>(samples.data() + first), 2 * count};
  }
  // All texts until the connection closes, and the code that it closes with.
  static std::vector<std::string> rest(SocketClient& client, int& code) {
    std::vector<std::string> lines;
    code = 0;
    while (const auto message = client.next()) {
      if (message->opcode == net::Opcode::close) {
        code = message->code();
        client.send(net::Opcode::close, message->payload);
        break;
      }
      lines.push_back(message->payload);
    }
    return lines;
  }
  Digits digits_;
};

TEST_F(ServeWeb, GivesWhatTheRecordingGivesOffline) {
  ServerOptions with = options();
  with.threads = 2;
  with.most_load = 0;  // a busy machine has less capacity
  Running running(with);
  const auto page = page_of(running.server());
  struct Format {
    int rate, channels;
  };
  constexpr Format kFormats[] = {{16000, 1}, {48000, 2}, {8000, 1}};
  std::vector<std::thread> clients;
  std::vector<std::vector<std::string>> lines(12);
  std::vector<int> codes(12);
  for (unsigned i = 0; i < 12; ++i) {
    clients.emplace_back([&, i] {
      const Format format = kFormats[i % 3];
      const auto samples = sound(2, i, format.rate, format.channels);
      std::mt19937 random(i);
      SocketClient client(port_of(*page), "/stream");
      client.text(
          Json({{"source", "s" + std::to_string(i)}, {"rate", format.rate}, {"channels", format.channels}})
              .dump());
      for (std::size_t at = 0; at < samples.size();) {
        const std::size_t count = std::min<std::size_t>(
            samples.size() - at, (1 + random() % 3000) * static_cast<std::size_t>(format.channels));
        client.binary(bytes_of(samples, at, count));
        at += count;
      }
      // The three ways to end a stream that has an answer.
      i % 2 == 0 ? client.text(R"({"type":"end"})") : client.binary("");
      lines[i] = rest(client, codes[i]);
    });
  }
  for (std::thread& client : clients) client.join();
  for (unsigned i = 0; i < 12; ++i) {
    const Format format = kFormats[i % 3];
    EXPECT_EQ(codes[i], net::kNormal);
    EXPECT_EQ(record(lines[i], "ready").at("source"), "s" + std::to_string(i));
    const auto expected = digits_.offline(sound(2, i, format.rate, format.channels), "s" + std::to_string(i),
                                          digits_.around(), format.rate, format.channels);
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(events_among(lines[i]), expected) << i;
    EXPECT_EQ(record(lines[i], "summary").at("events"), expected.size());
  }
}

TEST_F(ServeWeb, TellsWhyAStreamIsRefused) {
  Running running(options());
  const auto page = page_of(running.server());
  int code = 0;
  const auto error = [&](const std::function<void(SocketClient&)>& talk) {
    SocketClient client(port_of(*page), "/stream");
    talk(client);
    const auto lines = rest(client, code);
    return record(lines, "error").at("reason").get<std::string>();
  };
  EXPECT_EQ(error([](SocketClient& client) { client.text(R"({"rate":5})"); }), "greeting");
  EXPECT_EQ(code, net::kRefused);
  EXPECT_EQ(error([](SocketClient& client) {
              client.text("{}");
              client.binary("odd");
            }),
            "data");
  EXPECT_EQ(code, net::kRefused);
  const auto code_after = [&](const std::function<void(SocketClient&)>& talk) {
    SocketClient client(port_of(*page), "/stream");
    talk(client);
    rest(client, code);
    return code;
  };
  EXPECT_EQ(code_after([](SocketClient& client) { client.binary("xx"); }), net::kNotAccepted);
  EXPECT_EQ(code_after([](SocketClient& client) {
              client.text("{}");
              client.text("stop");
            }),
            net::kNotAccepted);
  // Whoever copies it calls itself for each bracket.
  EXPECT_EQ(code_after([](SocketClient& client) {
              client.text("{}");
              client.text("{\"type\":" + std::string(120000, '[') + std::string(120000, ']') + "}");
            }),
            net::kNotAccepted);
  EXPECT_EQ(code_after([](SocketClient& client) {
              client.text("{}");
              client.binary(std::string((1 << 18) + 2, '\0'));
            }),
            net::kTooLong);
}

TEST_F(ServeWeb, AsksForTheTokenOnce) {
  ServerOptions with = options();
  with.tokens = "0123456789abcdef";
  Running running(with);
  const auto page = page_of(running.server(), with.tokens);
  EXPECT_EQ(SocketClient(port_of(*page), "/stream").status(), 401);
  SocketClient client(port_of(*page), "/stream", "Authorization: Bearer 0123456789abcdef\r\n");
  client.text("{}");
  client.text(R"({"type":"end"})");
  int code = 0;
  const auto lines = rest(client, code);
  EXPECT_EQ(record(lines, "summary").at("events"), 0);
}

TEST_F(ServeWeb, HasLimitsAndDisturbsNobody) {
  ServerOptions with = options();
  with.max_streams = 60;
  with.most_load = 0;
  Running running(with);
  const auto page = page_of(running.server(), {}, 50);
  const auto samples = sound(1, 3);
  const auto expected = digits_.offline(samples, "stream", digits_.around());
  std::vector<std::unique_ptr<SocketClient>> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(std::make_unique<SocketClient>(port_of(*page), "/stream"));
    clients.back()->text("{}");
    clients.back()->binary(bytes_of(samples, 0, 8000));
  }
  const SocketClient late(port_of(*page), "/stream");
  EXPECT_EQ(late.status(), 503);
  EXPECT_NE(late.head().find("50 streams over WebSocket"), std::string::npos);
  EXPECT_EQ(SocketClient(port_of(*page), "/stream", "Origin: http://attacker.example\r\n").status(), 403);
  // Some vanish, one breaks a rule; the others get all of their events.
  for (int i = 0; i < 10; ++i) clients[static_cast<std::size_t>(i)].reset();
  clients[10]->send_bytes("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x01\x02\x03\x04");
  for (std::size_t i = 11; i < clients.size(); ++i) {
    clients[i]->binary(bytes_of(samples, 8000, samples.size() - 8000));
    clients[i]->text(R"({"type":"end"})");
  }
  for (std::size_t i = 11; i < clients.size(); ++i) {
    int code = 0;
    EXPECT_EQ(events_among(rest(*clients[i], code)), expected) << i;
  }
}

TEST_F(ServeWeb, ShowsItsStreams) {
  Running running(options());
  const auto page = page_of(running.server());
  SocketClient looks(port_of(*page), "/socket");
  Client kitchen(running.server());
  kitchen.greet(R"({"source":"kitchen <b>"})");
  kitchen.send_samples(sound(1, 5), 0, 16000);
  const auto end = Clock::now() + std::chrono::seconds(20);
  Json last;
  while (Clock::now() < end) {
    const auto message = looks.next();
    ASSERT_TRUE(message.has_value());
    last = Json::parse(message->payload);
    ASSERT_EQ(last["type"], "sessions");
    if (!last["rows"].empty() && last["rows"][0]["heard"] == 1.0) break;
  }
  EXPECT_EQ(last["streams"], 1);
  ASSERT_EQ(last["rows"].size(), 1U);
  EXPECT_EQ(last["rows"][0]["source"], "kitchen <b>");
  EXPECT_EQ(last["rows"][0]["rate"], 16000);
  kitchen.end();
  kitchen.rest();
  while (Clock::now() < end && !last["rows"].empty()) last = Json::parse(looks.next()->payload);
  EXPECT_TRUE(last["rows"].empty());
  EXPECT_EQ(last["completed"], 1);
  httplib::Client plain("127.0.0.1", port_of(*page));
  EXPECT_NE(plain.Get("/")->body.find("</html>"), std::string::npos);
  EXPECT_NE(plain.Get("/metrics")->body.find("runnel_"), std::string::npos);
}

// From the last byte of a packet to the event that it completes; printed, not judged.
TEST_F(ServeWeb, PrintsItsLatency) {
  ServerOptions with = options();
  Running running(with);
  const auto page = page_of(running.server());
  SocketClient client(port_of(*page), "/stream");
  client.text(R"({"progress":true})");
  client.next();
  const std::vector<std::int16_t> packet(320, 100);
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) {
    const auto start = Clock::now();
    client.binary(bytes_of(packet, 0, packet.size()));
    while (const auto message = client.next()) {
      if (message->payload.find("\"progress\"") != std::string::npos) break;
    }
    times.push_back(1e6 * std::chrono::duration<double>(Clock::now() - start).count());
    std::this_thread::sleep_for(milliseconds(5));
  }
  std::sort(times.begin(), times.end());
  std::printf("20 ms of sound over WebSocket to the answer: median %.0f us, p99 %.0f us\n", times[100],
              times[198]);
  client.text(R"({"type":"end"})");
  int code = 0;
  rest(client, code);
  EXPECT_EQ(code, net::kNormal);
}

}  // namespace
}  // namespace runnel::serve::test
