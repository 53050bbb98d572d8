// Serving: what clients get, and what happens to those who behave badly.
#include <gmock/gmock.h>

#include <cstring>
#include <random>

#include "services/net/access/token.h"
#include "services/serve/capacity.h"
#include "services/serve/greeting.h"
#include "tests/services/serve/support.h"

namespace runnel::serve::test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class Serve : public testing::Test {
 protected:
  ServerOptions options() {
    ServerOptions options;
    options.around = digits_.around();
    options.graph = digits_.options();
    return options;
  }
  // Sends a whole recording in parts and returns all lines.
  static std::vector<std::string> talk(Client& client, const std::string& greeting,
                                       const std::vector<std::int16_t>& samples, unsigned seed,
                                       std::size_t channels = 1) {
    std::mt19937 random(seed);
    client.greet(greeting);
    for (std::size_t at = 0; at < samples.size();) {
      const std::size_t count = std::min(samples.size() - at, (1 + random() % 4000) * channels);
      client.send_samples(samples, at, count);
      at += count;
    }
    client.end();
    return client.rest();
  }
  // A well-behaved client gets what it should.
  void expect_good(const Server& server, const std::string& token = "") {
    const auto samples = sound(1.5, 77);
    Client client(server);
    const std::string greeting =
        token.empty() ? R"({"source":"good"})" : R"({"source":"good","token":")" + token + "\"}";
    EXPECT_EQ(events_among(talk(client, greeting, samples, 1)),
              digits_.offline(samples, "good", digits_.around()));
  }
  std::string error_of(const Server& server, const std::string& bytes, bool close = true) {
    Client client(server);
    client.send_bytes(bytes);
    if (close) client.close_sending();
    const Json error = record(client.rest(), "error");
    return error.is_object()
               ? error.at("reason").get<std::string>() + ": " + error.at("message").get<std::string>()
               : "";
  }
  Digits digits_;
};

// 24 clients at once: other sounds, rates, channels, pieces; two threads and one.
TEST_F(Serve, GivesWhatTheRecordingGivesOffline) {
  struct Format {
    int rate, channels;
  };
  constexpr Format kFormats[] = {{16000, 1}, {16000, 1}, {8000, 1}, {48000, 2}};
  constexpr int kClients = 24;
  for (const int threads : {1, 2}) {
    for (const int chunk : {0, 4}) {
      SCOPED_TRACE(testing::Message() << threads << " threads, chunk " << chunk);
      ServerOptions with = options();
      with.around = digits_.around("fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600", chunk);
      with.threads = threads;
      with.most_load = 0;  // a busy machine has less capacity
      with.receive_together = (threads == 1) == (chunk == 0);
      Running running(with);
      std::vector<std::vector<std::string>> lines(kClients);
      std::vector<std::thread> clients;
      for (int i = 0; i < kClients; ++i) {
        clients.emplace_back([&, i] {
          const Format format = kFormats[i % 4];
          Client client(running.server());
          const std::string greeting = "{\"format\":\"s16\",\"rate\":" + std::to_string(format.rate) +
                                       ",\"channels\":" + std::to_string(format.channels) +
                                       ",\"source\":\"c" + std::to_string(i) + "\"}";
          lines[static_cast<std::size_t>(i)] = talk(
              client, greeting, sound(1.0 + 0.1 * i, static_cast<unsigned>(i), format.rate, format.channels),
              static_cast<unsigned>(i), static_cast<std::size_t>(format.channels));
        });
      }
      for (std::thread& client : clients) client.join();
      std::size_t events = 0;
      for (int i = 0; i < kClients; ++i) {
        const Format format = kFormats[i % 4];
        const auto samples = sound(1.0 + 0.1 * i, static_cast<unsigned>(i), format.rate, format.channels);
        const auto& got = lines[static_cast<std::size_t>(i)];
        EXPECT_EQ(events_among(got), digits_.offline(samples, "c" + std::to_string(i), with.around,
                                                     format.rate, format.channels));
        const Json summary = record(got, "summary");
        EXPECT_NEAR(summary.at("audio_seconds"), 1.0 + 0.1 * i, 0.001);
        EXPECT_EQ(record(got, "ready").at("conversions").size(), format.rate == 16000   ? 0U
                                                                 : format.channels == 1 ? 1U
                                                                                        : 2U);
        events += events_among(got).size();
      }
      EXPECT_GT(events, 24U);
      EXPECT_EQ(running.stop(), "");
      EXPECT_EQ(running.server().metrics().completed.load(), 24U);
    }
  }
}

