// Another model takes over under streams that run.
#include "tests/apps/fleet/work_support.h"

namespace runnel::apps::test {
namespace {

// Decides later than kEager: other events, of the same labels.
constexpr const char* kSlow =
    "detect threshold=0.45 release=0.3 smoothing_frames=20 refractory_frames=30 ignore=\"\"";

class DeployTest : public WorkTest {
 protected:
  // The streams that changed.
  std::vector<std::string> deploy(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"deploy", "--nats", server_->url()};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<std::string> out;
    for (const Json& line : json_lines(call_well(words).out)) out.push_back(line["stream"]);
    return out;
  }
};

// A part of a recording, offline.
struct Part {
  std::vector<Json> events;
  double offset = 0;  // s
};

// The same decisions at the same samples, as far as texts with milliseconds tell.
void expect_same(const std::vector<Json>& found, const Part& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.events.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Json& one = expected.events[i];
    EXPECT_EQ(found[i]["label"], one["label"]) << what;
    EXPECT_EQ(found[i]["score"], one["score"]) << what;
    for (const char* const key : {"start", "end"}) {
      if (one.contains(key)) {
        EXPECT_NEAR(found[i][key].get<double>(), one[key].get<double>() + expected.offset, 0.000501) << what;
      }
    }
  }
}

// A hundred streams, one worker killed while it happens: before the sample the events of one offline run,
// from it on those of another.
TEST_F(DeployTest, EventsAreThoseOfTwoRunsCutAtTheSample) {
  constexpr std::size_t kStreams = 100, kSounds = 5, kPiece = kRate / 5, kAt = 3 * kRate + 777;
  std::vector<std::vector<std::int16_t>> different, sounds;
  for (std::size_t i = 0; i < kSounds; ++i) {
    different.push_back(tone_words(6, kRate));
    std::rotate(different[i].begin(), different[i].begin() + static_cast<std::ptrdiff_t>(3210 * i),
                different[i].end());
    different[i].resize(different[i].size() / kPiece * kPiece);
  }
  std::vector<std::string> subjects;
  for (std::size_t i = 0; i < kStreams; ++i) {
    sounds.push_back(different[i % kSounds]);
    subjects.push_back("audio.room." + std::to_string(i));
  }
  const auto all = [&](const auto& is) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    while (!std::all_of(subjects.begin(), subjects.end(), is)) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return true;
  };
  std::vector<std::unique_ptr<Background>> workers;
  for (int i = 0; i < 3; ++i) workers.push_back(worker());
  const std::size_t pieces = sounds[0].size() / kPiece;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    send(subjects, sounds, piece * kPiece, kPiece);
    if (piece == 5) {
      ASSERT_TRUE(all([&](const std::string& one) { return begun(one); }));
      deploy({model(), "--decision", kSlow, "--at", std::to_string(kAt), "--wait", "0"});
    }
    // The graph comes to the workers before that sample does.
    if (piece == 13) {
      for (int i = 0; i < 3; ++i) {
        ASSERT_NE(id_of_worker(i + 1), "");
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(100);
        while (graphs_of(*workers[static_cast<std::size_t>(i)], i + 1) < 2)
          ASSERT_LT(std::chrono::steady_clock::now(), end) << "worker " << i + 1 << " lacks the graph";
      }
    }
    if (piece == 14) workers[0]->end(SIGKILL);
  }
  ASSERT_TRUE(all([&](const std::string& one) { return ended(one); }));
  EXPECT_EQ(deploy({model(), "--decision", kSlow}).size(), kStreams) << "all are heard by it";
  std::vector<Part> before, after;
  for (const std::vector<std::int16_t>& sound : different) {
    before.push_back({parsed(offline("", {sound.begin(), sound.begin() + kAt}, kEager)), 0});
    after.push_back({parsed(offline("", {sound.begin() + kAt, sound.end()}, kSlow)), kAt / double{kRate}});
    EXPECT_FALSE(before.back().events.empty());
    EXPECT_FALSE(after.back().events.empty());
  }
  for (std::size_t i = 0; i < kStreams; ++i) {
    const std::vector<Json> log = parsed(events(subjects[i]));
    const auto change =
        std::find_if(log.begin(), log.end(), [](const Json& one) { return one["type"] == "deployed"; });
    ASSERT_NE(change, log.end()) << subjects[i];
    EXPECT_EQ((*change)["sample"], kAt);
    // What the graph before it still held comes right behind the change.
    std::vector<Json> first(log.begin(), change), second(change + 1, log.end());
    const auto tail = static_cast<std::ptrdiff_t>(before[i % kSounds].events.size() - first.size());
    ASSERT_GE(tail, 0) << subjects[i];
    ASSERT_LE(tail, static_cast<std::ptrdiff_t>(second.size())) << subjects[i];
    first.insert(first.end(), second.begin(), second.begin() + tail);
    second.erase(second.begin(), second.begin() + tail);
    expect_same(first, before[i % kSounds], subjects[i] + " before");
    expect_same(second, after[i % kSounds], subjects[i] + " after");
  }
}

TEST_F(DeployTest, IsTakenBackAndRefused) {
  const std::vector<std::string> nats = {"--nats", server_->url()};
  const auto call = [&](std::vector<std::string> words) {
    words.insert(words.end(), nats.begin(), nats.end());
    return words;
  };
  refusal(call({"deploy", model(), "--bucket", "none"}), "no worker ever ran here");
  refusal(call({"deploy"}), "expected a MODEL");
  const auto first = worker();
  const std::vector<std::vector<std::int16_t>> sounds = {tone_words(2, kRate)};
  const std::vector<std::string> subjects = {"audio.a"};
  send(subjects, sounds, 0, kRate);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!begun(subjects[0])) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  refusal(call({"deploy", "--take-back"}), "nothing to take back");
  EXPECT_EQ(deploy({model(), "--decision", kSlow}), subjects);
  EXPECT_EQ(deploy({"--take-back"}), subjects);
  std::size_t rules = 0, streams = 0, alive = 0;
  for (const Json& line : json_lines(call_well(call({"fleet", "status", "--json"})).out)) {
    rules += line["type"] == "rule" ? 1 : 0;
    alive += line["type"] == "worker" ? 1 : 0;
    if (line["type"] != "stream") continue;
    ++streams;
    EXPECT_EQ(line["changes"], 2);
  }
  EXPECT_EQ(rules, 1U);
  EXPECT_EQ(streams, 1U);
  EXPECT_EQ(alive, 1U);
  EXPECT_EQ(first->end(SIGTERM), 0);
  refusal(call({"fleet", "state"}), "expected fleet status or fleet events");
  refusal(call({"fleet", "events", "--stream", "audio.>"}), "expected the name of one stream");
  refusal(call({"fleet", "events"}), "expected the name of one stream");
}

}  // namespace
}  // namespace runnel::apps::test
