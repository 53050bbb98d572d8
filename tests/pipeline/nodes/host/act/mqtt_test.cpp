// Events over MQTT, with a real broker: killed, started again, and nothing lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mosquitto.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tests/pipeline/nodes/host/act/broker.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::HasSubstr;

// Whoever wants to know: a subscriber with a session of its own that outlives the broker.
class Subscriber {
 public:
  explicit Subscriber(int port) {
    mosquitto_lib_init();
    session_ = mosquitto_new("subscriber", false, this);
    mosquitto_connect_callback_set(session_, [](mosquitto* session, void*, int) {
      mosquitto_subscribe(session, nullptr, "heard/#", 1);
    });
    mosquitto_subscribe_callback_set(session_, [](mosquitto*, void* self, int, int, const int*) {
      static_cast<Subscriber*>(self)->subscribed_ = true;
    });
    mosquitto_message_callback_set(session_, [](mosquitto*, void* self, const mosquitto_message* message) {
      static_cast<Subscriber*>(self)->take(*message);
    });
    mosquitto_threaded_set(session_, true);
    mosquitto_connect_async(session_, "127.0.0.1", port, 10);
    // A loop of its own: that of the library once did not end, probably because it was just connecting again
    // when it was to leave.
    thread_ = std::thread([this] {
      while (!leaving_) {
        if (mosquitto_loop(session_, 100, 1) == MOSQ_ERR_SUCCESS || leaving_) continue;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        mosquitto_reconnect_async(session_);
      }
    });
    for (int i = 0; i < 500 && !subscribed_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(subscribed_);
  }
  ~Subscriber() {
    leaving_ = true;
    thread_.join();
    mosquitto_destroy(session_);
    mosquitto_lib_cleanup();
  }
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  // How often each record came, by topic and start; waits until so many different ones did.
  std::map<std::pair<std::string, double>, int> heard(std::size_t different) {
    for (int i = 0; i < 1500; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (heard_.size() >= different) return heard_;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  void take(const mosquitto_message& message) {
    const Json record = Json::parse(
        std::string(static_cast<const char*>(message.payload), static_cast<std::size_t>(message.payloadlen)));
    const std::lock_guard lock(mutex_);
    ++heard_[{message.topic, record["start"]}];
  }

  mosquitto* session_ = nullptr;
  std::thread thread_;
  std::atomic<bool> subscribed_{false}, leaving_{false};
  std::mutex mutex_;
  std::map<std::pair<std::string, double>, int> heard_;
};

class MqttTest : public testing::Test {
 protected:
  void SetUp() override {
    if (broker_program().empty())
      GTEST_SKIP() << "SKIPPED: there is no mosquitto (scripts/install.sh test installs it)";
    Lossy::sample_rate = 16000;
    Lossy::losses.clear();
    Lossy::samples.assign(160000, 0.25f);
    Events::label = "yes";
    Events::at.clear();
    for (std::int64_t i = 0; i < 60; ++i) Events::at.push_back(2400 * i);
  }
  void TearDown() override { Lossy::samples.clear(); }
  std::unique_ptr<Graph> build(const std::string& parameters, const std::string& port = {}) {
    GraphOptions options;
    options.nodes = test_nodes();
    options.tick = 160;
    options.note = [this](std::string_view note) { notes_ += std::string(note) + "\n"; };
    auto graph = Graph::build("lossy ! events ! mqtt broker=127.0.0.1:" +
                                  (port.empty() ? std::to_string(broker_.port()) : port) + " " + parameters,
                              options);
    EXPECT_TRUE(graph.ok()) << graph.status().text();
    return graph.ok() ? std::move(*graph) : nullptr;
  }
  static void run_until(Graph& graph, std::int64_t sample) {
    bool done = false;
    while (graph.executor().samples() < sample) ASSERT_TRUE(graph.step(done).ok());
  }
  static Json action(const Graph& graph) { return Json::parse(graph.summary())["actions"][0]; }

  runnel::test::TemporaryFolder folder_;
  Broker broker_{folder_.path()};
  std::string notes_;
};

TEST_F(MqttTest, PublishesEventsAndGaps) {
  broker_.start();
  Subscriber subscriber(broker_.port());
  Lossy::losses = {{80000, 160}};
  Events::label = "a/b+c";
  const auto graph = build("topic=heard/{source}/{label}");
  ASSERT_TRUE(graph->run().ok()) << notes_;
  const auto heard = subscriber.heard(61);
  EXPECT_EQ(heard.size(), 61u);
  EXPECT_EQ(heard.count({"heard/lossy/a_b_c", 0.15}), 1u) << "a label is one level of the topic";
  EXPECT_EQ(heard.count({"heard/lossy/gap", 5.0}), 1u);
  EXPECT_EQ(action(*graph), Json::parse(R"({"output":"mqtt","events":61,"done":61,"failed":0,"dropped":0})"));
}

TEST_F(MqttTest, NothingIsLostWhenTheBrokerIsKilledAndStartedAgain) {
  broker_.start();
  Subscriber subscriber(broker_.port());
  const auto graph = build("topic=heard client=sender retry=1 linger=30");
  // Killed with a few messages on their way: what the broker has acknowledged it has passed on before (up to
  // 20 at once).
  const auto few_more = [&](std::int64_t sample) {
    run_until(*graph, sample - 12000);
    EXPECT_GT(subscriber.heard(action(*graph)["events"]).size(), 0u);
    run_until(*graph, sample);
  };
  few_more(50000);
  broker_.kill_it();
  run_until(*graph, 90000);
  broker_.start();
  few_more(120000);
  broker_.kill_it();
  broker_.start();
  ASSERT_TRUE(graph->run().ok()) << notes_;
  const auto heard = subscriber.heard(60);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(heard.count({"heard", 150 * i / 1000.0}), 1u) << "event " << i;
  EXPECT_EQ(heard.size(), 60u);
  EXPECT_EQ(action(*graph)["done"], 60);
}

TEST_F(MqttTest, TheQueueHasAnEndAndSaysWhatItDrops) {
  for (const std::string full : {"drop-oldest", "drop-newest"}) {
    const auto graph = build("topic=heard/" + full + " queue=10 linger=20 retry=1 full=" + full);
    run_until(*graph, 150000);
    broker_.start();
    Subscriber subscriber(broker_.port());
    EXPECT_THAT(graph->run().text(), HasSubstr("mqtt: of 60 records, 0 failed and 50 were dropped"));
    // The session of the subscriber may bring some of the round before once more.
    const std::string topic = "heard/" + full;
    std::vector<double> starts;
    for (int i = 0; i < 3000 && starts.size() < 10; ++i) {
      starts.clear();
      for (const auto& [what, times] : subscriber.heard(0)) {
        if (what.first == topic) starts.push_back(what.second);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_EQ(starts.size(), 10u) << topic << ": " << testing::PrintToString(starts) << '\n' << notes_;
    EXPECT_EQ(starts.front(), full == "drop-oldest" ? 7.5 : 0.0);
    EXPECT_THAT(notes_, HasSubstr("are waiting for 127.0.0.1"));
    broker_.kill_it();
  }
}

TEST_F(MqttTest, WithoutABrokerTheRunEndsAndSaysSo) {
  const auto start = std::chrono::steady_clock::now();
  const auto graph = build("topic=heard linger=0.5");
  EXPECT_THAT(graph->run().text(), HasSubstr("of 60 records, 0 failed and 60 were dropped"));
  EXPECT_THAT(notes_, HasSubstr("there is no connection to 127.0.0.1"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
}

TEST_F(MqttTest, SignsInOverAnEncryptedConnection) {
  const std::string port = broker_.also_guarded("a secret"), password = folder_.path() / "password",
                    wrong = folder_.path() / "wrong";
  std::ofstream(password) << "a secret\n";
  std::ofstream(wrong) << "a guess\n";
  broker_.start();
  Subscriber subscriber(broker_.port());
  const std::string sender = "topic=heard/guarded user=ears ca=" + broker_.certificate() + " password_file=";
  ASSERT_TRUE(build(sender + password, port)->run().ok()) << notes_;
  EXPECT_EQ(subscriber.heard(60).size(), 60u);
  // With another password, without encryption, and with a certificate that is not the broker's, nothing goes
  // out.
  const std::string key = folder_.path() / "other.pem", other = folder_.path() / "other_certificate.pem";
  ASSERT_EQ(runnel::test::run_program({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
                                       "2", "-subj", "/CN=other", "-keyout", key, "-out", other})
                .exit_code,
            0);
  for (const std::string& parameters :
       {sender + wrong, "topic=heard/open user=ears password_file=" + password,
        "topic=heard/other user=ears ca=" + other + " password_file=" + password}) {
    EXPECT_THAT(build(parameters + " linger=1 client=another", port)->run().text(),
                HasSubstr("of 60 records, 0 failed and 60 were dropped"))
        << parameters;
  }
  EXPECT_EQ(subscriber.heard(60).size(), 60u);
  GraphOptions options;
  options.nodes = test_nodes();
  EXPECT_THAT(failure_of("lossy ! events ! mqtt topic=a user=ears password_file=" +
                             (folder_.path() / "none").string(),
                         options),
              HasSubstr("none: cannot be read"));
}

TEST_F(MqttTest, RefusesWrongTopicsAndAddresses) {
  GraphOptions options;
  options.nodes = test_nodes();
  EXPECT_THAT(failure_of("lossy ! events ! mqtt topic=a/#", options),
              HasSubstr("expected a topic without + and #"));
  EXPECT_THAT(failure_of("lossy ! events ! mqtt broker=a:b", options), HasSubstr("expected HOST:PORT"));
}

}  // namespace
}  // namespace runnel::pipeline::test
