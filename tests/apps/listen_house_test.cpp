// `listen --discovery` from its start to its end against a broker: what a house sees of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/bridges/sound.h"
#include "tests/pipeline/nodes/host/act/broker.h"
#include "tests/pipeline/nodes/host/act/house.h"
#include "tests/support/beside.h"
#include "tests/support/data.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using pipeline::test::Broker;
using pipeline::test::House;
using runnel::test::Beside;
using testing::HasSubstr;
using Json = nlohmann::json;
using Known = std::map<std::string, std::string>;

constexpr const char* kAvailability = "house/kitchen/availability";

class ListenDiscovery : public testing::Test {
 protected:
  void SetUp() override {
    if (pipeline::test::broker_program().empty())
      GTEST_SKIP() << "SKIPPED: there is no mosquitto (scripts/install.sh test installs it)";
    bridges::test::write_wav(wav_, bridges::test::tones(60), 16000);
    broker_.start();
  }
  [[nodiscard]] std::vector<std::string> call(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {runnel::test::program(),
                                      "listen",
                                      bridges::test::digits(),
                                      "--wav",
                                      wav_.string(),
                                      "--decision",
                                      bridges::test::kEager,
                                      "--mqtt",
                                      "house/kitchen",
                                      "--broker",
                                      "127.0.0.1:" + std::to_string(broker_.port()),
                                      "--discovery",
                                      "homeassistant"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  runnel::test::TemporaryFolder folder_;
  fs::path wav_ = folder_.path() / "tones.wav", out_ = folder_.path() / "out", err_ = folder_.path() / "err";
  Broker broker_{folder_.path()};
};

TEST_F(ListenDiscovery, AHouseSeesADeviceItsEventsAndItsEnd) {
  House house(broker_.port());
  // At the pace of sound, so that it runs while the house looks.
  Beside listening(call({"--speed", "1", "--device-name", "Kitchen ears"}), out_, err_);
  ASSERT_TRUE(house.sees(kAvailability, "online")) << runnel::test::text_in(err_);
  ASSERT_TRUE(house.soon([&](const Known&) { return house.said("house/kitchen").size() >= 2; }))
      << runnel::test::text_in(err_);
  const Known during = house.known();
  std::size_t words = 0;
  for (const auto& [topic, payload] : during) {
    if (!topic.starts_with("homeassistant/")) continue;
    const Json config = Json::parse(payload);
    EXPECT_EQ(config.at("device").at("name"), "Kitchen ears") << topic;
    EXPECT_EQ(config.at("state_topic"), "house/kitchen") << topic;
    words += topic.starts_with("homeassistant/binary_sensor/") ? 1 : 0;
  }
  EXPECT_GE(words, 10U) << "an entity for each digit";
  listening.signal(SIGINT);
  EXPECT_EQ(listening.wait(), 0) << runnel::test::text_in(err_);
  EXPECT_TRUE(house.sees(kAvailability, "offline"));
  // What was published are the lines of the run, in their order.
  std::vector<std::string> lines;
  Json summary;
  std::istringstream in(runnel::test::text_in(out_));
  for (std::string line; std::getline(in, line);) {
    const Json record = Json::parse(line);
    if (record["type"] == "event") lines.push_back(line);
    if (record["type"] == "summary") summary = record;
  }
  EXPECT_TRUE(house.soon([&](const Known&) { return house.said("house/kitchen").size() >= lines.size(); }));
  EXPECT_EQ(house.said("house/kitchen"), lines);
  EXPECT_EQ(summary["actions"][0]["done"], lines.size());
}

TEST_F(ListenDiscovery, OneThatIsLostIsOfflineAndCanBeForgotten) {
  House house(broker_.port());
  Beside listening(call({"--speed", "1"}), out_, err_);
  ASSERT_TRUE(house.sees(kAvailability, "online")) << runnel::test::text_in(err_);
  listening.signal(SIGKILL);
  EXPECT_EQ(listening.wait(), 128 + SIGKILL);
  EXPECT_TRUE(house.sees(kAvailability, "offline")) << "the last will";
  const auto entities = [](const Known& known) {
    std::size_t count = 0;
    for (const auto& [topic, payload] : known) count += topic.starts_with("homeassistant/") ? 1 : 0;
    return count;
  };
  EXPECT_GE(entities(house.known()), 12U);
  const runnel::test::Output output = runnel::test::run_program(call({"--forget"}));
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_TRUE(house.soon([&](const Known& known) { return entities(known) == 0; }));
}

TEST_F(ListenDiscovery, WithoutABrokerThereIsASentenceAndNoSuccess) {
  broker_.kill_it();
  bridges::test::write_wav(wav_, bridges::test::tones(2), 16000);
  const runnel::test::Output output = runnel::test::run_program(call({}));
  EXPECT_EQ(output.exit_code, 1);
  EXPECT_THAT(output.err, HasSubstr("mqtt"));
}

}  // namespace
}  // namespace runnel::apps::test
