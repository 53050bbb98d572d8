// Signing in, TLS and rights, with a real server and certificates that openssl makes here.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "services/fleet/chunk.h"
#include "services/fleet/nats/jetstream.h"
#include "services/fleet/nats/options.h"
#include "tests/services/fleet/nats/nats_server.h"

namespace runnel::fleet::test {
namespace {

namespace fs = std::filesystem;

class SecurityTest : public testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(file(name)) << text; }
  // A server with these lines of configuration; null: the test is skipped.
  bool serve(const std::string& more, const std::string& store = {}) {
    std::string why;
    server_ = NatsServer::start(why, more, store);
    if (server_ == nullptr) skipped_ = why;
    return server_ != nullptr;
  }
  // An authority, and certificates by it: for this machine, for another one, and one that has expired.
  bool make_certificates() {
    if (::access("/usr/bin/openssl", X_OK) != 0) {
      skipped_ = "openssl is not installed";
      return false;
    }
    const std::string in = "cd '" + folder_.path().string() + "' && ", quiet = " >/dev/null 2>&1";
    const auto run = [&](const std::string& command) {
      return std::system((in + command + quiet).c_str()) == 0;
    };
    const std::string key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes ";
    bool good = run("openssl req -x509 " + key + "-keyout ca.key -out ca.pem -subj /CN=authority -days 2");
    good =
        good && run("openssl req -x509 " + key + "-keyout else.key -out else.pem -subj /CN=stranger -days 2");
    write("here.ext", "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
    write("there.ext", "subjectAltName=DNS:elsewhere.example\n");
    for (const std::string name : {"here", "there"}) {
      good = good && run("openssl req -new " + key + "-keyout " + name + ".key -out " + name +
                         ".csr -subj /CN=" + name);
      good = good && run("openssl x509 -req -in " + name +
                         ".csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 "
                         "-extfile " +
                         name + ".ext -out " + name + ".pem");
    }
    good = good && run("openssl x509 -req -in here.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days -1 "
                       "-extfile here.ext -out expired.pem");
    if (!good) skipped_ = "openssl made no certificates";
    return good;
  }
  [[nodiscard]] std::string tls(const std::string& name, const std::string& key,
                                const std::string& more = {}) const {
    return "tls {cert_file: \"" + file(name) + "\", key_file: \"" + file(key) + "\"" + more + "}\n";
  }
  [[nodiscard]] Wire::Settings settings(bool with_tls = false) const {
    Wire::Settings out;
    out.urls = (with_tls ? "tls" : "nats") + server_->url().substr(4);
    out.name = "test";
    out.timeout = 5;
    if (with_tls) out.certificates = file("ca.pem");
    return out;
  }
  // "" when it is connected, else the sentence.
  static std::string sentence(const Wire::Settings& settings) {
    auto wire = make_wire();
    if (!wire.ok()) return std::string(wire.status().text());
    JetStream exchange(*std::move(wire));
    const Status status = exchange.open(settings);
    EXPECT_TRUE(status.ok() || !status.text().empty());
    return std::string(status.text());
  }
  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }

  runnel::test::TemporaryFolder folder_;
  std::unique_ptr<NatsServer> server_;
  std::string skipped_;
};

#define NEEDS(condition) \
  if (!(condition)) GTEST_SKIP() << "SKIPPED: " << skipped_

TEST_F(SecurityTest, TheServersCertificate) {
  NEEDS(make_certificates());
  NEEDS(serve(tls("here.pem", "here.key")));
  Wire::Settings good = settings(true);
  EXPECT_EQ(sentence(good), "");
  Wire::Settings plain = settings();
  plain.certificates = file("ca.pem");
  EXPECT_EQ(sentence(plain), "") << "the authority's file asks for TLS";
  Wire::Settings stranger = good;
  stranger.certificates = file("else.pem");
  EXPECT_TRUE(has(sentence(stranger), "the server's certificate is not accepted")) << sentence(stranger);
  Wire::Settings nobody = good;
  nobody.certificates.clear();
  EXPECT_TRUE(has(sentence(nobody), "the server's certificate is not accepted")) << sentence(nobody);
  Wire::Settings missing = good;
  missing.certificates = file("nothing.pem");
  EXPECT_TRUE(has(sentence(missing), "nothing.pem")) << sentence(missing);
}

TEST_F(SecurityTest, OfAnotherHost) {
  NEEDS(make_certificates());
  NEEDS(serve(tls("there.pem", "there.key")));
  Wire::Settings here = settings(true);
  EXPECT_TRUE(has(sentence(here), "mismatch")) << sentence(here);
  here.server_name = "elsewhere.example";
  EXPECT_EQ(sentence(here), "");
}

