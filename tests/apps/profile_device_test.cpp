// runnel profile --from-device: what a board printed beside this machine's figures. That boards print it is
// shown on boards (scripts/firmware_told.sh).
#include <gtest/gtest.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "inference/host/engine.h"
#include "inference/model/model_sum.h"
#include "tests/apps/support.h"
#include "tests/services/device/report_lines.h"

namespace runnel::apps::test {
namespace {

using runnel::test::report_bodies;
using runnel::test::TemporaryFolder;
using runnel::test::text_of;
using runnel::test::told;

// The bodies of a report of the bundled model.
std::vector<std::string> bodies() {
  const auto owned = OwnedModel::from_file(model());
  EXPECT_TRUE(owned.ok()) << owned.status().text();
  return report_bodies(model_sum((*owned)->model()), (*owned)->model().operator_count());
}

TEST(ProfileFromDevice, LaysOperatorsBesideThoseOfThisMachine) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "board.txt";
  write_text(file, "hello\n" + text_of(bodies()) + told("test program=words code=0 said=ok") + "\n");
  const Json out =
      Json::parse(call_well({"profile", model(), "--from-device", file, "--runs", "20", "--json"}).out);
  EXPECT_EQ(out["type"], "device_profile");
  EXPECT_EQ(out["target"], "cortex-m4");
  EXPECT_EQ(out["self_test"]["said"], "ok");
  EXPECT_EQ(out["stack"], 2540);
  EXPECT_EQ(out["nodes"].size(), 2U);
  int operators = 0;
  double share = 0, device_share = 0, cycles = 0;
  for (const Json& row : out["steps"]) {
    EXPECT_EQ(row["first"], operators);
    operators += row["operators"].get<int>();
    share += row["share"].get<double>();
    device_share += row["device_share"].get<double>();
    cycles += row["device_cycles"].get<double>();
    EXPECT_GT(row["us"].get<double>(), 0);
    EXPECT_FALSE(row["type"].get<std::string>().empty());
    // 25 MHz.
    EXPECT_DOUBLE_EQ(row["device_us"].get<double>(), row["device_cycles"].get<double>() / 25);
  }
  const int count = static_cast<int>(bodies().size()) - 8;
  EXPECT_EQ(operators, count);
  EXPECT_NEAR(share, 1, 1e-6);
  EXPECT_NEAR(device_share, 1, 1e-6);
  // Operators that this machine fuses are one row, whose cycles are the sum.
  EXPECT_DOUBLE_EQ(cycles, 1000.0 * count * (count + 1) / 2);
  const std::string table =
      call_well({"profile", model(), "--from-device", file, "--runs", "20", "--sort"}).out;
  for (const char* part : {"device cycles", "25.000 MHz", "self-test: passed",
                           "memory in bytes: 20760 of 22528", "lateness: 0 steps", "stack 2540"})
    EXPECT_NE(table.find(part), std::string::npos) << part << "\n" << table;
}

TEST(ProfileFromDevice, ReadsASerialLine) {
  int master = -1, slave = -1;
  char name[128] = {};
  termios raw{};
  ::cfmakeraw(&raw);
  raw.c_cflag |= CREAD;
  ASSERT_EQ(::openpty(&master, &slave, name, &raw, nullptr), 0);
  const std::string text = "some talk\n" + text_of(bodies());
  std::thread device([&] {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t done = ::write(master, text.data() + at, text.size() - at);
      if (done <= 0) return;
      at += static_cast<std::size_t>(done);
    }
  });
  const Json out = Json::parse(
      call_well({"profile", model(), "--from-device", name, "--baud", "921600", "--runs", "5", "--json"})
          .out);
  device.join();
  ::close(master);
  ::close(slave);
  EXPECT_EQ(out["program"], "words");
}

TEST(ProfileFromDevice, RefusesWhatDoesNotBelongToTheModel) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "board.txt";
  const auto refused = [&](const std::string& text, const std::string& sentence) {
    write_text(file, text);
    const std::string said = refusal({"profile", model(), "--from-device", file}, sentence);
    EXPECT_NE(said.find(file), std::string::npos) << said;
  };
  refused(text_of(report_bodies(1, 3)), "the report is of a model with checksum 00000001, expected ");
  refused("nothing\n", "no report of a device");
  std::string damaged = text_of(bodies());
  damaged[damaged.find("calls=100") + 6] = '2';
  refused(damaged, "line 2: the checksum differs");
  auto fewer = bodies();
  fewer.erase(fewer.end() - 6);
  fewer.back() = "end lines=" + std::to_string(fewer.size());
  refused(text_of(fewer), " operators, the model ");
  write_text(file, text_of(bodies()));
  refusal({"profile", model(), "--from-device", file, "--chunk", "4"},
          "--from-device with --whole or --chunk");
  refusal({"profile", model(), "--from-device", folder.path() / "none"}, "cannot be opened");
}

}  // namespace
}  // namespace runnel::apps::test
