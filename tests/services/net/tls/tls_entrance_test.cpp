// A server that gives back what it hears, behind TLS.
#include "services/net/tls/tls_entrance.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "services/net/address.h"
#include "tests/services/net/tls/certificate.h"
#include "tests/services/net/tls/tls_client.h"
#include "tests/support/data.h"

namespace runnel::net::test {
namespace {

using std::chrono::milliseconds;

class Tls : public testing::Test {
 protected:
  ~Tls() override {
    entrance_.reset();
    for (std::thread& thread : threads_) thread.join();
  }

  void serve(const TlsFiles& files, std::shared_ptr<Admission> admission = nullptr) {
    address_ = *Address::parse("127.0.0.1:0");
    const auto listener = listen_at(address_);
    ASSERT_TRUE(listener.ok());
    TlsEntrance::Options options;
    options.listener = *listener;
    options.files = files;
    options.admission = std::move(admission);
    options.plain_answer = "TLS only\n";
    options.enter = [this](int socket, Place place) {
      ++entered_;
      const std::lock_guard lock(mutex_);
      threads_.emplace_back([this, socket, place = std::move(place)] {
        // With room for one record only, so that a client which sends much and reads nothing is held up.
        const int room = 1 << 14;
        setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        std::array<char, 4096> bytes{};
        pollfd waits{socket, POLLIN, 0};
        while (poll(&waits, 1, 20000) > 0) {
          const ssize_t count = recv(socket, bytes.data(), bytes.size(), 0);
          if (count <= 0) break;
          heard_ += count;
          for (ssize_t sent = 0; sent < count;) {
            const ssize_t now =
                ::send(socket, bytes.data() + sent, static_cast<std::size_t>(count - sent), MSG_NOSIGNAL);
            pollfd writes{socket, POLLOUT, 0};
            if (now < 0 && (errno != EAGAIN || poll(&writes, 1, 20000) <= 0)) break;
            if (now > 0) sent += now;
          }
        }
        [[maybe_unused]] const ssize_t said = ::send(socket, "bye\n", 4, MSG_NOSIGNAL);
        close(socket);
      });
    };
    auto started = TlsEntrance::start(std::move(options));
    ASSERT_TRUE(started.ok()) << started.status().text();
    entrance_ = std::move(started).value();
  }
  [[nodiscard]] std::string refusal(const TlsFiles& files) const {
    Address address = *Address::parse("127.0.0.1:0");
    const auto listener = listen_at(address);
    TlsEntrance::Options options;
    options.listener = *listener;
    options.files = files;
    const auto started = TlsEntrance::start(std::move(options));
    return started.ok() ? "started" : std::string(started.status().text());
  }
  static bool within(milliseconds patience, const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!done() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(2));
    return done();
  }
  [[nodiscard]] std::string path(const char* name) const { return (folder_.path() / name).string(); }