// A network on an NPU, four frames in a run: what the CPU finds, frame by frame.
TEST_F(Serve, StepsAModelThatIsCompiledForBlocks) {
  Digits npu(4);
  ServerOptions with = options();
  with.around = npu.around();
  with.graph = npu.options();
  Running running(with);
  std::size_t events = 0;
  for (const double seconds : {0.03, 1.5, 2.02}) {
    const auto samples = sound(seconds, 21);
    Client client(running.server());
    const auto found = events_among(talk(client, R"({"source":"a"})", samples, 5));
    EXPECT_EQ(found, digits_.offline(samples, "a", digits_.around())) << seconds;
    events += found.size();
  }
  EXPECT_GT(events, 2U);
}

// A front end that gives frames at the end of the recording as well.
TEST_F(Serve, BringsOutFramesOfTheEnd) {
  ServerOptions with = options();
  with.around =
      digits_.around("fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600 snip_edges=false", 2);
  Running running(with);
  for (const double seconds : {0.01, 0.3, 2.0}) {
    const auto samples = sound(seconds, 5);
    Client client(running.server());
    EXPECT_EQ(events_among(talk(client, R"({"source":"a"})", samples, 3)),
              digits_.offline(samples, "a", with.around))
        << seconds;
  }
}

// More packets at once than the receiver has buffers, each a message of its own, in several, and several in
// one; some clients have sent all before the server has processed any of it.
TEST_F(Serve, ReceivesFromMoreThanItHasBuffersFor) {
  constexpr std::size_t kClients = 80;
  for (const bool together : {true, false}) {
    SCOPED_TRACE(together);
    ServerOptions with = options();
    with.max_streams = static_cast<int>(kClients);  // 32 buffers
    with.most_load = 0;                             // a busy machine has less capacity
    with.receive_together = together;
    with.gather = std::chrono::milliseconds(60);
    Running running(with);
    const auto samples = sound(1.5, 21);
    constexpr std::size_t kPackets[] = {1600, 400, 2048, 5000};
    std::vector<std::unique_ptr<Client>> clients;
    for (std::size_t i = 0; i < kClients; ++i) {
      clients.push_back(std::make_unique<Client>(running.server()));
      clients.back()->greet(R"({"source":"a"})");
    }
    for (auto& client : clients) ASSERT_EQ(Json::parse(client->line()).at("type"), "ready");
    for (std::size_t at = 0; at < samples.size();) {
      std::size_t longest = 0;
      for (std::size_t i = 0; i < kClients; ++i) {
        const std::size_t packet = kPackets[i % 4];
        // The same 10,000 samples for all, in packets of its own.
        const std::size_t end = std::min(samples.size(), at + 10'000);
        for (std::size_t from = at; from < end; from += packet)
          ASSERT_TRUE(clients[i]->send_samples(samples, from, std::min(packet, end - from)));
        longest = std::max(longest, end - at);
      }
      at += longest;
    }
    const auto expected = digits_.offline(samples, "a", with.around);
    EXPECT_FALSE(expected.empty());
    for (auto& client : clients) {
      client->end();
      EXPECT_EQ(events_among(client->rest()), expected);
    }
    EXPECT_EQ(running.stop(), "");
    EXPECT_EQ(running.server().metrics().completed.load(), kClients);
  }
}

TEST_F(Serve, ClosingIsAnEndToo) {
  Running running(options());
  const auto samples = sound(1.2, 9);
  Client client(running.server());
  client.greet(R"({"source":"a"})");
  client.send_samples(samples, 0, samples.size());
  client.close_sending();
  EXPECT_EQ(events_among(client.rest()), digits_.offline(samples, "a", digits_.around()));
}

TEST_F(Serve, TellsProgress) {
  Running running(options());
  const auto samples = sound(1.0, 2);
  Client client(running.server());
  client.greet(R"({"progress":true})");
  std::int64_t last = 0;
  EXPECT_EQ(Json::parse(client.line()).at("type"), "ready");
  for (std::size_t at = 0; at < samples.size(); at += 1600) {
    client.send_samples(samples, at, 1600);
    for (Json line; last < static_cast<std::int64_t>(at) + 1600;) {
      line = Json::parse(client.line());
      if (line.at("type") == "progress") last = line.at("samples");
    }
  }
  client.end();
  record(client.rest(), "summary");
}

TEST_F(Serve, WantsTheToken) {
  ServerOptions with = options();
  with.tokens = "a token of some length";
  Running running(with);
  for (const char* wrong : {"{}", R"({"token":""})", R"({"token":"a token of some lengtH"})",
                            R"({"token":"a token of some length and more"})"}) {
    const std::string error = error_of(running.server(), framed(wrong));
    EXPECT_THAT(error, HasSubstr("token: ")) << wrong;
    EXPECT_THAT(error, testing::Not(HasSubstr("some"))) << "nothing of a token is repeated";
  }
  expect_good(running.server(), "a token of some length");
  EXPECT_EQ(running.server().metrics().ended[static_cast<std::size_t>(Reason::token)].load(), 4U);
}

TEST_F(Serve, AConnectionEndsOnceInTheMetrics) {
  Running running(options());
  const Metrics& metrics = running.server().metrics();
  for (const char* first : {"nothing that is JSON", "{}"}) {
    Client client(running.server());
    client.greet(first);
    EXPECT_NE(client.line(), "");
    client.vanish();
  }
  for (int i = 0; i < 1000 && metrics.connections.load() > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(metrics.connections.load(), 0);
  EXPECT_EQ(metrics.ended[static_cast<std::size_t>(Reason::greeting)].load(), 1U)
      << "refused, and gone after that";
  EXPECT_EQ(metrics.ended[static_cast<std::size_t>(Reason::gone)].load(), 1U) << "gone in the middle";
}

TEST_F(Serve, ListensForOthersOnlyWithAToken) {
  ServerOptions with = options();
  with.address = *net::Address::parse("0.0.0.0:0");
  const auto refused = Server::make(with);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.status().text()), HasSubstr("token"));
  with.tokens = "a token of some length";
  EXPECT_TRUE(Server::make(with).ok());
}

