// Answers that are older than what was seen, and those that come behind what followed them.
#include "services/fleet/older.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/fleet/entry.h"
#include "services/fleet/exchange.h"
#include "services/fleet/graphs/rules.h"
#include "services/fleet/worker.h"
#include "tests/services/fleet/counting_runner.h"
#include "tests/services/fleet/fleet_harness.h"

namespace runnel::fleet::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Older, IsDistrustedForAWhile) {
  Older older;
  EXPECT_FALSE(older.distrusted(7, 7, seconds(1)));
  EXPECT_TRUE(older.distrusted(6, 7, seconds(2)));
  EXPECT_TRUE(older.distrusted(0, 7, seconds(31)));
  EXPECT_FALSE(older.distrusted(8, 7, seconds(31))) << "newer than what was seen";
  EXPECT_TRUE(older.distrusted(6, 8, seconds(32)));
  EXPECT_FALSE(older.distrusted(6, 8, seconds(62))) << "a log that has truly gone back";
  EXPECT_TRUE(older.distrusted(6, 8, seconds(63))) << "another time";
}

// Nothing happens by itself: the test answers.
class Scripted final : public Exchange {
 public:
  struct Request {
    std::uint64_t number = 0;
    std::string kind, subject;
    std::uint64_t after = 0;
    Headers headers;
  };
  std::uint64_t append(std::string_view subject, std::uint64_t after, const Headers& headers,
                       std::string_view) override {
    return note("append", subject, after, headers);
  }
  std::uint64_t last(std::string_view subject) override { return note("last", subject); }
  std::uint64_t list(std::string_view filter) override { return note("list", filter); }
  std::uint64_t follow(std::string_view subject, std::uint64_t from) override {
    return note("follow", subject, from);
  }
  std::uint64_t watch(std::string_view filter) override { return watch_ = note("watch", filter); }
  void leave(std::uint64_t) override {}

  // The newest request of a kind for a subject, which is then forgotten; number 0: there is none.
  Request take(std::string_view kind, std::string_view subject) {
    const auto at = std::find_if(requests_.rbegin(), requests_.rend(), [&](const Request& one) {
      return one.kind == kind && one.subject == subject;
    });
    if (at == requests_.rend()) return {};
    Request out = *at;
    requests_.erase(std::next(at).base());
    return out;
  }
  [[nodiscard]] std::uint64_t watched() const { return watch_; }

 private:
  std::uint64_t note(std::string_view kind, std::string_view subject, std::uint64_t after = 0,
                     Headers headers = {}) {
    requests_.push_back({++numbers_, std::string(kind), std::string(subject), after, std::move(headers)});
    return numbers_;
  }
  std::uint64_t numbers_ = 0, watch_ = 0;
  std::vector<Request> requests_;
};

class OlderTest : public testing::Test {
 protected:
  static constexpr const char* kStream = "audio.a";
  const std::string entry_ = "$KV.runnel.s.audio.a", events_ = "events.audio.a";

  OlderTest() : worker_(exchange_, runner_, options()) {
    work(1);
    answer(exchange_.take("list", "audio.>"), {}, {kStream});
    answer(exchange_.take("last", rules_subject("$KV.runnel")));
    beat("me");
  }
  static WorkerOptions options() {
    WorkerOptions out;
    out.id = "me";
    return out;
  }
  static Message entry(std::string_view owner, std::uint64_t sequence, std::uint64_t version,
                       std::uint64_t covered = 0) {
    Entry entry;
    entry.version = version;
    entry.owner = owner;
    entry.graph = 1;
    entry.covered = covered;
    return {"$KV.runnel.s.audio.a", sequence, headers_of(entry), {}};
  }
  void work(int milliseconds_) { worker_.work(now_ += milliseconds(milliseconds_)); }
  void answer(const Scripted::Request& request, std::optional<Message> message = {},
              std::vector<std::string> subjects = {}, std::uint64_t sequence = 0) {
    ASSERT_NE(request.number, 0U);
    Answer out;
    out.request = request.number;
    out.outcome = Answer::Outcome::done;
    out.message = std::move(message);
    out.subjects = std::move(subjects);
    out.sequence = sequence;
    worker_.happened(std::move(out));
  }
  void watched(Message message) { worker_.happened(Delivery{exchange_.watched(), std::move(message)}); }
  void beat(const std::string& id) { watched({"$KV.runnel.w." + id, ++beats_, {}, {}}); }

