// Streams, pages and Wyoming for other machines: TLS, scopes, limits by address.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/sha256.h"
#include "services/serve/metrics_page.h"
#include "services/serve/web_page.h"
#include "services/wyoming/server.h"
#include "tests/services/net/tls/certificate.h"
#include "tests/services/net/tls/tls_client.h"
#include "tests/services/serve/support.h"

namespace runnel::serve::test {
namespace {

using net::test::make_certificate;
using net::test::TlsClient;
using testing::HasSubstr;

std::string row(std::string_view scopes, std::string_view token) {
  std::string text = std::string(scopes) + " sha256:";
  for (const std::uint8_t byte : sha256(std::as_bytes(std::span(token.data(), token.size())))) {
    text += "0123456789abcdef"[byte >> 4U];
    text += "0123456789abcdef"[byte & 15U];
  }
  return text + "\n";
}

class ServeNetwork : public testing::Test {
 protected:
  ServeNetwork() {
    const std::string file = (digits_.folder() / "tokens").string();
    std::ofstream(file) << row("stream", "this one may send") << row("watch", "this one may watch")
                        << row("manage,watch", "this one may manage");
    tokens_ = *net::Tokens::read(file, "");
    tls_ = make_certificate(digits_.folder());
  }
  ServerOptions options() {
    ServerOptions options;
    options.around = digits_.around();
    options.graph = digits_.options();
    options.tokens = tokens_;
    options.tls = tls_;
    options.most_load = 0;  // a busy machine has less capacity
    return options;
  }
  // All lines of a stream that sends these samples.
  std::vector<std::string> stream(const net::Address& address, const std::string& token,
                                  const std::vector<std::int16_t>& samples) const {
    TlsClient client(address, {.trusts = tls_.certificate});
    client.send(framed(Json({{"source", "far"}, {"token", token}}).dump()));
    for (std::size_t at = 0; at < samples.size(); at += 1000) {
      const std::size_t count = std::min<std::size_t>(1000, samples.size() - at);
      client.send(framed({reinterpret_cast<const char*>(samples.data() + at), 2 * count}));
    }
    client.send(framed(""));
    std::vector<std::string> lines;
    for (std::string line = client.line(); !line.empty(); line = client.line()) lines.push_back(line);
    return lines;
  }
  // The answer of a page over HTTPS.
  std::string ask(const std::string& origin, const std::string& request, const std::string& token,
                  const std::string& headers = "") const {
    EXPECT_EQ(origin.find("https://"), 0U);
    TlsClient client(*net::Address::parse(origin.substr(8)), {.trusts = tls_.certificate});
    client.send(request + " HTTP/1.1\r\nHost: localhost\r\n" +
                (token.empty() ? "" : "Authorization: Bearer " + token + "\r\n") + headers + "\r\n");
    return client.rest();
  }
  static std::string status_of(const std::string& answer) {
    return answer.size() < 12 ? "none" : answer.substr(9, 3);
  }