TEST_F(Serve, AdmitsSoManyAndNoMore) {
  ServerOptions with = options();
  with.max_streams = 2;
  Running running(with);
  Client a(running.server()), b(running.server());
  for (Client* client : {&a, &b}) {
    client->greet();
    EXPECT_THAT(client->line(), HasSubstr("ready"));
  }
  EXPECT_THAT(error_of(running.server(), framed("{}")), HasSubstr("busy: there are 2 streams"));
  a.end();
  record(a.rest(), "summary");
  // The place of one that has ended is free, also for another format.
  Client c(running.server());
  c.greet(R"({"rate":8000})");
  EXPECT_THAT(c.line(), HasSubstr("resample rate=16000"));
  b.vanish();
  for (int i = 0; i < 200 && running.server().metrics().streams.load() > 1; ++i)
    std::this_thread::sleep_for(milliseconds(10));
  expect_good(running.server());
}

TEST_F(Serve, RefusesWhatIsWrong) {
  ServerOptions with = options();
  with.longest_message = 8192;
  Running running(with);
  struct Case {
    std::string bytes, sentence;
  };
  const std::string good = framed("{}");
  for (const Case& wrong :
       {Case{framed("hello"), "greeting: the first message is not a JSON object"},
        Case{framed("[]"), "not a JSON object"}, Case{framed(std::string(3000, '[')), "more than 64 deep"},
        Case{framed(R"({"rate":999})"), "\"rate\": expected a whole number from 1000 to 768000, found 999"},
        Case{framed(R"({"rate":1e300})"), "\"rate\""}, Case{framed(R"({"rate":44101.5})"), "\"rate\""},
        Case{framed(R"({"rate":44101})"), "\"rate\": expected a multiple of 25 Hz, found 44101"},
        Case{framed(R"({"channels":9})"), "\"channels\": expected a whole number from 1 to 8"},
        Case{framed(R"({"channels":-1})"), "\"channels\""},
        Case{framed(R"({"format":"mp3"})"), "one of s16, s32, s24, s24_3, float, found \"mp3\""},
        Case{framed(R"({"source":7})"), "\"source\""},
        Case{framed(R"({"sauce":"a"})"), "unknown key \"sauce\""},
        Case{framed("{\"" + std::string(4500, 'x') + "\":1}"), "expected at most 4096"},
        Case{std::string("\xFF\xFF\xFF\xFF", 4) + "abc", "a message of 4294967295 bytes"},
        Case{good + framed("abc"), "data: a message of 3 bytes, expected a multiple of 2"},
        Case{good + std::string("\x00\x00\x00\x10", 4), "a message of 268435456 bytes"},
        Case{good + framed(std::string(3200, 'x')).substr(0, 100), "ended within a message"}}) {
    EXPECT_THAT(error_of(running.server(), wrong.bytes), HasSubstr(wrong.sentence));
  }
  expect_good(running.server());
}