TEST_F(SecurityTest, Expired) {
  NEEDS(make_certificates());
  NEEDS(serve(tls("expired.pem", "here.key")));
  EXPECT_TRUE(has(sentence(settings(true)), "certificate has expired")) << sentence(settings(true));
}

TEST_F(SecurityTest, TheClientsCertificate) {
  NEEDS(make_certificates());
  NEEDS(serve(tls("here.pem", "here.key", ", ca_file: \"" + file("ca.pem") + "\", verify: true")));
  Wire::Settings with = settings(true);
  EXPECT_NE(sentence(with), "") << "none was shown";
  with.certificate = file("there.pem");
  with.key = file("there.key");
  EXPECT_EQ(sentence(with), "");
}

TEST_F(SecurityTest, NoTls) {
  NEEDS(make_certificates());
  NEEDS(serve(""));
  EXPECT_TRUE(has(sentence(settings(true)), "the server has no TLS")) << sentence(settings(true));
  Wire::Settings nowhere = settings();
  nowhere.urls = "nats://127.0.0.1:1";
  EXPECT_TRUE(has(sentence(nowhere), "No server available")) << sentence(nowhere);
}

TEST_F(SecurityTest, PasswordsAndTokens) {
  write("password", "right\n");
  write("wrong", "wrong\n");
  NEEDS(serve("authorization {users = [{user: me, password: right}]}\n"));
  Wire::Settings me = settings();
  EXPECT_TRUE(has(sentence(me), "the server refuses this user")) << sentence(me);
  me.user = "me";
  EXPECT_TRUE(has(sentence(me), "NATS_PASSWORD")) << sentence(me);
  ::setenv("NATS_PASSWORD", "right", 1);
  EXPECT_EQ(sentence(me), "");
  ::unsetenv("NATS_PASSWORD");
  me.password_file = file("wrong");
  EXPECT_TRUE(has(sentence(me), "the server refuses this user")) << sentence(me);
  me.password_file = file("password");
  EXPECT_EQ(sentence(me), "");
  NEEDS(serve("authorization {token: right}\n"));
  Wire::Settings token = settings();
  EXPECT_TRUE(has(sentence(token), "the server refuses this user"));
  token.token_file = file("password");
  EXPECT_EQ(sentence(token), "");
}

// The pair of keys of the NATS documentation.
TEST_F(SecurityTest, Keys) {
  const std::string key = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";
  write("seed", "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY\n" + key + "\n");
  write("none", "something\n");
  NEEDS(serve("authorization {users = [{nkey: " + key + "}]}\n"));
  Wire::Settings me = settings();
  EXPECT_NE(sentence(me), "");
  me.nkey = file("seed");
  EXPECT_EQ(sentence(me), "");
  me.nkey = file("none");
  EXPECT_TRUE(has(sentence(me), "expected a user's public key")) << sentence(me);
  me.nkey.clear();
  me.credentials = file("none");
  EXPECT_TRUE(has(sentence(me), file("none"))) << sentence(me);
}

// The answer to a request; those to others are kept.
Answer answer(JetStream& exchange, std::uint64_t request) {
  static std::map<std::pair<JetStream*, std::uint64_t>, Answer> kept;
  const auto early = kept.find({&exchange, request});
  if (early != kept.end()) return early->second;
  Happening what;
  while (exchange.next(what, 10000)) {
    auto* const one = std::get_if<Answer>(&what);
    if (one == nullptr) continue;
    if (one->request == request) return *one;
    kept[{&exchange, one->request}] = *one;
  }
  ADD_FAILURE() << "no answer";
  return {};
}

TEST_F(SecurityTest, AFullDisk) {
  NEEDS(serve("", ", max_file_store: 3MB"));
  JetStream exchange(*make_wire());
  ASSERT_TRUE(exchange.open(settings()).ok());
  ASSERT_TRUE(exchange.use({"audio.>", "RUNNEL_INPUT", 1, 1, false}).ok());
  std::uint64_t stored = 0;
  Answer last;
  for (int i = 0; i < 20; ++i) {
    last = answer(exchange, exchange.append("audio.a", stored, {{"Nats-Msg-Id", std::to_string(i)}},
                                            std::string(300000, 'x')));
    if (last.outcome != Answer::Outcome::done) break;
    stored = last.sequence;
  }
  EXPECT_EQ(last.outcome, Answer::Outcome::failed);
  EXPECT_TRUE(has(last.why, "insufficient")) << last.why;
  EXPECT_GT(stored, 5U);
  EXPECT_EQ(answer(exchange, exchange.last("audio.a")).message->sequence, stored) << "what was stored stays";
}

