// `runnel send` and the nodes of NATS over a real server: restarted, killed, not there.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "services/fleet/chunk.h"
#include "services/fleet/nats/jetstream.h"
#include "tests/apps/fleet/background.h"
#include "tests/apps/support.h"
#include "tests/services/fleet/nats/nats_server.h"
#ifdef RUNNEL_HAVE_MQTT
#include <mosquitto.h>
#endif

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;

class SendTest : public testing::Test {
 protected:
  static constexpr int kRate = 16000;

  void SetUp() override {
    std::string why;
    server_ = fleet::test::NatsServer::start(why, more());
    if (server_ == nullptr) GTEST_SKIP() << "SKIPPED: " << why;
  }
  [[nodiscard]] virtual std::string more() const { return {}; }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  std::vector<std::string> send(const std::string& stream, const std::vector<std::string>& more) const {
    std::vector<std::string> out = {"send", server_->url(), "--stream", stream};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  // What a graph hears of a stream, as an array.
  std::vector<std::byte> heard(const std::string& stream, const std::string& parameters = "wait=10") {
    const std::string path = file("heard.npy");
    call_well({"run", "nats url=" + server_->url() + " stream=" + stream + ' ' + parameters +
                          " ! npy path=" + path});
    return runnel::test::read_file(path);
  }
  std::vector<std::byte> read(const std::string& source) {
    const std::string path = file("read.npy");
    call_well({"run", source + " ! npy path=" + path});
    return runnel::test::read_file(path);
  }
  // A connection of the test's own.
  std::unique_ptr<fleet::JetStream> exchange() {
    auto wire = fleet::make_wire();
    EXPECT_TRUE(wire.ok());
    auto out = std::make_unique<fleet::JetStream>(*std::move(wire));
    fleet::Wire::Settings settings;
    settings.urls = server_->url();
    EXPECT_TRUE(out->open(settings).ok());
    EXPECT_TRUE(out->use({"audio.>", "RUNNEL_INPUT", 1, 1, false}).ok());
    EXPECT_TRUE(out->use({"events.>", "RUNNEL_EVENTS", 1, 0, false}).ok());
    EXPECT_TRUE(out->use({"heard.>", "RUNNEL_HEARD", 1, 0, false}).ok());
    return out;
  }
  // All messages of a subject.
  std::vector<fleet::Message> log_of(const std::string& subject) {
    const auto from = exchange();
    std::vector<fleet::Message> out;
    fleet::Happening what;
    const std::uint64_t request = from->last(subject);
    std::uint64_t last = 0;
    while (last == 0 && from->next(what, 5000)) {
      const auto* const answer = std::get_if<fleet::Answer>(&what);
      if (answer == nullptr || answer->request != request) continue;
      if (!answer->message) return out;
      last = answer->message->sequence;
    }
    from->follow(subject, 1);
    while ((out.empty() || out.back().sequence < last) && from->next(what, 5000))
      if (auto* const one = std::get_if<fleet::Delivery>(&what)) out.push_back(std::move(one->message));
    return out;
  }
  static bool wait_for(const std::function<bool()>& condition) {
    for (int i = 0; i < 2000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  runnel::test::TemporaryFolder folder_;
  std::unique_ptr<fleet::test::NatsServer> server_;
};

TEST_F(SendTest, RecordingsComeOutAsTheyWere) {
  fs::create_directory(folder_.path() / "clips");
  for (int i = 0; i < 3; ++i)
    write_wav(folder_.path() / "clips" / ("a " + std::to_string(i) + ".wav"), tone_words(1 + 0.37 * i, kRate),
              kRate);
  const auto summary =
      json_lines(call_well(send("audio.all", {"--wav", file("clips"), "--run", "7"})).out).back();
  EXPECT_EQ(summary["streams"], 3);
  EXPECT_EQ(summary["waiting_samples"], 0);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(heard("audio.all.a_" + std::to_string(i)),
              read("wav path='" + file("clips/a " + std::to_string(i) + ".wav") + "'"))
        << i;
  // Again: everything is there.
  const auto again =
      json_lines(call_well(send("audio.all", {"--wav", file("clips"), "--run", "7"})).out).back();
  EXPECT_EQ(again["messages"], 0);
  EXPECT_EQ(log_of("audio.all.a_1").size(), 1U);
  refusal(send("audio.all", {"--wav", file("clips"), "--run", "6"}), "the server has run 7 already");
}

TEST_F(SendTest, SensorsAreRowsOfFloats) {
  std::ofstream csv(file("a.csv"));
  csv << "x,y,z\n";
  for (int i = 0; i < 250; ++i) csv << 0.25 * i << ',' << -9.81 + i << ',' << i % 7 << '\n';
  csv.close();
  const std::string source = "csv path=" + file("a.csv") + " rate=50";
  call_well(send("audio.shake", {"--source", source, "--samples", "float"}));
  EXPECT_EQ(heard("audio.shake"), read(source));
  refusal(send("audio.shake2", {"--source", source}), "--samples float");
}

// The server dies, the sender is killed; in the end the stream has every sample of one run, once.
TEST_F(SendTest, NothingIsLostOverRestarts) {
  const auto samples = tone_words(3, kRate);
  write_wav(folder_.path() / "a.wav", samples, kRate);
  const std::vector<std::string> arguments =
      send("audio.a", {"--wav", file("a.wav"), "--pace", "real", "--chunk", "20", "--spool", file("spool"),
                       "--spool-size", "1"});
  const auto stored = [&] {
    const auto log = log_of("audio.a");
    std::int64_t out = 0;
    for (const fleet::Message& one : log) out += (*fleet::read_chunk(one)).samples;
    return out;
  };
  auto sender = std::make_unique<Background>(arguments, folder_.path() / "log");
  ASSERT_TRUE(wait_for([&] { return stored() > kRate / 2; }));
  server_->kill();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // of sound that goes into the spool
  sender->end(SIGKILL);
  EXPECT_TRUE(fs::exists(file("spool")));
  sender = std::make_unique<Background>(arguments, folder_.path() / "log");  // the server is not there
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ASSERT_TRUE(server_->restart());
  EXPECT_EQ(sender->wait(), 0) << read_text(folder_.path() / "log");
  EXPECT_FALSE(fs::exists(file("spool"))) << "all is stored";
  EXPECT_NE(read_text(folder_.path() / "log").find("samples wait in"), std::string::npos);
  std::int64_t next = 0;
  bool ended = false;
  std::vector<std::byte> bytes;
  for (const fleet::Message& one : log_of("audio.a")) {
    const auto chunk = fleet::read_chunk(one);
    ASSERT_TRUE(chunk.ok());
    ASSERT_EQ(chunk->first, next);
    next += chunk->samples;
    ended = chunk->end;
    bytes.insert(bytes.end(), one.data.begin(), one.data.end());
  }
  EXPECT_TRUE(ended);
  ASSERT_EQ(bytes.size(), 2 * samples.size());
  EXPECT_EQ(std::memcmp(bytes.data(), samples.data(), bytes.size()), 0);
}

TEST_F(SendTest, WhatWaitsIsSaidAndSentLater) {
  write_wav(folder_.path() / "a.wav", tone_words(1, kRate), kRate);
  server_->kill();
  const auto arguments = send(
      "audio.a", {"--wav", file("a.wav"), "--spool", file("spool"), "--spool-size", "1", "--drain", "0.2"});
  Background sender(arguments, folder_.path() / "log");
  ASSERT_TRUE(wait_for([&] { return fs::exists(file("spool")); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(sender.end(SIGTERM), 1);
  EXPECT_NE(read_text(folder_.path() / "log").find("16000 samples wait in " + file("spool")),
            std::string::npos)
      << read_text(folder_.path() / "log");
  ASSERT_TRUE(server_->restart());
  call_well({"send", server_->url(), "--stream", "audio.x", "--wav", file("a.wav")});
  const auto out = call(arguments);
  EXPECT_EQ(out.exit_code, 0) << out.err;
  EXPECT_EQ(heard("audio.a"), read("wav path=" + file("a.wav")));
}

// Doubled chunks and lost ones, as a careless sender makes them.
TEST_F(SendTest, TheSourceCountsWhatIsMissing) {
  const auto samples = tone_words(1, kRate);
  const auto to = exchange();
  const auto put = [&](std::int64_t first, std::int64_t count, bool end, std::string_view garbage = {}) {
    fleet::Chunk chunk;
    chunk.first = first;
    chunk.run = 3;
    chunk.end = end;
    const std::string_view data(reinterpret_cast<const char*>(samples.data() + first),
                                static_cast<std::size_t>(2 * count));
    const std::uint64_t request = to->append("audio.b", fleet::Exchange::kAnyway,
                                             garbage.empty() ? fleet::headers_of(chunk) : fleet::Headers{},
                                             garbage.empty() ? data : garbage);
    fleet::Happening what;
    while (to->next(what, 5000))
      if (const auto* const answer = std::get_if<fleet::Answer>(&what);
          answer != nullptr && answer->request == request)
        break;
  };
  put(0, 4000, false);
  put(2000, 4000, false);  // half of it is known
  put(0, 1000, false);
  put(0, 0, false, "garbage");
  put(10000, 5000, false);  // 4000 are missing
  put(15000, 1000, true);
  const auto out =
      call({"run", "nats url=" + server_->url() + " stream=audio.b ! npy path=" + file("b.npy")});
  EXPECT_EQ(out.exit_code, 0) << out.err;
  EXPECT_NE(out.err.find("2 chunks were there before"), std::string::npos) << out.err;
  EXPECT_NE(out.err.find("1 messages were left out, the first: message 4: a chunk without the header"),
            std::string::npos)
      << out.err;
  const Json summary = json_lines(out.out).back();
  EXPECT_EQ(summary["lost_samples"], 4000);
  EXPECT_EQ(summary["gaps"], 1);
}

TEST_F(SendTest, EventsAreStoredOnce) {
  write_wav(folder_.path() / "a.wav", tone_words(6, kRate), kRate);
  const std::string around =
      " ! fbank num_mel_bins=40 high_freq=7600 ! infer model=" + model() + " ! " + kEager;
  const std::string graph = "wav path=" + file("a.wav") + around +
                            " name=e ! jsonl\ne. ! nats url=" + server_->url() + " source=hall session=s1";
  const auto first = events_of(call_well({"run", graph}).out);
  ASSERT_FALSE(first.empty());
  call_well({"run", graph});
  const auto log = log_of("heard.hall");
  ASSERT_EQ(log.size(), first.size()) << "the same session once more stores nothing";
  for (std::size_t i = 0; i < log.size(); ++i) {
    Json event =
        Json::parse(std::string(reinterpret_cast<const char*>(log[i].data.data()), log[i].data.size()));
    EXPECT_EQ(event["source"], "hall");
    event.erase("source");
    EXPECT_EQ(event, first[i]);
  }
}

// Sent, worked on, and the events are those of `listen`.
TEST_F(SendTest, WorkersHearWhatIsSent) {
  write_wav(folder_.path() / "a.wav", tone_words(6, kRate), kRate);
  Background worker({"work", model(), "--nats", server_->url(), "--decision", kEager},
                    folder_.path() / "worker");
  call_well(send("audio.hall", {"--wav", file("a.wav")}));
  const auto expected = events_of(
      call_well({"listen", model(), "--wav", file("a.wav"), "--tail", "0", "--decision", kEager}).out);
  ASSERT_FALSE(expected.empty());
  EXPECT_TRUE(wait_for([&] { return log_of("events.audio.hall").size() >= expected.size(); }))
      << read_text(folder_.path() / "worker");
  const auto log = log_of("events.audio.hall");
  ASSERT_EQ(log.size(), expected.size());
  for (std::size_t i = 0; i < log.size(); ++i) {
    Json event =
        Json::parse(std::string(reinterpret_cast<const char*>(log[i].data.data()), log[i].data.size()));
    event.erase("source");
    EXPECT_EQ(event, expected[i]);
  }
  EXPECT_EQ(worker.end(SIGTERM), 0);
}

#ifdef RUNNEL_HAVE_MQTT
// A device that speaks MQTT 3.1.1, by the server's own port for that.
class MqttDeviceTest : public SendTest {
 protected:
  [[nodiscard]] std::string more() const override {
    return "server_name: test\nmqtt {listen: \"127.0.0.1:-1\"}\n";
  }
};

TEST_F(MqttDeviceTest, ChunksCarryTheirHeadersInFront) {
  const auto keep = exchange();  // makes the log
  std::string log;
  const std::string listens = "Listening for MQTT clients on mqtt://127.0.0.1:";
  ASSERT_TRUE(wait_for([&] { return (log = server_->log()).find(listens) != std::string::npos; })) << log;
  const int port = std::atoi(log.c_str() + log.find(listens) + listens.size());
  const auto samples = tone_words(2, kRate);
  write_wav(folder_.path() / "a.wav", samples, kRate);
  mosquitto_lib_init();
  int acknowledged = 0, sent = 0;
  mosquitto* const session = mosquitto_new("device", true, &acknowledged);
  mosquitto_publish_callback_set(session, [](mosquitto*, void* count, int) { ++*static_cast<int*>(count); });
  ASSERT_EQ(mosquitto_connect(session, "127.0.0.1", port, 10), MOSQ_ERR_SUCCESS);
  for (int i = 0; i < 100 && mosquitto_loop(session, 10, 1) == MOSQ_ERR_SUCCESS && i < 20; ++i) continue;
  constexpr std::size_t kPiece = 1600;
  for (std::size_t at = 0; at < samples.size(); at += kPiece) {
    fleet::Chunk chunk;
    chunk.first = static_cast<std::int64_t>(at);
    chunk.run = 1;
    chunk.end = at + kPiece >= samples.size();
    std::string payload = fleet::preamble_of(chunk);
    payload.append(reinterpret_cast<const char*>(samples.data() + at),
                   2 * std::min(kPiece, samples.size() - at));
    // At least once: some come twice.
    for (int twice = at % 3200 == 0 ? 2 : 1; twice > 0; --twice, ++sent)
      ASSERT_EQ(mosquitto_publish(session, nullptr, "audio/mqtt/1", static_cast<int>(payload.size()),
                                  payload.data(), 1, false),
                MOSQ_ERR_SUCCESS);
    mosquitto_loop(session, 0, 1);
  }
  for (int i = 0; i < 2000 && acknowledged < sent; ++i) mosquitto_loop(session, 10, 1);
  EXPECT_EQ(acknowledged, sent);
  mosquitto_disconnect(session);
  mosquitto_destroy(session);
  mosquitto_lib_cleanup();
  const auto out =
      call({"run", "nats url=" + server_->url() + " stream=audio.mqtt.1 ! npy path=" + file("m.npy")});
  EXPECT_EQ(out.exit_code, 0) << out.err;
  EXPECT_EQ(runnel::test::read_file(file("m.npy")), read("wav path=" + file("a.wav")));
  // And a worker.
  Background worker({"work", model(), "--nats", server_->url(), "--decision", kEager},
                    folder_.path() / "worker");
  const auto expected = events_of(
      call_well({"listen", model(), "--wav", file("a.wav"), "--tail", "0", "--decision", kEager}).out);
  EXPECT_TRUE(wait_for([&] { return log_of("events.audio.mqtt.1").size() >= expected.size(); }))
      << read_text(folder_.path() / "worker");
  EXPECT_EQ(log_of("events.audio.mqtt.1").size(), expected.size());
  EXPECT_EQ(worker.end(SIGTERM), 0);
}
#endif

TEST(Send, WrongCalls) {
  runnel::test::TemporaryFolder folder;
  const std::string wav = (folder.path() / "a.wav").string();
  write_wav(wav, tone_words(0.5, 16000), 16000);
  const std::string nowhere = "nats://127.0.0.1:1";
  refusal({"send", nowhere, "--stream", "audio.a", "--wav", wav}, "127.0.0.1:1");
  refusal({"send", nowhere, "--stream", "audio.*", "--wav", wav}, "expected words with dots");
  refusal({"send", nowhere, "--stream", "sound.a", "--wav", wav}, "the log keeps audio.>");
  refusal({"send", "nats://me:secret@127.0.0.1", "--stream", "audio.a", "--wav", wav},
          "expected them in files");
  refusal({"send", nowhere, "--stream", "audio.a", "--wav", wav, "--certificate", wav}, "belong together");
  refusal({"send", nowhere, "--stream", "audio.a", "--wav", wav, "--user", "me"}, "NATS_PASSWORD");
  write_text(folder.path() / "spool", std::string(5000, 'x'));
  refusal(
      {"send", nowhere, "--stream", "audio.a", "--wav", wav, "--spool", (folder.path() / "spool").string()},
      "is no spool");
}

}  // namespace
}  // namespace runnel::apps::test
