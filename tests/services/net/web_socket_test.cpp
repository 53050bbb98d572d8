// WebSockets of the HTTP server, with clients in the same program.
#include "services/net/web_socket.h"

#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "services/net/http_server.h"
#include "tests/services/net/socket_client.h"
#include "tests/support/data.h"

namespace runnel::net::test {
namespace {

using std::chrono::milliseconds;

// Sends back what it hears; "close" closes, "flood N" sends N kilobytes.
class Echo final : public SocketPeer {
 public:
  explicit Echo(std::atomic<int>& open) : open_(open) { ++open_; }
  ~Echo() override { --open_; }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;
  [[nodiscard]] Interest interest() const override { return {}; }
  void heard(bool is_text, std::string_view message, SocketOut& out) override {
    if (message == "close") return out.close(kNormal, "as you wish");
    if (message.starts_with("flood ")) {
      for (int i = std::stoi(std::string(message.substr(6))); i > 0; --i) out.text(std::string(1024, 'x'));
      return;
    }
    out.text((is_text ? "text " : "binary ") + std::to_string(message.size()) + " " +
             std::string(is_text ? message.substr(0, 100) : ""));
  }
  void work(SocketOut&) override {}

 private:
  std::atomic<int>& open_;
};

class WebSockets : public testing::Test {
 protected:
  std::unique_ptr<HttpServer> serve(HttpServer::Options options = {},
                                    milliseconds idle = milliseconds(15000)) {
    options.address = *Address::parse("127.0.0.1:0");
    options.threads = 60;
    SocketRoute echo;
    echo.path = "/echo";
    echo.longest_message = 100000;
    echo.idle = idle;
    echo.open = [this](Scopes, std::string& refusal) -> std::unique_ptr<SocketPeer> {
      if (open_ >= 50) {
        refusal = "fifty are enough";
        return nullptr;
      }
      return std::make_unique<Echo>(open_);
    };
    auto made = HttpServer::start(options,
                                  {{"/",
                                    [](const auto&) {
                                      HttpReply reply;
                                      reply.body = "page";
                                      return reply;
                                    }}},
                                  {echo});
    EXPECT_TRUE(made.ok()) << made.status().text();
    return std::move(made).value();
  }
  static int port_of(const HttpServer& server) {
    const std::string text = server.address().text();
    return std::stoi(text.substr(text.rfind(':') + 1));
  }
  // A busy machine is slow.
  static bool within(milliseconds patience, const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!done() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(2));
    return done();
  }
  std::atomic<int> open_{0};
};

TEST_F(WebSockets, CarryMessagesBothWays) {
  const auto server = serve();
  SocketClient client(port_of(*server), "/echo");
  ASSERT_EQ(client.status(), 101) << client.head();
  EXPECT_NE(client.head().find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos)
      << client.head();
  client.text("hello");
  EXPECT_EQ(client.next()->payload, "text 5 hello");
  client.binary(std::string(70000, 'y'));
  EXPECT_EQ(client.next()->payload, "binary 70000 ");
  // Fragments, with a ping between them that is answered at once.
  client.send(Opcode::text, "a", false);
  client.send(Opcode::ping, "now");
  auto message = client.next();
  EXPECT_EQ(message->opcode, Opcode::pong);
  EXPECT_EQ(message->payload, "now");
  client.send(Opcode::continuation, "b");
  EXPECT_EQ(client.next()->payload, "text 2 ab");
  client.text("close");
  message = client.next();
  EXPECT_EQ(message->opcode, Opcode::close);
  EXPECT_EQ(message->payload.substr(2), "as you wish");
  client.send(Opcode::close, message->payload);
  EXPECT_TRUE(client.is_closed_within(milliseconds(20000)));
  EXPECT_TRUE(within(milliseconds(20000), [&] { return open_ == 0; }));
}

TEST_F(WebSockets, AreOpenedForTheServersOwnPagesOnly) {
  const auto server = serve();
  const std::string own = "127.0.0.1:" + std::to_string(port_of(*server));
  const auto status = [&](std::string_view headers, std::string_view path = "/echo") {
    return SocketClient(port_of(*server), path, headers).status();
  };
  EXPECT_EQ(status("Origin: http://" + own + "\r\n"), 101);
  EXPECT_EQ(status(""), 101) << "a program";
  EXPECT_EQ(status("Origin: http://attacker.example\r\n"), 403);
  EXPECT_EQ(status("Origin: https://" + own + "\r\n"), 403) << "another scheme is another origin";
  EXPECT_EQ(status("Origin: http://127.0.0.1\r\n"), 403) << "as is another port";
  EXPECT_EQ(status("Origin: null\r\n"), 403);
  EXPECT_EQ(status("", "/nothing"), 404);
  httplib::Client plain("127.0.0.1", port_of(*server));
  EXPECT_EQ(plain.Get("/echo")->status, 426);
  EXPECT_EQ(plain.Get("/echo", {{"Host", "attacker.example"}})->status, 403);
  const auto handshake = [&](const char* name, const char* value) {
    httplib::Headers headers = {
        {"Upgrade", "websocket"}, {"Connection", "Upgrade"}, {"Sec-WebSocket-Version", "13"}};
    headers.emplace("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
    headers.erase(name);
    if (*value != '\0') headers.emplace(name, value);
    return plain.Get("/echo", headers)->status;
  };
  EXPECT_EQ(handshake("Sec-WebSocket-Version", "8"), 426);
  EXPECT_EQ(handshake("Sec-WebSocket-Key", ""), 400);
  EXPECT_EQ(handshake("Sec-WebSocket-Key", "short"), 400);
  EXPECT_EQ(handshake("Upgrade", "h2c"), 426);
  EXPECT_EQ(plain.Get("/")->body, "page");
}

TEST_F(WebSockets, AskForTheToken) {
  HttpServer::Options options;
  options.tokens = "0123456789abcdef";
  const auto server = serve(options);
  const int port = port_of(*server);
  EXPECT_EQ(SocketClient(port, "/echo").status(), 401);
  EXPECT_EQ(SocketClient(port, "/echo", "Authorization: Bearer 0123456789abcdeX\r\n").status(), 401);
  EXPECT_EQ(SocketClient(port, "/echo?token=0123456789abcdef").status(), 401)
      << "addresses are remembered and logged";
  EXPECT_EQ(SocketClient(port, "/echo", "Authorization: Bearer 0123456789abcdef\r\n").status(), 101);
  EXPECT_EQ(SocketClient(port, "/echo", "Cookie: runnel_token=0123456789abcdef\r\n").status(), 101);
}

// What breaks a rule ends that connection, and no other.
TEST_F(WebSockets, SurviveClientsThatBreakRules) {
  const auto server = serve();
  SocketClient good(port_of(*server), "/echo");
  const auto code_after = [&](std::string_view bytes) {
    SocketClient client(port_of(*server), "/echo");
    client.send_bytes(bytes);
    const auto message = client.next();
    if (!message || message->opcode != Opcode::close) return 0;
    EXPECT_TRUE(client.is_closed_within(milliseconds(20000)));
    return message->code();
  };
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  EXPECT_EQ(code_after(std::string{'\x82', '\xff', 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4}), kTooLong);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 100 * 1024) << "kilobytes for an announced gigabyte";
  EXPECT_EQ(code_after("\x81\x01x"), kProtocolError) << "no mask";
  EXPECT_EQ(code_after("GET / HTTP/1.1\r\n\r\n"), kProtocolError);
  std::string bad;
  constexpr std::array<std::uint8_t, 4> kMask = {1, 2, 3, 4};
  append_frame(bad, Opcode::text, "\xff", &kMask);
  EXPECT_EQ(code_after(bad), kBadText);
  good.text("still");
  EXPECT_EQ(good.next()->payload, "text 5 still");
}

TEST_F(WebSockets, LoseClientsThatAreGone) {
  const auto server = serve({}, milliseconds(1500));
  SocketClient quiet(port_of(*server), "/echo"), deaf(port_of(*server), "/echo");
  deaf.be_deaf();
  EXPECT_TRUE(within(milliseconds(20000), [&] { return open_ == 2; }));
  // The one that answers pings stays; the other one does not answer, as behind a broken line.
  std::thread answers([&] { EXPECT_FALSE(quiet.next(milliseconds(2200)).has_value()); });
  EXPECT_TRUE(deaf.is_closed_within(milliseconds(20000)));
  answers.join();
  quiet.text("here");
  EXPECT_EQ(quiet.next()->payload, "text 4 here");
  EXPECT_TRUE(within(milliseconds(20000), [&] { return open_ == 1; }));
}

TEST_F(WebSockets, LoseClientsThatDoNotRead) {
  const auto server = serve({}, milliseconds(1000));
  SocketClient lazy(port_of(*server), "/echo", {}, 4096);
  lazy.text("flood 20000");
  EXPECT_TRUE(within(milliseconds(20000), [&] { return open_ == 1; }));
  EXPECT_TRUE(within(milliseconds(20000), [&] { return open_ == 0; }));
  SocketClient good(port_of(*server), "/echo");
  good.text("here");
  EXPECT_EQ(good.next()->payload, "text 4 here");
}

TEST_F(WebSockets, AreFiftyAtATimeAndSayGoodbye) {
  auto server = serve();
  std::vector<std::unique_ptr<SocketClient>> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(std::make_unique<SocketClient>(port_of(*server), "/echo"));
    ASSERT_EQ(clients.back()->status(), 101) << i;
  }
  SocketClient late(port_of(*server), "/echo");
  EXPECT_EQ(late.status(), 503);
  EXPECT_NE(late.head().find("fifty are enough"), std::string::npos);
  for (auto& client : clients) client->text("all");
  for (auto& client : clients) EXPECT_EQ(client->next()->payload, "text 3 all");
  httplib::Client plain("127.0.0.1", port_of(*server));
  EXPECT_EQ(plain.Get("/")->status, 200);
  std::thread ends([&] { server.reset(); });
  for (auto& client : clients) {
    const auto message = client->next();
    ASSERT_TRUE(message.has_value());
    EXPECT_EQ(message->opcode, Opcode::close);
    EXPECT_EQ(message->code(), kGoingAway);
    client->send(Opcode::close, message->payload);
  }
  ends.join();
  EXPECT_EQ(open_, 0);
}