TEST_F(SecurityTest, TooLargeForTheServer) {
  NEEDS(serve(""));
  JetStream exchange(*make_wire());
  ASSERT_TRUE(exchange.open(settings()).ok());
  ASSERT_TRUE(exchange.use({"audio.>", "RUNNEL_INPUT", 1, 1, false}).ok());
  const Answer large =
      answer(exchange, exchange.append("audio.a", 0, {}, std::string(std::size_t{64} << 20, 'x')));
  EXPECT_EQ(large.outcome, Answer::Outcome::failed);
  EXPECT_TRUE(has(large.why, "Payload")) << large.why;
  EXPECT_EQ(answer(exchange, exchange.append("audio.a", 0, {}, "x")).outcome, Answer::Outcome::done);
}

// The sample of the page, with its passwords: what each user may do, and what not.
TEST_F(SecurityTest, LeastRights) {
  std::ifstream page(RUNNEL_SOURCE_FOLDER "/docs/fleet.md");
  const std::string text(std::istreambuf_iterator<char>(page), {});
  const std::string begin = "authorization {", end = "\n}\n";
  const std::size_t at = text.find(begin);
  ASSERT_NE(at, std::string::npos);
  std::string rights = text.substr(at, text.find(end, at) + end.size() - at);
  for (const std::string user : {"ADMIN", "DEVICE", "WORKER", "READER"}) {
    const std::string variable = "$" + user + "_PASSWORD";
    ASSERT_NE(rights.find(variable), std::string::npos) << user;
    rights.replace(rights.find(variable), variable.size(), user);
    write(user, user + "\n");
  }
  NEEDS(serve(rights));
  const auto connect = [&](const std::string& user, const std::string& variable, const std::string& inbox) {
    Wire::Settings it = settings();
    it.user = user;
    it.password_file = file(variable);
    it.inbox = inbox;
    auto out = std::make_unique<JetStream>(*make_wire());
    const Status opened = out->open(it);
    EXPECT_TRUE(opened.ok()) << user << ": " << opened.text();
    return out;
  };
  const auto admin = connect("admin", "ADMIN", "");
  using Wanted = JetStream::Wanted;
  for (const Wanted& one :
       {Wanted{"audio.>", "RUNNEL_INPUT", 1, 1, false}, Wanted{"events.>", "RUNNEL_EVENTS", 1, 0, false},
        Wanted{"apart.>", "RUNNEL_APART", 1, 7, false}, Wanted{"$KV.runnel.>", "KV_runnel", 1, 0, true}})
    ASSERT_TRUE(admin->use(one).ok());
  const auto stores = [&](JetStream& exchange, const std::string& subject) {
    return answer(exchange, exchange.append(subject, Exchange::kAnyway, {}, "x")).outcome ==
           Answer::Outcome::done;
  };
  const auto reads = [&](JetStream& exchange, const std::string& subject) {
    return answer(exchange, exchange.last(subject)).message.has_value();
  };
  ASSERT_TRUE(stores(*admin, "audio.hall.2") && stores(*admin, "events.audio.hall.1"));

  // What is refused has no answer, only the server's complaint: all of it is asked for first, and awaited
  // once.
  struct Refused {
    JetStream* exchange;
    std::uint64_t request;
    std::string what;
  };
  std::vector<Refused> refused;
  const auto must_not_store = [&](JetStream& exchange, const std::string& subject) {
    refused.push_back(
        {&exchange, exchange.append(subject, Exchange::kAnyway, {}, "x"), "storing " + subject});
  };
  const auto must_not_read = [&](JetStream& exchange, const std::string& subject) {
    refused.push_back({&exchange, exchange.last(subject), "reading " + subject});
  };
  const auto delivered = [&](JetStream& exchange, const std::string& subject, int tries) {
    const std::uint64_t feed = exchange.follow(subject, 1);
    Happening what;
    for (int i = 0; i < tries; ++i)
      if (exchange.next(what, 200) && std::holds_alternative<Delivery>(what) &&
          std::get<Delivery>(what).feed == feed)
        return true;
    return false;
  };

  const auto device = connect("hall-1", "DEVICE", "_INBOX_hall_1");
  device->know("audio.>", "RUNNEL_INPUT");
  device->know("events.>", "RUNNEL_EVENTS");
  EXPECT_TRUE(stores(*device, "audio.hall.1"));
  EXPECT_TRUE(reads(*device, "audio.hall.1"));

  const auto worker = connect("worker", "WORKER", "_INBOX_worker");
  for (const Wanted& one :
       {Wanted{"audio.>", "RUNNEL_INPUT", 0, 1, false}, Wanted{"events.>", "RUNNEL_EVENTS", 0, 0, false},
        Wanted{"apart.>", "RUNNEL_APART", 0, 7, false}, Wanted{"$KV.runnel.>", "KV_runnel", 0, 0, true}}) {
    const Status used = worker->use(one);
    EXPECT_TRUE(used.ok()) << used.text();
  }
  EXPECT_TRUE(stores(*worker, "events.audio.hall.1"));
  EXPECT_TRUE(stores(*worker, "$KV.runnel.s.audio.hall.1"));
  EXPECT_TRUE(stores(*worker, "apart.audio.hall.1"));
  EXPECT_TRUE(reads(*worker, "audio.hall.2"));
  EXPECT_EQ(answer(*worker, worker->list("audio.>")).subjects.size(), 2U);
  EXPECT_TRUE(delivered(*worker, "audio.hall.2", 100));
  worker->watch("$KV.runnel.>");

  const auto reader = connect("reader", "READER", "_INBOX_reader");
  ASSERT_TRUE(reader->use({"events.>", "RUNNEL_EVENTS", 0, 0, false}).ok());
  EXPECT_TRUE(delivered(*reader, "events.audio.hall.1", 100));

  must_not_store(*device, "audio.hall.2");  // another device's
  must_not_read(*device, "audio.hall.2");
  must_not_store(*device, "events.audio.hall.1");
  must_not_read(*device, "events.audio.hall.1");
  must_not_store(*device, "$KV.runnel.s.audio.hall.1");
  must_not_store(*worker, "audio.hall.2");  // a worker makes no sound
  must_not_store(*reader, "events.audio.hall.1");
  must_not_store(*reader, "audio.hall.1");
  reader->know("audio.>", "RUNNEL_INPUT");
  must_not_read(*reader, "audio.hall.1");
  bool told = false;
  for (const Refused& one : refused) {
    const Answer out = answer(*one.exchange, one.request);
    EXPECT_EQ(out.outcome, Answer::Outcome::failed) << one.what;
    told = told || has(out.why, "Permissions Violation");
  }
  EXPECT_TRUE(told);
  EXPECT_FALSE(delivered(*reader, "audio.hall.1", 3)) << "no sound for who may read events";
}

