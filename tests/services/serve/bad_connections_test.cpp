// Connections of every bad kind to every address of a server, while fifty good streams are served over TLS:
// they lose nothing. RUNNEL_BAD_CONNECTIONS: how many of each kind (default: 300); with
// RUNNEL_QUIET_MACHINE=1 the good ones must not be more than 50 ms later than without the others.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "services/serve/web_page.h"
#include "services/wyoming/server.h"
#include "tests/services/net/tls/certificate.h"
#include "tests/services/net/tls/tls_client.h"
#include "tests/services/serve/support.h"

namespace runnel::serve::test {
namespace {

using Clock = std::chrono::steady_clock;
using net::test::connect_from;
using net::test::TlsClient;
using std::chrono::milliseconds;

constexpr int kGood = 50, kSounds = 5;
constexpr char kToken[] = "a token of some length";

// What a client sends when it talks to a server as it should, byte by byte.
class Recorded {
 public:
  // `talk`: with the address of this thread, which hands everything on to `server`.
  Recorded(const net::Address& server, const std::function<void(const net::Address&)>& talk) {
    net::Address own = *net::Address::parse("127.0.0.1:0");
    const auto listener = net::listen_at(own);
    std::thread carries([&] {
      pollfd waits{*listener, POLLIN, 0};
      poll(&waits, 1, 20000);
      const int inside = accept(*listener, nullptr, nullptr), outside = connect_from(server);
      pollfd both[2] = {{inside, POLLIN, 0}, {outside, POLLIN, 0}};
      std::array<char, 4096> room{};
      while (poll(both, 2, 20000) > 0) {
        const bool comes = both[0].revents != 0;
        const ssize_t count = recv(comes ? inside : outside, room.data(), room.size(), 0);
        if (count <= 0) break;
        if (comes) bytes_.append(room.data(), static_cast<std::size_t>(count));
        send(comes ? outside : inside, room.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL);
      }
      close(inside);
      close(outside);
    });
    talk(own);
    carries.join();
    close(*listener);
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

struct Lateness {
  std::vector<double> milliseconds;
  [[nodiscard]] double quantile(double q) {
    if (milliseconds.empty()) return 0;
    std::sort(milliseconds.begin(), milliseconds.end());
    return milliseconds[static_cast<std::size_t>(q * static_cast<double>(milliseconds.size() - 1))];
  }
};

class BadConnections : public testing::Test {
 protected:
  BadConnections() : tls_(net::test::make_certificate(digits_.folder())) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (unsigned i = 0; i < kSounds; ++i) {
      sounds_.push_back(sound(2, i));
      expected_.push_back(digits_.offline(sounds_.back(), "good", digits_.around()));
      EXPECT_FALSE(expected_.back().empty());
    }
  }

  // One good stream in real time.
  void talk(const net::Address& address, std::size_t which) {
    const std::vector<std::int16_t>& samples = sounds_[which % kSounds];
    // Five at an address, as they make new connections every two seconds.
    TlsClient client(address,
                     {.trusts = tls_.certificate, .from = "127.0.0." + std::to_string(1 + which % 10)});
    ASSERT_TRUE(client.is_open());
    client.send(framed(Json({{"source", "good"}, {"token", kToken}, {"progress", true}}).dump()));
    std::vector<std::string> lines = {client.line()};
    std::vector<double> late;
    auto next = Clock::now();
    for (std::size_t at = 0; at < samples.size(); at += 1600) {
      std::this_thread::sleep_until(next);
      next += milliseconds(100);
      const std::size_t count = std::min<std::size_t>(1600, samples.size() - at);
      const auto sent = Clock::now();
      client.send(framed({reinterpret_cast<const char*>(samples.data() + at), 2 * count}));
      const std::string told = "\"samples\":" + std::to_string(at + count) + "}";
      while (true) {
        const std::string line = client.line();
        if (line.empty()) break;
        if (line.find("\"progress\"") == std::string::npos)
          lines.push_back(line);
        else if (line.find(told) != std::string::npos)
          break;
      }
      late.push_back(1e3 * std::chrono::duration<double>(Clock::now() - sent).count());
    }
    client.send(framed(""));
    for (std::string line = client.line(); !line.empty(); line = client.line()) {
      if (line.find("\"progress\"") == std::string::npos) lines.push_back(line);
    }
    EXPECT_EQ(events_among(lines), expected_[which % kSounds]) << ::testing::PrintToString(lines);
    EXPECT_EQ(record(lines, "summary").at("audio_seconds"), 2.0);
    const std::lock_guard lock(mutex_);
    std::vector<double>& all = (attacked_ ? during_ : before_).milliseconds;
    all.insert(all.end(), late.begin(), late.end());
    ++streams_;
  }

  Digits digits_;
  net::TlsFiles tls_;
  std::vector<std::vector<std::int16_t>> sounds_;
  std::vector<std::vector<std::string>> expected_;
  std::mutex mutex_;
  Lateness before_, during_;
  std::atomic<bool> attacked_{false};
  int streams_ = 0;
};

TEST_F(BadConnections, DisturbNobody) {
  const char* const wish = std::getenv("RUNNEL_BAD_CONNECTIONS");
  const int each = wish != nullptr ? std::atoi(wish) : 300;
  ServerOptions options;
  options.around = digits_.around();
  options.graph = digits_.options();
  options.most_load = 0;  // a busy machine has less capacity
  options.tokens = net::Tokens(kToken);
  options.tls = tls_;
  options.max_streams = 200;
  // As for other machines: the bad ones have other addresses than the good ones, two hundred of them.
  options.admission =
      std::make_shared<net::Admission>(net::Admission::Limits{.most_connections = 64, .own_machine = true});
  Running running(options);
  const auto page = WebPage::start({.address = *net::Address::parse("127.0.0.1:0"),
                                    .tokens = options.tokens,
                                    .tls = tls_,
                                    .admission = options.admission},
                                   running.server());
  ASSERT_TRUE(page.ok()) << page.status().text();
  wyoming::ServerOptions at_home;
  at_home.models = {{"digits", digits_.around()}};
  at_home.graph = digits_.options();
  at_home.address = *net::Address::parse("127.0.0.1:0");
  at_home.tls = tls_;
  at_home.admission = options.admission;
  const auto home = wyoming::Server::make(at_home);
  ASSERT_TRUE(home.ok()) << home.status().text();
  std::thread home_runs([&] { static_cast<void>((*home)->run()); });
  const std::array<net::Address, 3> targets = {
      running.server().address(), *net::Address::parse((*page)->origin().substr(8)), (*home)->address()};
  const Recorded recorded(targets[0], [&](const net::Address& address) {
    TlsClient client(address, {});
    client.send(framed(Json({{"token", kToken}}).dump()));
    client.line();
    client.send(framed(""));
    client.rest();
  });
  EXPECT_GT(recorded.bytes().size(), 300U);

  std::atomic<bool> over{false};
  std::vector<std::thread> good;
  for (std::size_t i = 0; i < kGood; ++i) {
    good.emplace_back([&, i] {
      std::this_thread::sleep_for(milliseconds(37 * i % 100));
      do talk(targets[0], i);
      while (!over);
    });
  }
  std::this_thread::sleep_for(milliseconds(each > 1000 ? 20000 : 4000));
  attacked_ = true;

  std::mt19937 random(7);
  enum Kind { slow, silent, garbage, half_open, oversized, wrong_tls, wrong_token, replayed, kKinds };
  struct Open {
    int fd;
    Kind kind;
    std::size_t said;
  };
  std::deque<Open> open;
  std::array<int, kKinds> made{};
  const std::size_t most = 1500;  // at a time
  const auto send_some = [](int fd, const std::string& bytes) {
    send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  };
  for (int i = 0; i < each * kKinds; ++i) {
    const auto kind = static_cast<Kind>(i % kKinds);
    const net::Address& target = targets[random() % targets.size()];
    const std::string from = "127.1." + std::to_string(random() % 200) + ".1";
    ++made[static_cast<std::size_t>(kind)];
    if (kind == wrong_token || kind == oversized) {
      TlsClient client(target, {.from = from});
      if (kind == wrong_token) {
        client.send(&target == &targets[1]
                        ? std::string("GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: "
                                      "Bearer not the token at all\r\n\r\n")
                        : framed(R"({"token":"not the token at all"})"));
      } else {
        client.send(&target == &targets[1]
                        ? "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(16000, 'x')
                        : std::string("\xff\xff\xff\x7f", 4) + std::string(16000, 'x'));
      }
      continue;
    }
    if (kind == wrong_tls && random() % 2 == 0) {
      const TlsClient client(target, {.version = TLS1_1_VERSION, .from = from});
      EXPECT_FALSE(client.is_open());
      continue;
    }
    const int fd = connect_from(target, from);
    if (fd < 0) continue;
    std::string bytes;
    if (kind == garbage || kind == wrong_tls) {
      bytes.resize(random() % 600);
      for (char& byte : bytes) byte = static_cast<char>(random());
      if (kind == wrong_tls) bytes = "\x16\x03\x01" + bytes;
    } else if (kind == half_open) {
      bytes = recorded.bytes().substr(0, random() % 200);
    } else if (kind == replayed) {
      bytes = recorded.bytes();
    }
    send_some(fd, bytes);
    open.push_back({fd, kind, 0});
    // The slow ones say a byte now and then, of a handshake that would be right.
    for (int n = 0; n < 3 && !open.empty(); ++n) {
      Open& one = open[random() % open.size()];
      if (one.kind == slow && one.said < recorded.bytes().size())
        send_some(one.fd, recorded.bytes().substr(one.said++, 1));
    }
    while (open.size() > most) {
      if (random() % 2 == 0) {  // without a word
        const linger now{1, 0};
        setsockopt(open.front().fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      }
      close(open.front().fd);
      open.pop_front();
    }
  }
  over = true;
  for (std::thread& thread : good) thread.join();
  for (const Open& one : open) close(one.fd);
  for (const int count : made) EXPECT_EQ(count, each);
  EXPECT_GE(streams_, 2 * kGood);
  std::printf(
      "%d connections of each of %d kinds, %llu turned away, %d good streams; milliseconds from a packet to "
      "the "
      "end of its processing: before, median %.1f, 99th percentile %.1f; during, median %.1f, 99th "
      "percentile "
      "%.1f\n",
      each, static_cast<int>(kKinds), static_cast<unsigned long long>(options.admission->turned_away()),
      streams_, before_.quantile(0.5), before_.quantile(0.99), during_.quantile(0.5), during_.quantile(0.99));
  if (std::getenv("RUNNEL_QUIET_MACHINE") != nullptr) {
    EXPECT_LE(during_.quantile(0.5), before_.quantile(0.5) + 50);
    EXPECT_LE(during_.quantile(0.99), before_.quantile(0.99) + 50);
  }
  // Who says nothing is given up, at each address.
  for (const net::Address& target : targets) {
    const int silent = connect_from(target);
    char byte = 0;
    EXPECT_EQ(recv(silent, &byte, 1, 0), 0);
    close(silent);
  }
  (*home)->stop();
  home_runs.join();
  EXPECT_EQ(running.stop(), "");
  // Nobody stays.
  EXPECT_EQ(running.server().metrics().connections.load(), 0);
  EXPECT_EQ(running.server().metrics().streams.load(), 0);
}

}  // namespace
}  // namespace runnel::serve::test
