// Answers that are older than what was seen, and those that come behind what followed them.
#include "services/fleet/older.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/fleet/entry.h"
#include "services/fleet/exchange.h"
#include "services/fleet/graphs/rules.h"
#include "services/fleet/note.h"
#include "services/fleet/work/worker.h"
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
  std::uint64_t first(std::string_view subject, std::uint64_t from) override {
    return note("first", subject, from);
  }
  std::uint64_t list(std::string_view filter) override { return note("list", filter); }
  std::uint64_t follow(std::string_view subject, std::uint64_t from) override {
    return note("follow", subject, from);
  }
  std::uint64_t watch(std::string_view filter) override { return note("watch", filter); }
  void leave(std::uint64_t) override {}
  [[nodiscard]] std::size_t copies(std::string_view) const override { return 1; }
  void remove(std::string_view subject, std::uint64_t last) override { note("remove", subject, last); }

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

 private:
  std::uint64_t note(std::string_view kind, std::string_view subject, std::uint64_t after = 0,
                     Headers headers = {}) {
    requests_.push_back({++numbers_, std::string(kind), std::string(subject), after, std::move(headers)});
    return numbers_;
  }
  std::uint64_t numbers_ = 0;
  std::vector<Request> requests_;
};

class OlderTest : public testing::Test {
 protected:
  static constexpr const char* kStream = "audio.a";
  const std::string entry_ = "$KV.runnel.s.audio.a", note_ = "$KV.runnel.o.audio.a",
                    events_ = "events.audio.a";