TEST(NatsOptions, WhatBelongsTogether) {
  const auto wrong = [](const auto& set) {
    Wire::Settings one;
    one.urls = "nats://somewhere:4222";
    set(one);
    const Status status = complete_settings(one);
    return status.ok() ? std::string() : std::string(status.text());
  };
  EXPECT_EQ(wrong([](Wire::Settings&) {}), "");
  EXPECT_NE(wrong([](Wire::Settings& one) { one.urls = "nats://me:pw@somewhere"; }), "");
  EXPECT_NE(wrong([](Wire::Settings& one) { one.urls = ""; }), "");
  EXPECT_NE(wrong([](Wire::Settings& one) { one.urls = "https://somewhere"; }), "");
  EXPECT_NE(wrong([](Wire::Settings& one) { one.nkey = "a", one.credentials = "b"; }), "");
  EXPECT_NE(wrong([](Wire::Settings& one) { one.key = "a"; }), "");
  EXPECT_NE(wrong([](Wire::Settings& one) { one.password_file = "a"; }), "");
  EXPECT_NE(wrong([](Wire::Settings& one) { one.inbox = "a.>"; }), "");
  ::setenv("NATS_CREDS", "file.creds", 1);
  Wire::Settings one;
  one.urls = "nats://somewhere:4222";
  EXPECT_TRUE(complete_settings(one).ok());
  EXPECT_EQ(one.credentials, "file.creds");
  Wire::Settings other;
  other.urls = one.urls;
  other.user = "me";
  other.password = "secret";
  EXPECT_TRUE(complete_settings(other).ok()) << "who is named means no other user";
  EXPECT_EQ(other.credentials, "");
  ::unsetenv("NATS_CREDS");
  EXPECT_NE(open_secret(other).find("anybody can read"), std::string::npos);
  other.urls = "tls://somewhere:4222";
  EXPECT_EQ(open_secret(other), "");
  other.urls = "nats://127.0.0.1:4222";
  EXPECT_EQ(open_secret(other), "");
}

}  // namespace
}  // namespace runnel::fleet::test