TEST_F(Serve, GivesUpThoseWhoAreSilent) {
  ServerOptions with = options();
  with.idle = milliseconds(300);
  with.greeting = milliseconds(300);
  Running running(with);
  Client silent(running.server()), half(running.server()), idle(running.server());
  half.send_bytes(std::string("\x10\0\0\0{\"ra", 8));
  idle.greet();
  EXPECT_THAT(record(silent.rest(), "error").at("message").get<std::string>(),
              HasSubstr("no first message within 0.3 s"));
  EXPECT_THAT(record(half.rest(), "error").at("message").get<std::string>(),
              HasSubstr("no first message within 0.3 s"));
  EXPECT_EQ(record(idle.rest(), "error").at("reason"), "idle");
  expect_good(running.server());
}

// Many who never say a word do not keep others out.
TEST_F(Serve, TheOldestSilentOnesMakeRoom) {
  ServerOptions with = options();
  with.max_others = 8;
  with.max_streams = 4;
  Running running(with);
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(std::make_unique<Client>(running.server()));
  expect_good(running.server());
  EXPECT_LE(running.server().metrics().connections.load(), 9);
}

// A client that does not read its answers is held up; the others are not, and it gets everything once it
// reads.
TEST_F(Serve, HoldsUpWhoDoesNotRead) {
  ServerOptions with = options();
  with.most_unsent = 2000;
  with.max_streams = 4;
  Running running(with);
  Client slow(running.server(), 4096);
  slow.greet(R"({"progress":true})");
  // So many that neither the system's buffers nor the server's could hold all answers: packets of a
  // millisecond, each answered by 40 bytes.
  const std::string packet = framed(std::string(32, '\x01'));
  std::string all;
  for (int i = 0; i < 20000; ++i) all += packet;
  std::size_t sent = 0;
  int stuck = 0;
  while (sent < all.size() && stuck < 50) {
    const std::size_t count = slow.send_some(all.substr(sent, 60000));
    sent += count;
    stuck = count == 0 ? stuck + 1 : 0;
    if (count == 0) std::this_thread::sleep_for(milliseconds(10));
  }
  ASSERT_LT(sent, all.size()) << "the server took everything: nobody is held up";
  expect_good(running.server());
  // Now it reads, in another thread, while the rest is sent.
  std::vector<std::string> lines;
  std::thread reader([&] { lines = slow.rest(); });
  EXPECT_TRUE(slow.send_bytes(all.substr(sent)));
  slow.end();
  reader.join();
  EXPECT_NEAR(record(lines, "summary").at("audio_seconds"), 20.0, 0.001);
}

