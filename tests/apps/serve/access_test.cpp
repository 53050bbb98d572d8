// runnel serve for other machines: its files, its signals, its rights.
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "services/net/address.h"
#include "tests/apps/fleet/background.h"
#include "tests/apps/support.h"
#include "tests/services/net/tls/certificate.h"
#include "tests/services/net/tls/tls_client.h"

namespace runnel::apps::test {
namespace {

using net::test::TlsClient;
using std::chrono::milliseconds;

// printf 0123456789abcdef | sha256sum
constexpr char kDigest[] = "sha256:9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f";
constexpr char kToken[] = "0123456789abcdef";

class ServeAccess : public testing::Test {
 protected:
  ServeAccess() : tls_(net::test::make_certificate(folder_.path())) {
    write_text(file("tokens"), std::string("stream,watch,manage ") + kDigest + "\n");
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  [[nodiscard]] std::string said() const {
    return std::filesystem::exists(file("log")) ? read_text(file("log")) : std::string();
  }
  // The program says it, sooner or later.
  [[nodiscard]] bool says(const std::string& text) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (said().find(text) == std::string::npos && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(milliseconds(10));
    return said().find(text) != std::string::npos;
  }
  void serve(std::vector<std::string> further = {}) {
    std::vector<std::string> words = {"serve",     model(),        "--http",     "127.0.0.1:0",
                                      "--tokens",  file("tokens"), "--tls-cert", tls_.certificate,
                                      "--tls-key", tls_.key};
    words.insert(words.end(), further.begin(), further.end());
    program_.emplace(words, file("log"));
    ASSERT_TRUE(says("\"type\":\"listening\"")) << said();
    for (const Json& line : lines()) {
      if (line.at("type") == "listening") page_ = line.at("http").get<std::string>().substr(8);
    }
  }
  // Those of its lines that are JSON.
  [[nodiscard]] std::vector<Json> lines() const {
    std::vector<Json> all;
    std::string text = said();
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      if (text.front() == '{') all.push_back(Json::parse(text.substr(0, end)));
      text.erase(0, end + 1);
    }
    return all;
  }
  std::string ask(const std::string& request, const std::string& token) const {
    TlsClient client(*net::Address::parse(page_), {.trusts = tls_.certificate});
    client.send(request + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n\r\n");
    return client.rest();
  }

  runnel::test::TemporaryFolder folder_;
  net::TlsFiles tls_;
  std::optional<Background> program_;
  std::string page_;
};

TEST_F(ServeAccess, ReadsItsFilesAgain) {
  serve();
  EXPECT_NE(ask("GET /metrics", kToken).find("runnel_streams 0"), std::string::npos);
  EXPECT_NE(ask("GET /metrics", "0123456789abcdeF").find("401"), std::string::npos);
  write_text(file("tokens"), "a secret token\n");
  program_->signal(SIGHUP);
  EXPECT_TRUE(says("tokens and certificates stay as they were: " + file("tokens") + ": line 1: expected"));
  EXPECT_NE(ask("GET /metrics", kToken).find("200"), std::string::npos);
  write_text(file("tokens"), std::string("manage ") + kDigest + "\n");
  program_->signal(SIGHUP);
  EXPECT_TRUE(says("tokens and certificates have been read again"));
  EXPECT_NE(ask("GET /metrics", kToken).find("403"), std::string::npos);
  EXPECT_NE(ask("POST /reload", kToken).find("the files have been read again"), std::string::npos);
  EXPECT_NE(ask("POST /drain", kToken).find("the server stops"), std::string::npos);
  EXPECT_EQ(program_->wait(), 0) << said();
  EXPECT_EQ(said().find("a secret token"), std::string::npos);
  EXPECT_EQ(said().find(kToken), std::string::npos);
}

TEST_F(ServeAccess, BecomesAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIPPED WITHOUT ROOT'S RIGHTS: only root can become another user";
  serve({"--user", "nobody"});
  const passwd* const nobody = getpwnam("nobody");
  ASSERT_NE(nobody, nullptr);
  const std::string id = std::to_string(nobody->pw_uid);
  // All of its threads: who serves pages is no exception.
  int threads = 0;
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/" + std::to_string(program_->process()) + "/task")) {
    const std::string status = read_text(thread.path() / "status");
    EXPECT_NE(status.find("Uid:\t" + id + "\t" + id + "\t" + id + "\t" + id), std::string::npos) << status;
    EXPECT_NE(status.find("CapEff:\t0000000000000000"), std::string::npos) << status;
    ++threads;
  }
  EXPECT_GT(threads, 2);
  EXPECT_NE(ask("GET /metrics", kToken).find("200"), std::string::npos);
  EXPECT_EQ(program_->end(SIGTERM), 0) << said();
}

TEST_F(ServeAccess, RefusesWhatIsWrong) {
  const auto with = [&](std::vector<std::string> further) {
    std::vector<std::string> words = {"serve", model()};
    words.insert(words.end(), further.begin(), further.end());
    return words;
  };
  refusal(with({"--listen", "0.0.0.0:0"}), "give a token");
  refusal(with({"--http", "0.0.0.0:0"}), "give a token");
  refusal(with({"--metrics", "0.0.0.0:0"}), "give a token");
  refusal(with({"--wyoming", "0.0.0.0:0"}), "--client-ca");
  refusal(with({"--tokens", tls_.certificate}), "line 1: expected scopes first");
  refusal(with({"--tokens", "/nowhere"}), "/nowhere");
  refusal(with({"--tls-cert", tls_.certificate}), "both a certificate and its key");
  refusal(with({"--tls-key", tls_.key}), "--tls-cert");
  refusal(with({"--user", "root"}), geteuid() == 0 ? "another user than root" : "root");
  const net::TlsFiles old =
      net::test::make_certificate(folder_.path(), {.name = "old", .first_day = -9, .last_day = -2});
  refusal(with({"--tls-cert", old.certificate, "--tls-key", old.key}), "the certificate was valid until");
}

}  // namespace
}  // namespace runnel::apps::test
