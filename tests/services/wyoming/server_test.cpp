// A Wyoming server and clients that follow the protocol: the events of a recording, and what happens to those
// who behave badly.
#include "services/wyoming/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <span>
#include <thread>

#include "services/wyoming/catalogue.h"
#include "services/wyoming/conversation.h"
#include "tests/services/serve/support.h"
#include "tests/services/wyoming/client.h"

namespace runnel::wyoming::test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class Running {
 public:
  explicit Running(ServerOptions options) {
    options.address = *net::Address::parse("127.0.0.1:0");
    auto made = Server::make(std::move(options));
    EXPECT_TRUE(made.ok()) << made.status().text();
    server_ = std::move(made).value();
    const std::string address = server_->address().text();
    port_ = std::stoi(address.substr(address.rfind(':') + 1));
    thread_ = std::thread([this] { outcome_ = server_->run().text(); });
  }
  ~Running() { stop(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  std::string stop() {
    if (thread_.joinable()) {
      server_->stop();
      thread_.join();
    }
    return outcome_;
  }
  // Its last record.
  Json summary() {
    stop();
    return Json::parse(server_->summary());
  }
  [[nodiscard]] int port() const { return port_; }

 private:
  std::unique_ptr<Server> server_;
  int port_ = 0;
  std::thread thread_;
  std::string outcome_;
};

class Wyoming : public testing::Test {
 protected:
  ServerOptions options() {
    ServerOptions options;
    options.models = {{"digits", digits_.around()}};
    options.graph = digits_.options();
    return options;
  }
  std::vector<std::string> offline(const std::vector<std::int16_t>& samples, int rate = 16000,
                                   int channels = 1) {
    return digits_.offline(samples, "digits", digits_.around(), rate, channels);
  }
  // A client that behaves gets what it should.
  void expect_good(int port) {
    const auto samples = serve::test::sound(1.5, 77);
    Client client(port);
    client.send("detect");
    client.send_sound(samples);
    client.close_sending();
    const std::vector<Event> events = client.until({"not-detected"});
    EXPECT_EQ(records_in(events, "digits"), offline(samples));
  }
  serve::test::Digits digits_;
};

// All events of a sound; nothing says that a sound with detections is over, so a ping does.
std::vector<Event> hear(Client& client, const Json& names, const std::vector<std::int16_t>& samples,
                        int rate = 16000, int channels = 1, std::int64_t timestamp = 0) {
  client.send("detect", names.is_null() ? Json::object() : Json{{"names", names}});
  client.send_sound(samples, 1024 * static_cast<std::size_t>(channels), rate, channels, timestamp);
  client.send("ping", {{"text", "over"}});
  return client.until({"pong"});
}

TEST_F(Wyoming, DescribesItself) {
  Running running(options());
  Client client(running.port());
  client.send("describe");
  const Json info = client.expect("info").data;
  for (const char* domain : {"asr", "tts", "handle", "intent", "mic", "snd"})
    EXPECT_EQ(info.at(domain), Json::array()) << domain;
  ASSERT_EQ(info.at("wake").size(), 1u);
  const Json& program = info.at("wake")[0];
  std::vector<std::string> names;
  // What clients of the protocol require of programs and models.
  const auto check = [](const Json& artifact) {
    EXPECT_TRUE(artifact.at("name").is_string() && artifact.at("description").is_string() &&
                artifact.at("version").is_string() && artifact.at("installed").get<bool>());
    EXPECT_TRUE(artifact.at("attribution").at("name").is_string() &&
                artifact.at("attribution").at("url").is_string());
  };
  check(program);
  for (const Json& model : program.at("models")) {
    check(model);
    EXPECT_EQ(model.at("languages"), Json({"en"}));
    EXPECT_TRUE(model.at("phrase").is_string());
    names.push_back(model.at("name"));
  }
  // The decision of this graph ignores no label.
  EXPECT_THAT(names,
              testing::ElementsAre("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "silence", "unknown"));
  client.send("ping", {{"text", "are you there?"}});
  EXPECT_EQ(client.expect("pong").data.at("text"), "are you there?");
  client.send("ping");
  EXPECT_EQ(client.expect("pong").data, Json::object());
}

TEST_F(Wyoming, DetectsWhatTheRecordingGivesOffline) {
  Running running(options());
  std::size_t all = 0;
  for (const auto& [rate, channels] : {std::pair(16000, 1), {48000, 2}, {8000, 1}}) {
    const auto samples = serve::test::sound(2.0, 5, rate, channels);
    const auto expected = offline(samples, rate, channels);
    all += expected.size();
    Client client(running.port());
    // Twice over one connection: nothing is left of the first time.
    for (const std::int64_t timestamp : {0, 5000}) {
      const auto events = hear(client, nullptr, samples, rate, channels, timestamp);
      EXPECT_EQ(records_in(events, "digits"), expected);
      EXPECT_EQ(events.size(), std::max<std::size_t>(expected.size(), 1) + 1);
      for (const Event& event : events) {
        if (event.type != "detection") continue;
        EXPECT_EQ(event.data.at("name"), event.data.at("runnel").at("label"));
        EXPECT_EQ(event.data.at("timestamp").get<std::int64_t>(),
                  timestamp + std::llround(1000 * event.data.at("runnel").at("end").get<double>()));
      }
    }
  }
  EXPECT_GT(all, 2u);
  EXPECT_EQ(running.stop(), "");
  EXPECT_EQ(running.summary().at("errors"), 0);
  EXPECT_EQ(running.summary().at("requests"), 6);
}

TEST_F(Wyoming, SamplesOfThreeWidthsAreTheSame) {
  Running running(options());
  const auto samples = serve::test::sound(1.5, 9);
  const auto expected = offline(samples);
  ASSERT_FALSE(expected.empty());
  for (const int width : {2, 3, 4}) {
    std::string bytes;
    for (const std::int16_t sample : samples) {
      for (int i = 0; i < width - 2; ++i) bytes += '\0';
      bytes += static_cast<char>(sample & 0xff);
      bytes += static_cast<char>((sample >> 8) & 0xff);
    }
    Client client(running.port());
    const Json format = {{"rate", 16000}, {"width", width}, {"channels", 1}};
    client.send_inline("detect", {{"names", nullptr}});
    client.send_inline("audio-start", format);
    const auto piece = static_cast<std::size_t>(width) * 777;
    for (std::size_t at = 0; at < bytes.size(); at += piece)
      client.send_inline("audio-chunk", format, bytes.substr(at, piece));
    client.send("audio-stop");
    client.send("ping");
    EXPECT_EQ(records_in(client.until({"pong"}), "digits"), expected) << width;
  }
}

TEST_F(Wyoming, NamesChooseWordsOfSeveralModels) {
  ServerOptions with = options();
  with.models.push_back({"others", digits_.around()});
  Running running(with);
  const auto samples = serve::test::sound(2.0, 5);
  const auto expected = offline(samples);
  ASSERT_FALSE(expected.empty());
  Client client(running.port());
  client.send("describe");
  EXPECT_EQ(client.expect("info").data.at("wake")[0].at("models").size(), 24u);
  const std::string label = Json::parse(expected[0]).at("label");
  const auto count = [&](const Json& names) {
    std::map<std::string, int> heard;
    for (const Event& event : hear(client, names, samples)) {
      if (event.type == "detection") ++heard[event.data.at("name")];
    }
    return heard;
  };
  const auto of_label = std::count_if(expected.begin(), expected.end(), [&](const std::string& line) {
    return Json::parse(line).at("label") == label;
  });
  const int many = static_cast<int>(of_label);
  EXPECT_EQ(count({label}),
            (std::map<std::string, int>{{"digits/" + label, many}, {"others/" + label, many}}));
  EXPECT_EQ(count({"others/" + label}), (std::map<std::string, int>{{"others/" + label, many}}));
  int all = 0;
  for (const auto& [name, times] : count({"digits"})) all += times;
  EXPECT_EQ(all, static_cast<int>(expected.size()));
  client.send("detect", {{"names", {"alexa"}}});
  const Json error = client.expect("error").data;
  EXPECT_EQ(error.at("code"), "request");
  EXPECT_THAT(error.at("text").get<std::string>(),
              HasSubstr("\"names\": expected names of words that `info` lists"));
}

TEST_F(Wyoming, SaysThatNothingWasDetected) {
  Running running(options());
  Client client(running.port());
  const std::vector<std::int16_t> silence(16000, 0);
  client.send("detect", {{"names", {"3"}}});
  client.send_sound(silence);
  EXPECT_EQ(client.expect("not-detected").data, Json::object());
  // The end of the connection is the end of the sound.
  client.send("detect", {{"names", {"3"}}});
  client.send("audio-chunk", {{"rate", 16000}, {"width", 2}, {"channels", 1}}, std::string(640, '\0'));
  client.close_sending();
  client.expect("not-detected");
  EXPECT_FALSE(client.receive().has_value());
}

// Two streams of one model give a voice: one when it begins, the other when it has ended.
TEST_F(Wyoming, VoicesBeginAndEnd) {
  auto catalogue = Catalogue::make({{"digits", digits_.around()}}, digits_.options(), 4, "en");
  ASSERT_TRUE(catalogue.ok());
  catalogue->offers()[0]->set_use(Use::voice);
  catalogue->look_again();
  Counts counts;
  Conversation conversation(*catalogue, counts);
  const auto samples = serve::test::sound(3.0, 5);
  const auto expected = offline(samples);
  ASSERT_GE(expected.size(), 2u);
  const auto ends = digits_.offline(samples, "digits", digits_.around() + " endpoint_frames=20");
  ASSERT_EQ(ends.size(), expected.size());
  std::string out;
  serve::Together together;
  Message message;
  message.type = "audio-chunk";
  message.data = {{"rate", 16000}, {"width", 2}, {"channels", 1}, {"timestamp", 100}};
  std::vector<std::pair<std::string, std::size_t>> order;  // and the chunk in which it was told
  std::vector<std::string> told_begin, told_end;
  const auto read = [&](std::size_t chunk) {
    for (std::size_t at = 0; at < out.size();) {
      const std::size_t feed = out.find('\n', at);
      const Json header = Json::parse(out.substr(at, feed - at));
      const std::size_t length = header.value("data_length", 0u);
      const Json data = Json::parse(out.substr(feed + 1, length));
      order.emplace_back(header.at("type"), chunk);
      const bool begins = header.at("type") == "voice-started";
      EXPECT_EQ(data.at("timestamp").get<std::int64_t>(),
                100 + std::llround(1000 * data.at("runnel").at(begins ? "start" : "end").get<double>()));
      (begins ? told_begin : told_end).push_back(data.at("runnel").dump());
      at = feed + 1 + length;
    }
    out.clear();
  };
  constexpr std::size_t kChunk = 160;
  for (std::size_t at = 0; at < samples.size(); at += kChunk) {
    message.payload = std::as_bytes(std::span(samples).subspan(at, kChunk));
    conversation.take(message, out);
    std::vector<serve::Together::Turn> turns;
    conversation.add_turns(*catalogue->offers()[0], turns);
    ASSERT_EQ(turns.size(), 2u);
    together.step(turns);
    conversation.collect(out);
    read(at / kChunk);
  }
  message.type = "audio-stop";
  conversation.take(message, out);
  read(samples.size() / kChunk);
  const auto records = [](const std::vector<std::string>& lines) {
    std::vector<std::string> texts;
    for (const std::string& line : lines) texts.push_back(Json::parse(line).dump());
    return texts;
  };
  EXPECT_EQ(told_begin, records(expected));
  EXPECT_EQ(told_end, records(ends));
  for (std::size_t i = 0; i < order.size(); ++i)
    EXPECT_EQ(order[i].first, i % 2 == 0 ? "voice-started" : "voice-stopped") << i;
  EXPECT_LT(order[0].second, order[1].second) << "a beginning is told at once";
}

TEST_F(Wyoming, WrongRequestsAreErrorsAndTheConnectionStays) {
  Running running(options());
  Client client(running.port());
  const Json good = {{"rate", 16000}, {"width", 2}, {"channels", 1}};
  const auto refused = [&](const std::string& type, const Json& data, const std::string& payload = {}) {
    client.send(type, data, payload);
    const Event error = client.expect("error");
    EXPECT_TRUE(error.data.at("code").is_string());
    return error.data.value("text", "");
  };
  const auto with = [&](const char* key, const Json& value) {
    Json changed = good;
    changed[key] = value;
    return changed;
  };
  EXPECT_THAT(refused("audio-start", good), HasSubstr("expected `detect` or `transcribe` before it"));
  EXPECT_THAT(refused("transcribe", Json::object()), HasSubstr("a model of speech that `info` lists"));
  EXPECT_THAT(refused("detect", {{"names", "3"}}), HasSubstr("expected a list of texts, found \"3\""));
  client.send("detect", {{"names", {"3"}}});
  EXPECT_THAT(refused("audio-start", with("rate", 44101)), HasSubstr("a multiple of 25 Hz, found 44101"));
  EXPECT_THAT(refused("audio-start", with("rate", "16000")), HasSubstr("\"rate\": expected a whole number"));
  EXPECT_THAT(refused("audio-start", with("width", 1)),
              HasSubstr("\"width\": expected a whole number from 2 to 4"));
  EXPECT_THAT(refused("audio-start", with("channels", 0)), HasSubstr("\"channels\""));
  EXPECT_THAT(refused("audio-start", with("timestamp", -1)), HasSubstr("\"timestamp\""));
  client.send("audio-start", good);
  EXPECT_THAT(refused("audio-chunk", good, "abc"),
              HasSubstr("a payload of 3 bytes, expected a multiple of 2"));
  // What follows of this sound is not heard, and not answered either.
  client.send("audio-chunk", good, "abcd");
  client.send("audio-stop");
  client.send("audio-start", good);
  EXPECT_THAT(refused("audio-chunk", with("rate", 8000), "abcd"), HasSubstr("found 8000 Hz"));
  client.send("audio-stop");
  // Events that we do not know are not for us.
  client.send("run-satellite");
  client.send("synthesize", {{"text", "hello"}});
  client.send("ping");
  client.expect("pong");
  const auto samples = serve::test::sound(1.5, 77);
  EXPECT_EQ(records_in(hear(client, nullptr, samples), "digits"), offline(samples));
}

TEST_F(Wyoming, BrokenMessagesEndTheConnectionOfTheirClientAlone) {
  Running running(options());
  Client other(running.port());
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(10000, '{'),
                                   std::string("{\"type\":\"audio-chunk\",\"payload_length\":1073741824}\n"),
                                   message("ping").substr(0, 5)}) {
    Client client(running.port());
    client.send_bytes(bytes);
    client.close_sending();
    EXPECT_EQ(client.expect("error").data.at("code"), "message") << bytes.substr(0, 20);
    EXPECT_FALSE(client.receive().has_value());
  }
  {
    Client client(running.port());
    client.send("detect");
    client.send("audio-start", {{"rate", 16000}, {"width", 2}, {"channels", 1}});
    client.vanish();
  }
  other.send("ping");
  other.expect("pong");
  expect_good(running.port());
}

TEST_F(Wyoming, SurplusClientsAreTold) {
  ServerOptions with = options();
  with.max_clients = 2;
  Running running(with);
  {
    Client first(running.port()), second(running.port());
    for (Client* client : {&first, &second}) {
      client->send("describe");
      client->expect("info");
    }
    Client third(running.port());
    EXPECT_EQ(third.expect("error").data.at("code"), "busy");
    EXPECT_FALSE(third.receive().has_value());
    first.send("ping");
    first.expect("pong");
  }
  EXPECT_EQ(running.summary().at("clients"), 3);
}

TEST_F(Wyoming, SilentClientsAreTold) {
  ServerOptions with = options();
  with.idle = milliseconds(300);
  Running running(with);
  Client client(running.port());
  EXPECT_EQ(client.expect("error").data.at("code"), "idle");
  EXPECT_FALSE(client.receive().has_value());
}

TEST_F(Wyoming, StoppingFlushesWhatWasHeard) {
  ServerOptions with = options();
  with.linger = milliseconds(100);
  Running running(with);
  const auto samples = serve::test::sound(2.0, 5);
  Client client(running.port());
  const Json format = {{"rate", 16000}, {"width", 2}, {"channels", 1}};
  client.send("detect");
  client.send("audio-chunk", format, bytes_of(samples, 0, samples.size()));
  client.send("ping");
  std::vector<Event> events = client.until({"pong"});
  std::thread stopping([&] { running.stop(); });
  for (Event& event : client.until({"error"})) events.push_back(event);
  EXPECT_EQ(events.back().data.at("code"), "shutdown");
  EXPECT_FALSE(client.receive().has_value());
  stopping.join();
  EXPECT_EQ(running.stop(), "");
  EXPECT_EQ(records_in(events, "digits"), offline(samples));
}

TEST_F(Wyoming, RefusesWhatItCannotServe) {
  ServerOptions with = options();
  with.address = *net::Address::parse("0.0.0.0:0");
  EXPECT_THAT(std::string(Server::make(with).status().text()),
              HasSubstr("the Wyoming protocol has no password"));
  with.open = true;
  EXPECT_TRUE(Server::make(with).ok());
  with.address = *net::Address::parse("127.0.0.1:0");
  with.models.push_back({"digits", digits_.around()});
  EXPECT_THAT(std::string(Server::make(with).status().text()), HasSubstr("two models have the name digits"));
  with.models = {{"wrong", "fbank ! detekt"}};
  EXPECT_FALSE(Server::make(with).ok());
}

}  // namespace
}  // namespace runnel::wyoming::test