TEST_F(Serve, StopsWithoutLosingWhatWasHeard) {
  Running running(options());
  constexpr int kClients = 10;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < kClients; ++i) {
    const auto samples = sound(1.3, static_cast<unsigned>(i));
    clients.push_back(std::make_unique<Client>(running.server()));
    Client& client = *clients.back();
    client.greet(R"({"source":"a","progress":true})");
    client.send_samples(samples, 0, samples.size());
    // In the middle of another message: that is not heard.
    client.send_bytes(framed(std::string(3200, 'x')).substr(0, 50));
    for (Json line; !line.is_object() || line.at("type") != "progress" ||
                    line.at("samples") != static_cast<std::int64_t>(samples.size());)
      line = Json::parse(client.line());
  }
  Client silent(running.server());
  std::thread stopping([&] { EXPECT_EQ(running.stop(), ""); });
  for (int i = 0; i < kClients; ++i) {
    const auto lines = clients[static_cast<std::size_t>(i)]->rest();
    const Json summary = record(lines, "summary");
    EXPECT_EQ(summary.at("drained"), true);
    // Events before the last progress were read above.
    const auto expected = digits_.offline(sound(1.3, static_cast<unsigned>(i)), "a", digits_.around());
    EXPECT_EQ(summary.at("events"), expected.size());
    clients[static_cast<std::size_t>(i)].reset();
  }
  EXPECT_EQ(record(silent.rest(), "error").at("reason"), "shutdown");
  stopping.join();
  const Json summary = Json::parse(running.server().summary());
  EXPECT_EQ(summary.at("completed"), kClients);
}

TEST_F(Serve, CutsOffWhoDoesNotTakeItsAnswersAtTheEnd) {
  ServerOptions with = options();
  with.drain = milliseconds(300);
  with.most_unsent = 1000;
  Running running(with);
  Client slow(running.server(), 4096);
  slow.greet(R"({"progress":true})");
  std::string all;
  for (int i = 0; i < 200000; ++i) all += framed(std::string(2, '\x01'));
  std::size_t sent = 0;
  for (int stuck = 0; sent < all.size() && stuck < 50;) {
    const std::size_t count = slow.send_some(all.substr(sent, 60000));
    sent += count;
    stuck = count == 0 ? stuck + 1 : 0;
    if (count == 0) std::this_thread::sleep_for(milliseconds(10));
  }
  ASSERT_LT(sent, all.size()) << "the server took everything: nobody is held up";
  EXPECT_THAT(running.stop(), HasSubstr("1 streams were cut off"));
}

TEST_F(Serve, SaysWhatIsWrongWithAGraph) {
  const auto refusal = [&](const std::string& around) {
    ServerOptions with = options();
    with.around = around;
    with.address = *net::Address::parse("127.0.0.1:0");
    const auto made = Server::make(with);
    return made.ok() ? "" : std::string(made.status().text());
  };
  EXPECT_THAT(refusal("wav path=a.wav ! fbank ! detect"), HasSubstr("wav has no place in a served graph"));
  EXPECT_THAT(refusal(digits_.around() + " ! jsonl"), HasSubstr("jsonl has no place in a served graph"));
  EXPECT_THAT(refusal("fbnak ! detect"), HasSubstr("did you mean 'fbank'"));
  EXPECT_THAT(refusal("fbank preset=kaldi"), HasSubstr("answers wants events"));
}

