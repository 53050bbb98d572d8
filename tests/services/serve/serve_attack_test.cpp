// Ten thousand connections that are malformed, cut or silent, while others are served.
#include <random>

#include "tests/services/serve/support.h"

namespace runnel::serve::test {
namespace {

TEST(ServeAttack, TenThousandBadConnectionsDisturbNobody) {
  Digits digits;
  ServerOptions options;
  options.around = digits.around();
  options.graph = digits.options();
  options.max_others = options.max_streams = 64;
  Running running(options);

  // Four that talk in real time, more or less, as long as it lasts.
  std::atomic<bool> over{false};
  std::vector<std::thread> good;
  std::atomic<int> compared{0};
  std::vector<std::vector<std::string>> expected;
  for (unsigned i = 0; i < 4; ++i) expected.push_back(digits.offline(sound(1.5, i), "good", options.around));
  for (unsigned i = 0; i < 4; ++i) {
    good.emplace_back([&, i] {
      const auto samples = sound(1.5, i);
      do {
        Client client(running.server());
        client.greet(R"({"source":"good"})");
        for (std::size_t at = 0; at < samples.size(); at += 1600) {
          client.send_samples(samples, at, std::min<std::size_t>(1600, samples.size() - at));
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        client.end();
        const std::vector<std::string> lines = client.rest();
        EXPECT_EQ(events_among(lines), expected[i]) << ::testing::PrintToString(lines);
        ++compared;
      } while (!over);
    });
  }

  std::mt19937 random(11);
  std::vector<std::unique_ptr<Client>> open;  // half-open ones: they stay and never speak again
  const std::string greeting = framed("{}");
  for (int i = 0; i < 10000; ++i) {
    auto client = std::make_unique<Client>(running.server());
    std::string noise(random() % 600, '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    switch (random() % 8) {
      case 0:
        break;  // silent
      case 1:
        client->send_bytes(noise);
        break;
      case 2:
        client->send_bytes(framed(noise));
        break;
      case 3:
        client->send_bytes(greeting + noise);
        break;
      case 4:
        client->send_bytes(greeting + framed(noise) + std::string("\xFF\xFF\xFF\xFF", 4));
        break;
      case 5:
        client->send_bytes(greeting.substr(0, random() % greeting.size()));
        break;
      case 6:
        client->send_bytes(greeting + framed(std::string(3200, 'x')).substr(0, random() % 3200));
        break;
      default:
        client->send_bytes(framed(R"({"rate":)" + std::to_string(random() % 100000) + "}"));
    }
    switch (random() % 4) {
      case 0:
        client->vanish();
        break;
      case 1:
        client->close_sending();
        break;
      case 2:
        break;  // closed at once
      default:
        open.push_back(std::move(client));
    }
    if (open.size() > 50) open.erase(open.begin());
  }
  over = true;
  for (std::thread& thread : good) thread.join();
  EXPECT_GE(compared.load(), 4);
  open.clear();
  // Newcomers are let in in order: once this one is, all others were.
  Client last(running.server());
  last.greet();
  EXPECT_EQ(Json::parse(last.line())["type"], "ready");
  last.end();
  last.rest();
  EXPECT_EQ(running.stop(), "");
  EXPECT_GE(running.server().metrics().accepted.load(), 10000U);
  EXPECT_EQ(running.server().metrics().connections.load(), 0);
  EXPECT_EQ(running.server().metrics().streams.load(), 0);
}

}  // namespace
}  // namespace runnel::serve::test