  CountingRunner runner_;
  Scripted exchange_;
  Worker worker_;
  Time now_{0};
  std::uint64_t beats_ = 0;
};

// Without the comparison both workers would believe for good that the stream is the other's.
TEST_F(OlderTest, AnEntryThatIsOlderThanTheWatchIsAskedForAgain) {
  beat("other");
  watched(entry("", 20, 5));  // the other one has handed it over
  beats_ = 20;
  for (int i = 0; i < 4; ++i) beat("me");
  beat("other");
  work(10);
  const auto first = exchange_.take("last", entry_);
  if (first.number == 0) GTEST_FAIL() << "the stream is not claimed";
  answer(first, entry("other", 10, 4));  // as it was before
  work(10);
  EXPECT_EQ(exchange_.take("append", entry_).number, 0U);
  work(1000);
  answer(exchange_.take("last", entry_), entry("", 20, 5));
  const auto claim = exchange_.take("append", entry_);
  EXPECT_EQ(claim.after, 20U);
}

// Two servers that number the same messages differently: what counts is the entry's own number.
TEST_F(OlderTest, SequencesOfTwoServersMayDiffer) {
  watched(entry("", 30, 5));
  work(10);
  answer(exchange_.take("last", entry_), entry("", 26, 5));
  const auto claim = exchange_.take("append", entry_);
  EXPECT_EQ(claim.after, 26U) << "the leader's number is that of the condition";
  answer(claim, {}, {}, 27);
  EXPECT_NE(exchange_.take("last", events_).number, 0U);
  watched(entry("me", 31, 6));  // the same claim, seen
  work(10);
  EXPECT_EQ(worker_.facts().lost, 0U);
}

// The answer to a claim comes behind what the watch shows of a later owner.
TEST_F(OlderTest, AClaimThatWasPassedIsNone) {
  work(10);
  answer(exchange_.take("last", entry_), entry("", 10, 4));
  const auto claim = exchange_.take("append", entry_);
  EXPECT_EQ(claim.after, 10U);
  watched(entry("other", 12, 6, 500));
  answer(claim, {}, {}, 11);
  work(10);
  EXPECT_TRUE(worker_.streams().empty());
  EXPECT_EQ(exchange_.take("last", events_).number, 0U)
      << "it goes on with the other one's entry and its own data";
}

// Beats that a feed repeats do not make a worker live that is gone.
TEST_F(OlderTest, BeatsThatWereSeenBeforeSayNothing) {
  beat("other");
  const std::uint64_t its = beats_;
  EXPECT_EQ(worker_.facts().workers, 2U);
  for (int i = 0; i < 4; ++i) beat("me");
  EXPECT_EQ(worker_.facts().workers, 1U);
  watched({"$KV.runnel.w.other", its, {}, {}});
  EXPECT_EQ(worker_.facts().workers, 1U);
}

// Rules that the watch has announced are read until they are as new.
TEST_F(OlderTest, RulesThatAreOlderAreAskedForAgain) {
  const std::string subject = rules_subject("$KV.runnel");
  const auto rules = [&](std::uint32_t graph, std::uint64_t sequence) {
    Rules out;
    EXPECT_TRUE(out.add({"audio.>", graph, {}, "one", 0}).ok());
    const std::string text = text_of(out);
    const auto bytes = std::as_bytes(std::span(text));
    return Message{subject, sequence, {}, {bytes.begin(), bytes.end()}};
  };
  watched({subject, 30, {}, {}});
  work(10);
  answer(exchange_.take("last", subject), rules(2, 25));
  work(1000);
  const auto again = exchange_.take("last", subject);
  ASSERT_NE(again.number, 0U);
  answer(again, rules(1, 30));
  work(10);
  answer(exchange_.take("last", entry_), entry("", 31, 1));
  EXPECT_NE(exchange_.take("append", entry_).number, 0U);
  EXPECT_EQ(exchange_.take("last", subject).number, 0U)
      << "they are as new as the watch: nothing more is asked";
}

}  // namespace
}  // namespace runnel::fleet::test