TEST(Address, IsReadAndTold) {
  for (const char* text : {"127.0.0.1:9000", "0.0.0.0:1", "[::1]:65535"}) {
    const auto address = net::Address::parse(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(address->text(), text);
  }
  EXPECT_EQ(net::Address::parse("localhost:7")->text(), "127.0.0.1:7");
  EXPECT_TRUE(net::Address::parse("127.8.9.1:0")->is_loopback());
  EXPECT_TRUE(net::Address::parse("[::1]:0")->is_loopback());
  EXPECT_FALSE(net::Address::parse("[::]:0")->is_loopback());
  EXPECT_FALSE(net::Address::parse("10.0.0.1:0")->is_loopback());
  for (const char* wrong : {"", "127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:-1",
                            "127.0.0.1:80x", "::1:80", "example.org:80"}) {
    EXPECT_FALSE(net::Address::parse(wrong).ok()) << wrong;
  }
}

TEST(ConstantTime, ComparesWhole) {
  EXPECT_TRUE(net::equal_in_constant_time("", ""));
  EXPECT_TRUE(net::equal_in_constant_time("abc", "abc"));
  for (const char* other : {"", "ab", "abd", "bbc", "abcd"})
    EXPECT_FALSE(net::equal_in_constant_time(other, "abc")) << other;
  EXPECT_FALSE(net::equal_in_constant_time("a", ""));
}

TEST(Metrics, AreInTheFormatOfPrometheus) {
  Metrics metrics;
  metrics.streams = 3;
  metrics.end(Reason::idle);
  const std::string page = metrics.prometheus(7);
  EXPECT_THAT(page, HasSubstr("# TYPE runnel_streams gauge\nrunnel_streams 3\n"));
  EXPECT_THAT(page, HasSubstr("runnel_streams_limit 7\n"));
  EXPECT_THAT(page, HasSubstr("runnel_connections_ended_total{reason=\"idle\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("runnel_lateness_seconds{thread=\"0\",quantile=\"0.99\"} 0\n"));
  // Every line is a comment, or a name and a number.
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t end = page.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    const std::string line = page.substr(at, end - at);
    EXPECT_TRUE(line.starts_with("# HELP runnel_") || line.starts_with("# TYPE runnel_") ||
                (line.starts_with("runnel_") && std::count(line.begin(), line.end(), ' ') == 1))
        << line;
    at = end + 1;
  }
}

// A node that takes 18 ms for a tenth of a second of sound.
class Slow final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;
  Status prepare(pipeline::NodeContext& context) noexcept override {
    context.max_output = context.max_input;
    return {};
  }
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override {
    std::this_thread::sleep_for(milliseconds(18 * in.count / 1600));
    std::memcpy(out.data, in.data, static_cast<std::size_t>(in.count) * sizeof(float));
    out.count = in.count;
    return {};
  }
};
const pipeline::NodeType Slow::type = {
    .name = "slow",
    .help = "Takes time.",
    .input = {static_cast<pipeline::Kinds>(pipeline::Kind::audio), "test"},
    .output = {static_cast<pipeline::Kinds>(pipeline::Kind::audio), "test"},
    .parameters = {},
    .make = pipeline::make_node<Slow>};

