#include "services/fleet/metrics/board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "tests/services/fleet/fleet_harness.h"

namespace runnel::fleet::test {
namespace {

using testing::HasSubstr;
using testing::Not;

WorkerReport report() {
  WorkerReport out;
  out.worker = "desk-\"1\"";
  out.facts.streams = 3;
  out.facts.known = 40;
  out.facts.workers = 2;
  out.facts.graphs = {{0x45a9d594, 2}, {0xdeadbeef, 1}};
  out.facts.shares = {{"desk-\"1\"", 3}, {"hall", 37}};
  out.facts.own = {{"audio.<b>", 0x45a9d594}};
  out.facts.behind = 17;
  out.facts.saves = 5;
  out.facts.refused = 1;
  out.facts.chunks.set_apart = 4;
  out.facts.chunks.repeated_events = 6;
  out.facts.chunks.doubted = 9;
  out.facts.chunks.believed = 2;
  out.facts.chunks.mended = 8;
  out.lateness_p99 = 0.25;
  out.connected = true;
  return out;
}

TEST(WorkerBoard, MetricsOfWhatRunsWhere) {
  const std::string text = prometheus_of(report());
  for (const char* const line :
       {"\nrunnel_work_info{worker=\"desk-\\\"1\\\"\"} 1\n", "\nrunnel_work_connected 1\n",
        "\nrunnel_work_streams{graph=\"45a9d594\"} 2\n", "\nrunnel_work_streams{graph=\"deadbeef\"} 1\n",
        "\nrunnel_work_fleet_streams{worker=\"hall\"} 37\n", "\nrunnel_work_fleet_workers 2\n",
        "\nrunnel_work_fleet_streams_known 40\n", "\nrunnel_work_chunks_repeated_total 17\n",
        "\nrunnel_work_events_repeated_total 6\n", "\nrunnel_work_gaps_doubted_total 9\n",
        "\nrunnel_work_gaps_believed_total 2\n", "\nrunnel_work_chunks_mended_total 8\n",
        "\nrunnel_work_chunks_set_apart_total 4\n", "\nrunnel_work_snapshots_total 5\n",
        "\nrunnel_work_streams_refused_total 1\n",
        "\nrunnel_work_lateness_seconds{quantile=\"0.99\"} 0.25\n"})
    EXPECT_THAT('\n' + text, HasSubstr(line));
  // Every metric has its type once, before its values, and nothing else is there.
  std::istringstream lines(text);
  std::set<std::string> names;
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      name = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(names.insert(name).second) << name;
    } else if (line.starts_with("# TYPE ")) {
      EXPECT_TRUE(line == "# TYPE " + name + " counter" || line == "# TYPE " + name + " gauge") << line;
      EXPECT_EQ(line.ends_with("counter"), name.ends_with("_total")) << line;
    } else {
      EXPECT_TRUE(line.starts_with(name + ' ') || line.starts_with(name + '{')) << line;
    }
  }
}

TEST(WorkerBoard, APageForPeople) {
  const std::string page = document_of(report());
  EXPECT_THAT(page, HasSubstr("<td>hall</td><td class=\"n\">37</td>"));
  EXPECT_THAT(page, HasSubstr("<td>audio.&lt;b&gt;</td><td class=\"n\">45a9d594</td>"));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, HasSubstr("and 2 more"));
}

// What a worker that goes on after a kill counts.
TEST(WorkerBoard, RepeatedChunksAndEventsAndLatenessAreCounted) {
  Fleet fleet(1, {});
  const auto slow = [](WorkerOptions& options) {
    options.save = std::chrono::seconds(100);
    options.clock = [] { return Time(std::chrono::milliseconds(7)); };
  };
  const std::string name = "audio.room.1";
  const auto put = [&](std::int64_t k) {
    fleet.logs.put(name, Exchange::kAnyway, headers_of(chunk_at(100 * k, 100)), bytes_at(100 * k, 100));
  };
  put(0);
  fleet.add(1, slow);
  ASSERT_TRUE(fleet.until([&] { return fleet.members.front().worker->facts().chunks.heard == 1; }, 5000));
  for (int k = 1; k < 20; ++k) {
    put(k);
    fleet.run(5);
  }
  fleet.run(50);
  ASSERT_EQ(fleet.members.front().worker->facts().chunks.heard, 20U);
  EXPECT_EQ(fleet.members.front().worker->facts().behind, 1U) << "that which was there before it";
  EXPECT_EQ(fleet.members.front().worker->take_lateness().size(), 20U);
  const std::size_t events = events_of(fleet.logs, name).size();
  ASSERT_GT(events, 0U);
  fleet.kill(fleet.members.front());
  fleet.add(1, slow);
  ASSERT_TRUE(fleet.until([&] { return fleet.members.front().worker->facts().chunks.heard == 20; }, 9000));
  put(20);
  fleet.run(50);
  const WorkerFacts facts = fleet.members.front().worker->facts();
  EXPECT_EQ(facts.behind, 20U);
  EXPECT_EQ(facts.chunks.heard, 21U);
  EXPECT_EQ(facts.chunks.repeated_events, events);
  EXPECT_EQ(facts.graphs, (std::map<std::uint32_t, std::size_t>{{1, 1}}));
  EXPECT_EQ(facts.shares, (std::map<std::string, std::size_t>{{fleet.members.front().id, 1}}));
  ASSERT_EQ(facts.own.size(), 1U);
  EXPECT_EQ(facts.own[0].first, name);
}

}  // namespace
}  // namespace runnel::fleet::test