  runnel::test::TemporaryFolder folder_;
  Address address_;
  std::unique_ptr<TlsEntrance> entrance_;
  std::atomic<int> entered_{0};
  std::atomic<std::int64_t> heard_{0};
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

TEST_F(Tls, CarriesBothWays) {
  const TlsFiles files = make_certificate(folder_.path());
  serve(files);
  TlsClient client(address_, {.trusts = files.certificate});
  ASSERT_TRUE(client.is_open());
  EXPECT_TRUE(client.send("hello\n"));
  EXPECT_EQ(client.line(), "hello");
  // Many records, of all sizes; then the end, which the server answers.
  std::string all;
  std::thread sends([&] {
    for (int i = 0; i < 400; ++i)
      client.send(std::string(static_cast<std::size_t>(i * 37 % 20000), 'x') + "\n");
  });
  sends.join();
  for (int i = 0; i < 400; ++i)
    ASSERT_EQ(client.line().size(), static_cast<std::size_t>(i * 37 % 20000)) << i;
  client.finish();
  EXPECT_EQ(client.rest(), "bye\n");
  EXPECT_TRUE(client.ended_well());
  EXPECT_TRUE(entrance_->finish(milliseconds(20000)));
}

TEST_F(Tls, HoldsUpWhoDoesNotRead) {
  serve(make_certificate(folder_.path()));
  TlsClient client(address_, {});
  ASSERT_TRUE(client.is_open());
  std::atomic<bool> over{false};
  std::atomic<std::int64_t> sent{0};
  std::thread sends([&] {
    const std::string block(16384, 'x');
    while (!over && sent < (std::int64_t{64} << 20) && client.send(block)) sent += 16384;
  });
  // It is heard for a while, and then no more: what is on its way has a limit.
  std::int64_t before = -1;
  EXPECT_TRUE(within(milliseconds(60000), [&] {
    const std::int64_t now = heard_;
    const bool stands = now > 0 && now == before;
    before = now;
    if (!stands) std::this_thread::sleep_for(milliseconds(300));
    return stands;
  }));
  EXPECT_LT(heard_, std::int64_t{32} << 20);
  over = true;
  shutdown(client.socket(), SHUT_RDWR);
  sends.join();
}

TEST_F(Tls, NobodyWaitsForAHandshake) {
  const TlsFiles files = make_certificate(folder_.path());
  serve(files);
  // Silent ones, and ones that stopped in the middle of their first message.
  std::vector<int> silent;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(connect_from(address_));
    ASSERT_GE(silent.back(), 0);
    const char begun[] = "\x16\x03\x01\x02";
    if (i % 2 == 0) {
      ASSERT_EQ(::send(silent.back(), begun, 4, MSG_NOSIGNAL), 4);
    }
  }
  TlsClient client(address_, {.trusts = files.certificate});
  ASSERT_TRUE(client.is_open());
  EXPECT_TRUE(client.send("hello\n"));
  EXPECT_EQ(client.line(), "hello");
  EXPECT_EQ(entered_, 1);
  for (const int fd : silent) close(fd);
}

TEST_F(Tls, IsForThoseWhoSpeakIt) {
  serve(make_certificate(folder_.path()));
  const int plain = connect_from(address_);
  ASSERT_EQ(::send(plain, "hello\n", 6, MSG_NOSIGNAL), 6);
  std::array<char, 64> answer{};
  EXPECT_GT(recv(plain, answer.data(), answer.size() - 1, 0), 0);
  EXPECT_STREQ(answer.data(), "TLS only\n");
  close(plain);
  const int garbage = connect_from(address_);
  const std::string noise = "\x16" + std::string(5000, '\x42');
  EXPECT_GT(::send(garbage, noise.data(), noise.size(), MSG_NOSIGNAL), 0);
  while (recv(garbage, answer.data(), answer.size(), 0) > 0) {
  }
  close(garbage);
  EXPECT_FALSE(TlsClient(address_, {.version = TLS1_1_VERSION}).is_open()) << "too old";
  EXPECT_TRUE(TlsClient(address_, {.version = TLS1_2_VERSION}).is_open());
  EXPECT_TRUE(within(milliseconds(20000), [&] { return entered_ == 1; }));
}

TEST_F(Tls, AsksClientsForCertificates) {
  make_certificate(folder_.path(), {.name = "authority"});
  const TlsFiles known = make_certificate(folder_.path(), {.name = "known", .issuer = "authority"});
  const TlsFiles stranger = make_certificate(folder_.path(), {.name = "stranger"});
  TlsFiles files = make_certificate(folder_.path());
  files.client_ca = path("authority.pem");
  serve(files);
  const auto talks = [&](const TlsFiles& own) {
    TlsClient client(address_, {.trusts = files.certificate, .own = own});
    return client.send("hello\n") && client.line() == "hello";
  };
  EXPECT_TRUE(talks(known));
  EXPECT_FALSE(talks({}));
  EXPECT_FALSE(talks(stranger));
  EXPECT_TRUE(talks(known));
  EXPECT_EQ(entered_, 2);
}

TEST_F(Tls, ReadsItsFilesAgain) {
  const TlsFiles files = make_certificate(folder_.path());
  serve(files);
  std::filesystem::copy_file(files.certificate, path("old.pem"));
  TlsClient before(address_, {.trusts = path("old.pem")});
  ASSERT_TRUE(before.is_open());
  // A wrong file changes nothing.
  std::ofstream(files.key) << "nonsense";
  EXPECT_NE(entrance_->reload().text().find("runnel.key: not a key"), std::string_view::npos)
      << entrance_->reload().text();
  EXPECT_TRUE(TlsClient(address_, {.trusts = path("old.pem")}).is_open());
  make_certificate(folder_.path());
  ASSERT_TRUE(entrance_->reload().ok());
  EXPECT_FALSE(TlsClient(address_, {.trusts = path("old.pem")}).is_open());
  EXPECT_TRUE(TlsClient(address_, {.trusts = files.certificate}).is_open());
  EXPECT_TRUE(before.send("still here\n"));
  EXPECT_EQ(before.line(), "still here");
}

TEST_F(Tls, SaysWhatIsWrongWithItsFiles) {
  const TlsFiles good = make_certificate(folder_.path()),
                 other = make_certificate(folder_.path(), {.name = "other"});
  const auto expect = [&](const TlsFiles& files, const std::string& sentence) {
    const std::string told = refusal(files);
    EXPECT_NE(told.find(sentence), std::string::npos) << told;
  };
  expect(good, "started");
  expect({"/nowhere.pem", good.key, ""}, "/nowhere.pem: cannot be read");
  expect({good.certificate, "", ""}, "both a certificate and its key, found only a certificate");
  expect({good.certificate, other.key, ""}, "belongs to " + good.certificate);
  expect({good.key, good.key, ""}, "runnel.key: not a certificate in PEM format");
  expect({good.certificate, good.certificate, ""}, "runnel.pem: not a key in PEM format");
  expect(make_certificate(folder_.path(), {.name = "old", .first_day = -9, .last_day = -2}),
         "old.pem: the certificate was valid until ");
  expect(make_certificate(folder_.path(), {.name = "young", .first_day = 2, .last_day = 9}),
         "young.pem: the certificate is valid from ");
  expect({good.certificate, good.key, "/nowhere"}, "/nowhere: cannot be read");
  expect({good.certificate, good.key, good.key}, "not certificates of authorities");
}

TEST_F(Tls, CountsByAddress) {
  serve(make_certificate(folder_.path()), std::make_shared<Admission>(Admission::Limits{
                                              .most_connections = 2, .rate = 0, .own_machine = true}));
  {
    TlsClient one(address_, {}), two(address_, {}), three(address_, {}),
        other(address_, {.from = "127.0.0.2"});
    EXPECT_TRUE(one.is_open() && two.is_open());
    EXPECT_FALSE(three.is_open());
    EXPECT_TRUE(other.is_open());
  }
  // Once they have left, there is room again.
  EXPECT_TRUE(within(milliseconds(20000), [&] { return TlsClient(address_, {}).is_open(); }));
}

}  // namespace
}  // namespace runnel::net::test
