// Home Assistant's discovery over a real broker: what it needs to show a device, whether we are there, and
// its removal.
#include "pipeline/nodes/host/act/mqtt_discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mosquitto.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tests/pipeline/nodes/host/act/broker.h"
#include "tests/pipeline/nodes/host/act/house.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::HasSubstr;

constexpr const char* kDevice =
    "topic=house/kitchen client=kitchen discovery=homeassistant device=\"The kitchen\" "
    "labels=\"yes,no,it's\" ";

class MqttDiscovery : public testing::Test {
 protected:
  void SetUp() override {
    if (broker_program().empty())
      GTEST_SKIP() << "SKIPPED: there is no mosquitto (scripts/install.sh test installs it)";
    Lossy::sample_rate = 16000;
    Lossy::losses.clear();
    Lossy::samples.assign(32000, 0.25f);
    Events::label = "yes";
    Events::at = {1600, 16000};
  }
  void TearDown() override { Lossy::samples.clear(); }
  std::unique_ptr<Graph> build(const std::string& parameters) {
    GraphOptions options;
    options.nodes = test_nodes();
    options.tick = 160;
    auto graph = Graph::build(
        "lossy ! events ! mqtt broker=127.0.0.1:" + std::to_string(broker_.port()) + " " + parameters,
        options);
    EXPECT_TRUE(graph.ok()) << graph.status().text();
    return graph.ok() ? std::move(*graph) : nullptr;
  }
  static Json configs(const std::map<std::string, std::string>& known) {
    Json found = Json::object();
    for (const auto& [topic, payload] : known) {
      if (topic.starts_with("homeassistant/")) found[topic] = Json::parse(payload, nullptr, false);
    }
    return found;
  }

  runnel::test::TemporaryFolder folder_;
  Broker broker_{folder_.path()};
};

TEST_F(MqttDiscovery, AHouseThatStartsLaterKnowsTheDevice) {
  broker_.start();
  ASSERT_TRUE(build(kDevice)->run().ok());
  House house(broker_.port());
  ASSERT_TRUE(house.soon([](const auto& known) { return known.size() == 6; })) << house.known().size();
  // It has ended well.
  EXPECT_EQ(house.known().at("house/kitchen/availability"), "offline");
  const Json found = configs(house.known());
  std::vector<std::string> topics;
  std::set<std::string> ids;
  for (const auto& [topic, config] : found.items()) {
    topics.push_back(topic);
    ASSERT_TRUE(config.is_object()) << topic;
    EXPECT_EQ(config.at("state_topic"), "house/kitchen");
    EXPECT_EQ(config.at("availability_topic"), "house/kitchen/availability");
    EXPECT_EQ(config.at("device").at("name"), "The kitchen");
    EXPECT_EQ(config.at("device").at("identifiers"), Json({"kitchen"}));
    EXPECT_EQ(config.at("origin").at("name"), "runnel");
    EXPECT_TRUE(ids.insert(config.at("unique_id").get<std::string>()).second) << topic;
  }
  EXPECT_THAT(topics, testing::ElementsAre("homeassistant/binary_sensor/kitchen/it_27s/config",
                                           "homeassistant/binary_sensor/kitchen/no/config",
                                           "homeassistant/binary_sensor/kitchen/yes/config",
                                           "homeassistant/event/kitchen/heard/config",
                                           "homeassistant/sensor/kitchen/latest/config"));
  EXPECT_EQ(found.at("homeassistant/event/kitchen/heard/config").at("event_types"),
            Json({"yes", "no", "it's"}));
  const Json& yes = found.at("homeassistant/binary_sensor/kitchen/yes/config");
  EXPECT_EQ(yes.at("device_class"), "sound");
  EXPECT_EQ(yes.at("off_delay"), 2);
  EXPECT_EQ(yes.at("name"), "yes");
}