  Digits digits_;
  net::Tokens tokens_;
  net::TlsFiles tls_;
};

TEST_F(ServeNetwork, GivesOverTlsWhatTheRecordingGivesOffline) {
  Running running(options());
  const auto samples = sound(3, 5);
  const auto lines = stream(running.server().address(), "this one may send", samples);
  const auto expected = digits_.offline(samples, "far", digits_.around());
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(events_among(lines), expected);
  EXPECT_EQ(record(lines, "summary").at("events"), expected.size());
  // In the clear, one reads why it fails.
  Client plain(running.server());
  plain.greet(R"({"source":"in the clear"})");
  EXPECT_THAT(plain.line(), HasSubstr("this address speaks TLS only"));
  EXPECT_EQ(running.stop(), "");
  EXPECT_EQ(running.server().metrics().completed.load(), 1U);
}

TEST_F(ServeNetwork, TokensHaveScopes) {
  Running running(options());
  const auto error = [&](const std::string& token) {
    return record(stream(running.server().address(), token, {}), "error").at("message").get<std::string>();
  };
  EXPECT_EQ(error("this one may watch"), "the token lacks the scope stream");
  EXPECT_EQ(error("this one may send!"), "the token is not the right one");
  EXPECT_EQ(error(""), "the token is not the right one");

  std::atomic<int> drained{0}, reloaded{0};
  const auto page = WebPage::start({.address = *net::Address::parse("127.0.0.1:0"),
                                    .tokens = tokens_,
                                    .tls = tls_,
                                    .drain = [&] { ++drained; },
                                    .reload =
                                        [&] {
                                          ++reloaded;
                                          return Status(Code::invalid_data, "FILE: not a certificate");
                                        }},
                                   running.server());
  ASSERT_TRUE(page.ok()) << page.status().text();
  const std::string origin = (*page)->origin();
  const auto status = [&](const std::string& request, const std::string& token,
                          const std::string& headers = "") {
    return status_of(ask(origin, request, token, headers));
  };
  EXPECT_EQ(status("GET /metrics", ""), "401");
  EXPECT_EQ(status("GET /metrics", "this one may watcH"), "401");
  EXPECT_EQ(status("GET /metrics", "this one may send"), "403");
  EXPECT_EQ(status("GET /metrics", "this one may watch"), "200");
  EXPECT_EQ(status("GET /metrics?token=this+one+may+watch", ""), "401");
  EXPECT_EQ(status("GET /", "this one may manage"), "200");
  EXPECT_EQ(status("POST /drain", "this one may watch"), "403");
  EXPECT_EQ(status("POST /drain", "this one may manage", "Origin: https://attacker.example\r\n"), "403");
  EXPECT_EQ(status("GET /drain", "this one may manage"), "404");
  EXPECT_EQ(drained, 0);
  EXPECT_EQ(status("POST /drain", "this one may manage"), "200");
  EXPECT_EQ(drained, 1);
  const std::string failed = ask(origin, "POST /reload", "this one may manage");
  EXPECT_EQ(status_of(failed), "500");
  EXPECT_THAT(failed, HasSubstr("FILE: not a certificate"));
  const std::string web_socket =
      "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
      "dGhlIHNhbXBsZSBub25jZQ==\r\n";
  EXPECT_EQ(status("GET /stream", "this one may watch", web_socket), "403");
  EXPECT_EQ(status("GET /socket", "this one may send", web_socket), "403");
  // A browser's cookie is for pages over TLS only.
  const std::string body = "token=this+one+may+watch";
  TlsClient browser(*net::Address::parse(origin.substr(8)), {.trusts = tls_.certificate});
  browser.send(
      "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  const std::string answer = browser.rest();
  EXPECT_EQ(status_of(answer), "303");
  EXPECT_THAT(answer,
              HasSubstr("runnel_token=this%20one%20may%20watch; HttpOnly; SameSite=Strict; Path=/; Secure"));
  EXPECT_EQ(status("GET /", "", "Cookie: x=y; runnel_token=this%20one%20may%20watch\r\n"), "200");
}

TEST_F(ServeNetwork, LimitsAddresses) {
  ServerOptions with = options();
  with.tls = {};
  with.admission = std::make_shared<net::Admission>(
      net::Admission::Limits{.most_connections = 3, .rate = 0, .own_machine = true});
  Running running(with);
  {
    const Client one(running.server()), two(running.server()), three(running.server());
    Client four(running.server());
    EXPECT_THAT(four.line(), HasSubstr(R"("reason":"rate","message":"this address has too many)"));
    const int other = net::test::connect_from(running.server().address(), "127.0.0.2");
    const std::string greeting = framed(R"({"token":"this one may send"})");
    EXPECT_EQ(::send(other, greeting.data(), greeting.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(greeting.size()));
    char first[16] = "";
    EXPECT_GT(recv(other, first, 15, 0), 0);
    EXPECT_THAT(first, HasSubstr("ready"));
    close(other);
  }
  EXPECT_EQ(running.server().metrics().ended[static_cast<std::size_t>(Reason::rate)].load(), 1U);
}

TEST_F(ServeNetwork, WrongTokensCost) {
  ServerOptions with = options();
  with.tls = {};
  with.admission = std::make_shared<net::Admission>(
      net::Admission::Limits{.most_connections = 0, .rate = 0.001, .burst = 40, .own_machine = true});
  Running running(with);
  int answered = 0;
  for (int i = 0; i < 10; ++i) {
    Client client(running.server());
    client.greet(R"({"token":"is it this one?"})");
    const std::string line = client.line();
    if (line.find("rate") != std::string::npos) break;
    EXPECT_THAT(line, HasSubstr("not the right one"));
    ++answered;
  }
  EXPECT_EQ(answered, 4) << "each costs eleven connections";
}

TEST_F(ServeNetwork, WyomingIsForClientsWithCertificates) {
  wyoming::ServerOptions with;
  with.models = {{"digits", digits_.around()}};
  with.graph = digits_.options();
  with.address = *net::Address::parse("0.0.0.0:0");
  with.tls = tls_;
  EXPECT_THAT(std::string(wyoming::Server::make(with).status().text()), HasSubstr("--client-ca"));
  make_certificate(digits_.folder(), {.name = "authority"});
  const net::TlsFiles satellite =
      make_certificate(digits_.folder(), {.name = "satellite", .issuer = "authority"});
  with.tls.client_ca = (digits_.folder() / "authority.pem").string();
  const auto server = wyoming::Server::make(with);
  ASSERT_TRUE(server.ok()) << server.status().text();
  std::thread runs([&] { static_cast<void>((*server)->run()); });
  const std::string where = (*server)->address().text();
  const net::Address here = *net::Address::parse("127.0.0.1" + where.substr(where.rfind(':')));
  {
    TlsClient known(here, {.trusts = tls_.certificate, .own = satellite});
    known.send("{\"type\":\"describe\"}\n");
    EXPECT_THAT(known.line(), HasSubstr("\"info\""));
    TlsClient stranger(here, {.trusts = tls_.certificate});
    stranger.send("{\"type\":\"describe\"}\n");
    EXPECT_EQ(stranger.line(), "");
  }
  (*server)->stop();
  runs.join();
}

}  // namespace
}  // namespace runnel::serve::test