class HttpsPages : public WebSockets {
 protected:
  // A certificate made on the spot; empty: there is no openssl.
  [[nodiscard]] std::string certificate(const std::string& name) const {
    const std::string file = (folder_.path() / (name + ".pem")).string();
    const std::string call =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=" +
        name + " -addext subjectAltName=IP:127.0.0.1 -keyout '" + file + ".key' -out '" + file +
        "' 2>/dev/null";
    return std::system(call.c_str()) == 0 ? file : "";
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(HttpsPages, AreForThoseWithACertificate) {
  const std::string file = certificate("one"), other = certificate("two");
  if (file.empty()) GTEST_SKIP() << "SKIPPED WITHOUT THE PROGRAM openssl";
  HttpServer::Options options;
  options.tls.certificate = file;
  options.tls.key = file + ".key";
  const auto server = serve(options);
  EXPECT_EQ(server->origin(), "https://" + server->address().text());
  httplib::SSLClient client("127.0.0.1", port_of(*server));
  client.set_ca_cert_path(file.c_str());
  client.enable_server_certificate_verification(true);
  const auto page = client.Get("/");
  ASSERT_TRUE(page) << to_string(page.error());
  EXPECT_EQ(page->body, "page");
  EXPECT_EQ(client.Get("/echo")->status, 426);
  // Who speaks plain HTTP there reads why it fails.
  httplib::Client plain("127.0.0.1", port_of(*server));
  const auto refused = plain.Get("/");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 400);
  EXPECT_NE(refused->body.find("HTTPS only"), std::string::npos);

  const auto failure = [&](const std::string& with, const std::string& key) {
    options.address = *Address::parse("127.0.0.1:0");
    options.tls.certificate = with;
    options.tls.key = key;
    const auto started = HttpServer::start(options, {}, {});
    return started.ok() ? "started" : std::string(started.status().text());
  };
  EXPECT_NE(failure("/nowhere.pem", file + ".key").find("/nowhere.pem: cannot be read"), std::string::npos);
  EXPECT_NE(failure(file, other + ".key").find("belongs to"), std::string::npos);
  EXPECT_NE(failure(file + ".key", file + ".key").find("not a certificate in PEM format"), std::string::npos);
  EXPECT_NE(failure(file, "").find("both a certificate and its key"), std::string::npos);
}

}  // namespace
}  // namespace runnel::net::test