// The templates, as Home Assistant would fill them in, with the same engine.
TEST_F(MqttDiscovery, TemplatesGiveStatesFromRecords) {
  if (runnel::test::run_program({"/usr/bin/python3", "-c", "import jinja2"}).exit_code != 0)
    GTEST_SKIP() << "SKIPPED: Python has no jinja2 (scripts/install.sh site)";
  const std::vector<std::string> labels = {"yes", "it's"};
  DiscoverySettings settings{.prefix = "homeassistant",
                             .topic = "a",
                             .id = "b",
                             .name = "c",
                             .device_class = "sound",
                             .hold = 2,
                             .labels = labels};
  Json all = Json::array();
  for (const MqttMessage& message : discovery_messages(settings)) all.push_back(Json::parse(message.payload));
  settings.labels = {};
  for (const MqttMessage& message : discovery_messages(settings)) all.push_back(Json::parse(message.payload));
  const fs::path configs = folder_.path() / "configs.json", script = folder_.path() / "fill.py";
  std::ofstream(configs) << all.dump();
  std::ofstream(script) << R"(import json, sys
from jinja2.sandbox import ImmutableSandboxedEnvironment
environment = ImmutableSandboxedEnvironment()
environment.filters["to_json"] = json.dumps
class This: state = "before"
records = [{"type": "event", "label": "it's", "score": 0.5}, {"type": "event", "label": "yes", "score": 0.5},
           {"type": "gap"}, {"type": "final", "text": "one two"}]
for config in json.load(open(sys.argv[1])):
    for record in records:
        print(environment.from_string(config["value_template"]).render(value_json=record, this=This()))
)";
  const auto filled = runnel::test::run_program({"/usr/bin/python3", script.string(), configs.string()});
  ASSERT_EQ(filled.exit_code, 0) << filled.err;
  EXPECT_EQ(filled.out,
            // the event
            "{\"type\": \"event\", \"label\": \"it's\", \"score\": 0.5, \"event_type\": \"it's\"}\n"
            "{\"type\": \"event\", \"label\": \"yes\", \"score\": 0.5, \"event_type\": \"yes\"}\n\n\n"
            // the latest label
            "it's\nyes\nbefore\nbefore\n"
            // yes, it's
            "\nON\n\n\nON\n\n\n\n"
            // the latest text
            "before\nbefore\nbefore\none two\n");
}

TEST_F(MqttDiscovery, ALostProgramIsNotAvailable) {
  broker_.start();
  // A program of its own, which is killed; there are no threads yet.
  const pid_t program = fork();
  if (program == 0) {
    auto graph = build(kDevice);
    bool done = false;
    while (graph != nullptr && graph->executor().samples() < 16000 && graph->step(done).ok()) {
    }
    for (;;) pause();
  }
  House house(broker_.port());
  EXPECT_TRUE(house.sees("house/kitchen/availability", "online"));
  kill(program, SIGKILL);
  waitpid(program, nullptr, 0);
  EXPECT_TRUE(house.sees("house/kitchen/availability", "offline"));
}

TEST_F(MqttDiscovery, ABrokerThatHasForgottenEverythingIsToldAgain) {
  broker_.start();
  const auto graph = build(std::string(kDevice) + "retry=1");
  bool done = false;
  ASSERT_TRUE(graph->step(done).ok());  // starts it
  {
    House house(broker_.port());
    EXPECT_TRUE(house.sees("house/kitchen/availability", "online"));
  }
  broker_.kill_it();
  fs::remove_all(folder_.path() / "data");
  fs::create_directories(folder_.path() / "data");
  broker_.start();
  House house(broker_.port());
  EXPECT_TRUE(house.sees("house/kitchen/availability", "online"));
  EXPECT_TRUE(house.soon([](const auto& known) { return configs(known).size() == 5; }));
  ASSERT_TRUE(graph->run().ok());
  EXPECT_TRUE(house.sees("house/kitchen/availability", "offline"));
}

TEST_F(MqttDiscovery, ADeviceIsRemovedOnRequest) {
  broker_.start();
  ASSERT_TRUE(build(kDevice)->run().ok());
  ASSERT_TRUE(build(std::string(kDevice) + "forget=true")->run().ok());
  // Another device shows that the house has heard all.
  ASSERT_TRUE(build("topic=house/cellar client=cellar discovery=homeassistant labels=a")->run().ok());
  House house(broker_.port());
  EXPECT_TRUE(house.sees("house/cellar/availability", "offline"));
  EXPECT_TRUE(house.soon([](const auto& known) { return configs(known).size() == 3; }));
  for (const auto& [topic, payload] : house.known())
    EXPECT_EQ(topic.find("kitchen"), std::string::npos) << topic;
}

TEST_F(MqttDiscovery, RefusesWhatAHouseCouldNotUse) {
  GraphOptions options;
  options.nodes = test_nodes();
  const auto refused = [&](const std::string& parameters) {
    return failure_of("lossy ! events ! mqtt discovery=homeassistant " + parameters, options);
  };
  EXPECT_THAT(refused("topic=a/{label}"), HasSubstr("expected one topic for all records"));
  EXPECT_THAT(refused("device_class=noise"),
              HasSubstr("device_class=noise: expected one of Home Assistant's"));
  EXPECT_THAT(refused("labels=\"a b,a_b\""), HasSubstr("the label a_b has the same id as another one, a_b"));
  EXPECT_THAT(failure_of("lossy ! events ! mqtt discovery=a/#", options), HasSubstr("without + and #"));
}

}  // namespace
}  // namespace runnel::pipeline::test
