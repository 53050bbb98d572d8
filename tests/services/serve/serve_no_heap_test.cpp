// Once its clients are there and have been heard, the thread that processes them asks for no memory.
#include <gtest/gtest.h>

#include <atomic>
#include <regex>
#include <thread>

#include "tests/services/serve/support.h"
#include "tests/support/allocations.h"

namespace runnel::serve::test {
namespace {

constexpr int kClients = 20;
constexpr std::size_t kBlock = 160;  // samples: 10 ms
constexpr int kBlocksEach = 5000;    // 100,000 in all
constexpr int kWindow = 16;          // blocks of a client on their way

// Sends so many blocks to every client and waits until they are processed.
void send_blocks(std::vector<std::unique_ptr<Client>>& clients, const std::vector<std::int16_t>& samples,
                 int blocks, std::int64_t& sent) {
  const std::int64_t end = sent + static_cast<std::int64_t>(blocks) * static_cast<std::int64_t>(kBlock);
  while (sent < end) {
    const auto count = std::min<std::int64_t>(kWindow, (end - sent) / static_cast<std::int64_t>(kBlock));
    for (auto& client : clients) {
      for (std::int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(sent + i * static_cast<std::int64_t>(kBlock)) %
                        (samples.size() - kBlock);
        ASSERT_TRUE(client->send_samples(samples, at, kBlock));
      }
    }
    sent += count * static_cast<std::int64_t>(kBlock);
    for (auto& client : clients) {
      for (std::int64_t processed = 0; processed < sent;) {
        const Json line = Json::parse(client->line());
        ASSERT_EQ(line.at("type"), "progress") << line.dump();
        processed = line.at("samples");
      }
    }
  }
}

TEST(ServeNoHeap, SteadyStateOfManyClients) {
  runnel::test::expect_that_allocations_are_counted();
  Digits digits;
  ServerOptions options;
  // No event: their lines are texts.
  options.around =
      std::regex_replace(digits.around(), std::regex("threshold=0.4 release=0.3 smoothing_frames=10"),
                         "threshold=1 release=0.5 smoothing_frames=1000");
  options.graph = digits.options();
  options.address = *net::Address::parse("127.0.0.1:0");
  auto made = Server::make(options);
  ASSERT_TRUE(made.ok()) << made.status().text();
  Server& server = **made;
  std::atomic<const std::atomic<std::size_t>*> counter{nullptr};
  std::atomic<bool> released{false};
  std::thread thread([&] {
    counter = &runnel::test::allocations_of_this_thread();
    EXPECT_TRUE(server.run().ok());
    // The counter is this thread's.
    while (!released) std::this_thread::yield();
  });
  {
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < kClients; ++i) {
      clients.push_back(std::make_unique<Client>(server));
      clients.back()->greet(R"({"progress":true})");
      EXPECT_EQ(Json::parse(clients.back()->line()).at("type"), "ready");
    }
    const auto samples = sound(3, 11);
    std::int64_t sent = 0;
    send_blocks(clients, samples, 200, sent);
    const std::atomic<std::size_t>& allocations = *counter.load();
    EXPECT_GT(allocations, 0U) << "its streams were made by this thread";
    const std::size_t before = allocations;
    send_blocks(clients, samples, kBlocksEach, sent);
    EXPECT_EQ(allocations, before);
    EXPECT_EQ(server.metrics().events.load(), 0);
    for (auto& client : clients) {
      client->end();
      record(client->rest(), "summary");
    }
  }
  server.stop();
  released = true;
  thread.join();
  EXPECT_EQ(server.metrics().microseconds.load() / 10'000,
            static_cast<std::uint64_t>(kClients) * (kBlocksEach + 200));
}

}  // namespace
}  // namespace runnel::serve::test