  OlderTest() : worker_(exchange_, runner_, options()) {
    rules_feed_ = exchange_.take("watch", rules_subject("$KV.runnel")).number;
    notes_feed_ = exchange_.take("watch", "$KV.runnel.o.>").number;
    beats_feed_ = exchange_.take("watch", "$KV.runnel.w.>").number;
    beat("me");
    work(1);
    work(200);
    answer(exchange_.take("list", "audio.>"), {}, {kStream});
    answer(exchange_.take("last", rules_subject("$KV.runnel")));
    work(1);
    answer(exchange_.take("append", note_));
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
  static Message note(std::string_view owner, std::uint64_t sequence, std::uint64_t version,
                      bool gone = false) {
    return {"$KV.runnel.o.audio.a", sequence, headers_of(Note{std::string(owner), version, gone}), {}};
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
  void refuse(const Scripted::Request& request, Answer::Outcome outcome) {
    Answer out;
    out.request = request.number;
    out.outcome = outcome;
    worker_.happened(std::move(out));
  }
  void noted(Message message) { worker_.happened(Delivery{notes_feed_, std::move(message), 0}); }
  void heard(Message message) { worker_.happened(Delivery{beats_feed_, std::move(message), 0}); }
  void beat(const std::string& id) { heard({"$KV.runnel.w." + id, ++beats_, {}, {}}); }
  // Takes the stream with an entry of this version, which the server has as `sequence`.
  void own(std::uint64_t version, std::uint64_t sequence) {
    work(10);
    answer(exchange_.take("last", entry_), entry("", sequence, version));
    answer(exchange_.take("append", entry_), {}, {}, sequence + 1);
    answer(exchange_.take("last", events_));
    work(10);
    answer(exchange_.take("append", note_));
    ASSERT_EQ(worker_.streams(), std::vector<std::string>{kStream});
  }

  CountingRunner runner_;
  Scripted exchange_;
  Worker worker_;
  Time now_{0};
  std::uint64_t beats_ = 0, rules_feed_ = 0, notes_feed_ = 0, beats_feed_ = 0;
};

// Without the comparison both workers would believe for good that the stream is the other's.
TEST_F(OlderTest, AnEntryThatIsOlderThanItsNoteIsAskedForAgain) {
  beat("other");
  noted(note("other", 15, 4));
  work(10);
  answer(exchange_.take("last", entry_), entry("other", 10, 4));
  work(10);
  EXPECT_EQ(exchange_.take("last", entry_).number, 0U);
  noted(note("", 20, 5));  // the other one has handed it over
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
  noted(note("", 30, 5));
  work(10);
  answer(exchange_.take("last", entry_), entry("", 26, 5));
  const auto claim = exchange_.take("append", entry_);
  EXPECT_EQ(claim.after, 26U) << "the leader's number is that of the condition";
  answer(claim, {}, {}, 27);
  EXPECT_NE(exchange_.take("last", events_).number, 0U);
  noted(note("me", 22, 6));  // of this claim, by a third server
  work(10);
  EXPECT_EQ(worker_.facts().lost, 0U);
  noted(note("other", 21, 8));
  EXPECT_EQ(worker_.facts().lost, 1U) << "newer, whatever its number";
}

// The answer to a claim comes behind the note of a later owner.
TEST_F(OlderTest, AClaimThatWasPassedIsNone) {
  work(10);
  answer(exchange_.take("last", entry_), entry("", 10, 4));
  const auto claim = exchange_.take("append", entry_);
  EXPECT_EQ(claim.after, 10U);
  noted(note("other", 12, 6));
  answer(claim, {}, {}, 11);
  work(10);
  EXPECT_TRUE(worker_.streams().empty());
  EXPECT_EQ(exchange_.take("last", events_).number, 0U)
      << "it goes on with the other one's entry and its own data";
}

// A leader that has read the end of its log twice has the entry before the last one, and stores no other one
// under the name of the last.
TEST_F(OlderTest, AClaimWhoseNameIsTakenIsTriedUnderTheNextOne) {
  work(10);
  std::set<std::string> names;
  std::uint64_t newest = 0;
  for (int i = 0; i < 4; ++i) {
    const auto question = exchange_.take("last", entry_);
    if (question.number == 0) GTEST_FAIL() << "the stream is not claimed again";
    answer(question, entry("", 10, 4));
    const auto claim = exchange_.take("append", entry_);
    ASSERT_NE(claim.number, 0U);
    EXPECT_EQ(claim.after, 10U);
    names.insert(*find(claim.headers, kMessageId));
    EXPECT_GT(read_entry(claim.headers)->version, newest);
    newest = read_entry(claim.headers)->version;
    if (i == 3) {
      answer(claim, {}, {}, 11);
      continue;
    }
    refuse(claim, Answer::Outcome::outdated);
    work(500);
  }
  EXPECT_EQ(names.size(), 4U);
  answer(exchange_.take("last", events_));
  EXPECT_EQ(worker_.streams(), std::vector<std::string>{kStream});
}

// What others know of it has a higher version than what is there now: they would not believe a lower one.
TEST_F(OlderTest, AnEntryThatWentBackGoesOnFromTheHighestVersionKnown) {
  noted(note("", 90, 80));
  work(10);
  for (int i = 0; i < 200; ++i) {
    const auto question = exchange_.take("last", entry_);
    if (question.number != 0) answer(question, entry("", 10, 14));
    work(200);
    const auto claim = exchange_.take("append", entry_);
    if (claim.number == 0) continue;
    EXPECT_GE(i, 140) << "30 s are not over";
    EXPECT_EQ(claim.after, 10U);
    EXPECT_EQ(read_entry(claim.headers)->version, 81U);
    return;
  }
  ADD_FAILURE() << "the stream is not claimed";
}

// An older note with the same owner comes between a note that was lost and its repetition: those who know of
// an owner between the two must hear the newer one.
TEST_F(OlderTest, WhatIsToBeToldIsToldAlthoughAnOlderNoteSaysTheSame) {
  own(5, 20);
  worker_.leave();
  work(10);
  answer(exchange_.take("append", entry_), {}, {}, 22);
  work(10);
  const auto first = exchange_.take("append", note_);
  EXPECT_EQ(*read_note(first.headers), (Note{"", 7, false}));
  refuse(first, Answer::Outcome::failed);
  work(10);
  noted(note("", 23, 5));
  work(500);
  EXPECT_FALSE(worker_.left());
  const auto second = exchange_.take("append", note_);
  ASSERT_NE(second.number, 0U);
  EXPECT_EQ(*read_note(second.headers), (Note{"", 7, false}));
}

// The note of an owner never comes: the entries say so.
TEST_F(OlderTest, ALookAtTheEntriesTellsWhatNoNoteHasSaid) {
  beat("other");
  noted(note("other", 15, 4));
  work(10);
  answer(exchange_.take("last", entry_), entry("other", 10, 4));
  work(10);
  const auto entries = "$KV.runnel.s.>";
  std::uint64_t look = 0;
  for (int i = 0; i < 31 && look == 0; ++i) work(1000), look = exchange_.take("watch", entries).number;
  ASSERT_NE(look, 0U);
  const auto seen = [&](Message message) { worker_.happened(Delivery{look, std::move(message), 1}); };
  seen(entry("", 12, 3));  // of a copy that is behind
  work(10);
  EXPECT_EQ(exchange_.take("last", entry_).number, 0U);
  seen(entry("other", 40, 22));  // its owner saves states
  work(10);
  EXPECT_EQ(exchange_.take("last", entry_).number, 0U);
  EXPECT_EQ(worker_.facts().corrected, 0U);
  seen(entry("", 41, 23));
  work(10);
  EXPECT_EQ(worker_.facts().corrected, 1U);
  answer(exchange_.take("last", entry_), entry("", 41, 23));
  EXPECT_EQ(exchange_.take("append", entry_).after, 41U);
}

// A server that was left behind gives old notes again: the stream stays where it is, and nobody is told.
TEST_F(OlderTest, NotesThatAreOlderMoveNothing) {
  noted(note("other", 10, 4));
  noted(note("", 20, 5));
  own(5, 20);
  noted(note("me", 22, 6));
  noted(note("other", 10, 4));
  noted(note("", 20, 5, true));
  work(2000);
  EXPECT_EQ(worker_.streams(), std::vector<std::string>{kStream});
  EXPECT_EQ(exchange_.take("append", entry_).number, 0U) << "it is handed over";
  EXPECT_EQ(exchange_.take("append", note_).number, 0U) << "newer notes follow those by themselves";
  // Not repeated, but the last word of somebody who did not know: those who start later would believe it.
  noted(note("other", 30, 4));
  work(10);
  const auto said = exchange_.take("append", note_);
  ASSERT_NE(said.number, 0U);
  EXPECT_EQ(*read_note(said.headers), (Note{"me", 6, false}));
  EXPECT_EQ(worker_.facts().lost, 0U);
}

// An entry that this worker has written is nobody else's.
TEST_F(OlderTest, ANoteOfAnotherOwnerMustBeNewerThanTheOwnEntry) {
  own(5, 20);
  noted(note("other", 40, 6));
  EXPECT_EQ(worker_.streams(), std::vector<std::string>{kStream});
  noted(note("other", 41, 7));
  EXPECT_TRUE(worker_.streams().empty());
}

// Lists of a server that was left behind lack what came later: for half a minute that says nothing.
TEST_F(OlderTest, ListsWithoutAStreamAreDistrustedForAWhile) {
  own(1, 20);
  std::size_t lists = 0;
  const auto list = [&](std::vector<std::string> names) {
    const auto request = exchange_.take("list", "audio.>");
    if (request.number == 0) return;
    ++lists;
    answer(request, {}, std::move(names));
  };
  for (int i = 0; i < 25; ++i) work(1000), list({});
  EXPECT_GT(lists, 20U);
  work(1000);
  list({kStream});
  for (int i = 0; i < 25; ++i) work(1000), list({});
  work(10);
  EXPECT_EQ(exchange_.take("append", entry_).number, 0U) << "it is handed over";
  for (int i = 0; i < 10; ++i) work(1000), list({});
  const auto hand_over = exchange_.take("append", entry_);
  ASSERT_NE(hand_over.number, 0U);
  EXPECT_EQ(read_entry(hand_over.headers)->owner, "");
}

// Beats that a feed repeats do not make a worker live that is gone.
TEST_F(OlderTest, BeatsThatWereSeenBeforeSayNothing) {
  beat("other");
  const std::uint64_t its = beats_;
  EXPECT_EQ(worker_.facts().workers, 2U);
  for (int i = 0; i < 4; ++i) beat("me");
  EXPECT_EQ(worker_.facts().workers, 1U);
  heard({"$KV.runnel.w.other", its, {}, {}});
  EXPECT_EQ(worker_.facts().workers, 1U);
  // Its own ones are the clock.
  beat("other");
  const std::uint64_t last = beats_;
  for (int i = 0; i < 10; ++i) heard({"$KV.runnel.w.me", last - 1, {}, {}});
  EXPECT_EQ(worker_.facts().workers, 2U);
}

// One that was stopped for minutes, and goes on while its last beat is taken away, keeps the new one.
TEST_F(OlderTest, OnlyTheLastBeatOfAWorkerIsRemoved) {
  beat("other");
  const std::uint64_t its = beats_;
  for (int i = 0; i < 400; ++i) beat("me");
  work(10);
  EXPECT_EQ(exchange_.take("remove", "$KV.runnel.w.other").number, 0U);
  for (int i = 0; i < 2; ++i) beat("me");
  work(10);
  const auto removed = exchange_.take("remove", "$KV.runnel.w.other");
  ASSERT_NE(removed.number, 0U);
  EXPECT_EQ(removed.after, its);
  beat("other");
  EXPECT_EQ(worker_.facts().workers, 2U);
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
  worker_.happened(Delivery{rules_feed_, {subject, 30, {}, {}}, 0});
  work(10);
  answer(exchange_.take("last", subject), rules(2, 25));
  work(1000);
  const auto again = exchange_.take("last", subject);
  ASSERT_NE(again.number, 0U);
  answer(again, rules(1, 30));
  work(10);
  answer(exchange_.take("last", entry_), entry("", 31, 1));
  EXPECT_NE(exchange_.take("append", entry_).number, 0U);
  worker_.happened(Delivery{rules_feed_, {subject, 30, {}, {}}, 0});
  work(10);
  EXPECT_EQ(exchange_.take("last", subject).number, 0U)
      << "they are as new as the watch: nothing more is asked";
}

}  // namespace
}  // namespace runnel::fleet::test