// Streams in real time for 1.2 seconds; returns the largest lateness of a packet, or a negative number when
// the server refused it. `refusal`: its sentence.
double lateness_of(const Server& server, std::string& refusal) {
  using Clock = std::chrono::steady_clock;
  Client client(server);
  client.greet(R"({"progress":true})");
  const Json first = Json::parse(client.line());
  if (first.at("type") == "error") {
    refusal = first.at("reason").get<std::string>() + ": " + first.at("message").get<std::string>();
    return -1;
  }
  const auto samples = sound(1.2, 3);
  const Clock::time_point start = Clock::now();
  std::thread sender([&] {
    for (std::size_t at = 0; at < samples.size(); at += 1600) {
      std::this_thread::sleep_until(start + milliseconds(at / 16));
      client.send_samples(samples, at, 1600);
    }
  });
  double most = 0;
  for (std::int64_t done = 0; done < std::ssize(samples);) {
    const Json line = Json::parse(client.line());
    if (line.at("type") != "progress") continue;
    done = line.at("samples");
    const auto due = start + milliseconds(done / 16 - 100);
    most = std::max(most, std::chrono::duration<double>(Clock::now() - due).count());
  }
  sender.join();
  client.end();
  client.rest();
  return most;
}

// Room for four streams of real time, twelve clients: some are served in time, the others hear why not.
// Without the limit all are served late.
TEST_F(Serve, RefusesWhatWouldMakeOthersLate) {
  constexpr int kClients = 12;
  std::vector<const pipeline::NodeType*> nodes(pipeline::host_nodes().begin(), pipeline::host_nodes().end());
  nodes.push_back(&Slow::type);
  double latest[2] = {};
  for (const bool limited : {true, false}) {
    ServerOptions with = options();
    with.graph.nodes = nodes;
    with.around = "slow ! " + with.around;
    if (!limited) with.most_load = 0;
    Running running(with);
    std::vector<double> lateness(kClients);
    std::vector<std::string> refusals(kClients);
    std::vector<std::thread> clients;
    for (std::size_t i = 0; i < kClients; ++i)
      clients.emplace_back([&, i] { lateness[i] = lateness_of(running.server(), refusals[i]); });
    for (std::thread& client : clients) client.join();
    const auto served =
        std::count_if(lateness.begin(), lateness.end(), [](double late) { return late >= 0; });
    latest[limited ? 0 : 1] = *std::max_element(lateness.begin(), lateness.end());
    if (limited) {
      EXPECT_GE(served, 1);
      EXPECT_LE(served, 4);
    } else {
      EXPECT_EQ(served, kClients);
    }
    for (const std::string& refusal : refusals) {
      if (!refusal.empty()) {
        EXPECT_THAT(refusal, HasSubstr("overload: the server is at its capacity: "));
        EXPECT_THAT(refusal, HasSubstr("one more does not fit; come back later"));
      }
    }
    EXPECT_EQ(running.server().metrics().ended[static_cast<std::size_t>(Reason::overload)].load(),
              static_cast<std::uint64_t>(kClients - served));
    EXPECT_EQ(running.stop(), "");
  }
  EXPECT_LT(latest[0], 0.5);
  EXPECT_GT(latest[1], 0.8) << "2.2 times as much as there is time for";
}

TEST(Capacity, FollowsTheCost) {
  Capacity capacity(0.8);
  EXPECT_TRUE(capacity.fits(1000000)) << "nothing is known yet";
  capacity.expect(0.1);
  EXPECT_TRUE(capacity.fits(8));
  EXPECT_FALSE(capacity.fits(9));
  // A pause, or an interruption with hardly any sound, says nothing.
  capacity.took(milliseconds(500), 100'000);
  capacity.update();
  EXPECT_FALSE(capacity.fits(9));
  EXPECT_TRUE(capacity.fits(8));
  for (int i = 0; i < 20; ++i) {
    capacity.took(milliseconds(10), 1'000'000);
    capacity.update();
  }
  EXPECT_NEAR(capacity.cost(), 0.01, 0.002);
  EXPECT_TRUE(capacity.fits(60));
  EXPECT_FALSE(capacity.fits(90));
  EXPECT_TRUE(Capacity(0).fits(1 << 20)) << "no limit";
  Capacity slow(0.5);
  slow.expect(3);
  EXPECT_TRUE(slow.fits(1)) << "one is served as well as it can be";
  EXPECT_FALSE(slow.fits(2));
}

}  // namespace
}  // namespace runnel::serve::test
