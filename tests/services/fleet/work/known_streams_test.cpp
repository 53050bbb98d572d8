// What workers know of streams that they do not own, and what stays of those that are gone.
#include <gtest/gtest.h>

#include <algorithm>

#include "services/fleet/entry.h"
#include "services/fleet/note.h"
#include "tests/services/fleet/fleet_harness.h"

namespace runnel::fleet::test {
namespace {

std::string name_of(int i) { return "audio.room." + std::to_string(i); }

void put(Fleet& fleet, int i) {
  fleet.logs.put(name_of(i), Exchange::kAnyway, headers_of(chunk_at(0, 10)), bytes_at(0, 10));
}

std::size_t owned(const Fleet& fleet) {
  std::size_t out = 0;
  for (const Fleet::Member& member : fleet.members) out += member.worker->streams().size();
  return out;
}

TEST(Note, WhatIsWrittenIsRead) {
  const Note note{"host-1", ~std::uint64_t{0}, true};
  EXPECT_EQ(*read_note(headers_of(note)), note);
  EXPECT_EQ(*read_note(headers_of(Note{})), Note{});
  for (const auto& [header, value] : headers_of(Note{})) EXPECT_FALSE(value.empty()) << header;
  EXPECT_EQ(read_note({}).status().code(), Code::invalid_data);
  EXPECT_EQ(read_note({{"Runnel-Entry", "-1"}}).status().code(), Code::invalid_data);
  EXPECT_EQ(read_note({{"Runnel-Entry", "1"}, {"Runnel-Gone", "2"}}).status().code(), Code::invalid_data);
}

// States are saved all the time; others hear only who owns a stream.
TEST(KnownStreams, SavedStatesGoToNobody) {
  Fleet fleet(1, {});
  for (int i = 0; i < 20; ++i) put(fleet, i);
  const auto quick = [](WorkerOptions& options) { options.save = std::chrono::milliseconds(100); };
  fleet.add(1, quick);
  fleet.add(1, quick);
  ASSERT_TRUE(fleet.until([&] { return owned(fleet) == 20; }, 5000));
  fleet.run(3000);
  const auto notes = [&] {
    std::size_t out = 0;
    for (const std::string& subject : fleet.logs.subjects("$KV.runnel.o.>"))
      out += fleet.logs.log(subject).size();
    return out;
  };
  const auto saves = [&] {
    std::uint64_t out = 0;
    for (const Fleet::Member& member : fleet.members) out += member.worker->facts().saves;
    return out;
  };
  const std::size_t before = notes();
  const std::uint64_t saved = saves();
  for (int k = 1; k <= 20; ++k) {
    for (int i = 0; i < 20; ++i)
      fleet.logs.put(name_of(i), Exchange::kAnyway, headers_of(chunk_at(10 * k, 10)), bytes_at(10 * k, 10));
    fleet.run(150);
  }
  EXPECT_GE(saves(), saved + 20 * 15);
  EXPECT_EQ(notes(), before);
}

// One worker looks for all; when it dies, another one does.
TEST(KnownStreams, NewStreamsAreFoundByOneAndTold) {
  Fleet fleet(2, {});
  for (int i = 0; i < 3; ++i) fleet.add();
  fleet.run(3000);
  put(fleet, 1);
  ASSERT_TRUE(fleet.until([&] { return owned(fleet) == 1; }, 3000));
  fleet.run(100);
  for (const Fleet::Member& member : fleet.members) EXPECT_EQ(member.worker->facts().known, 1U) << member.id;
  fleet.kill(fleet.members.front());  // the first by name
  put(fleet, 2);
  EXPECT_TRUE(fleet.until([&] { return owned(fleet) == 2; }, 6000));
}

// A stream whose log is empty has no owner, and nobody remembers it; when it speaks again it goes on.
TEST(KnownStreams, StreamsThatAreGoneAreForgotten) {
  Fleet fleet(3, {});
  for (int i = 0; i < 10; ++i) put(fleet, i);
  fleet.add();
  fleet.add();
  ASSERT_TRUE(fleet.until([&] { return owned(fleet) == 10; }, 5000));
  fleet.run(6000);
  MemoryExchange cleaner(fleet.logs);
  for (int i = 0; i < 6; ++i) cleaner.remove(name_of(i), Exchange::kAll);
  // Lists of a server that was left behind would lack some, too, for a while.
  fleet.run(20000);
  EXPECT_EQ(owned(fleet), 10U);
  ASSERT_TRUE(fleet.until([&] { return owned(fleet) == 4; }, 20000));
  fleet.run(2000);
  for (const Fleet::Member& member : fleet.members) {
    EXPECT_EQ(member.worker->facts().known, 4U) << member.id;
    EXPECT_EQ(member.worker->facts().streams, 2U) << member.id;
  }
  const auto entry = read_entry(fleet.logs.log("$KV.runnel.s." + name_of(1)).back().headers);
  EXPECT_EQ(entry->owner, "");
  EXPECT_EQ(entry->next, 10);
  fleet.logs.put(name_of(1), Exchange::kAnyway, headers_of(chunk_at(10, 30)), bytes_at(10, 30));
  ASSERT_TRUE(fleet.until(
      [&] { return read_entry(fleet.logs.log("$KV.runnel.s." + name_of(1)).back().headers)->next == 40; },
      15000));
  EXPECT_EQ(owned(fleet), 5U);
}

// A worker that died between its claim and its note, or whose note was overtaken: the entry decides.
TEST(KnownStreams, ANoteThatWasLostIsSaidByWhoeverReadsTheEntry) {
  Fleet fleet(4, {});
  put(fleet, 1);
  fleet.add();
  ASSERT_TRUE(fleet.until([&] { return owned(fleet) == 1; }, 5000));
  fleet.run(6000);
  const std::string owner = fleet.members.front().id, note = "$KV.runnel.o." + name_of(1);
  // Somebody says something older.
  fleet.logs.put(note, Exchange::kAnyway, headers_of(Note{"", 0, false}), {});
  fleet.run(500);
  EXPECT_EQ(read_note(fleet.logs.log(note).back().headers)->owner, owner);
  EXPECT_EQ(owned(fleet), 1U);
  // Its owner dies; what it said last says nothing of it.
  fleet.kill(fleet.members.front());
  fleet.logs.put(note, Exchange::kAnyway, headers_of(Note{"", 0, false}), {});
  fleet.add();
  ASSERT_TRUE(fleet.until([&] { return owned(fleet) == 1; }, 5000));
  fleet.run(100);
  EXPECT_EQ(read_note(fleet.logs.log(note).back().headers)->owner, fleet.members.front().id);
}

// Keys of workers that left or died do not stay in the bucket.
TEST(KnownStreams, BeatsOfTheDeadAreRemoved) {
  Fleet fleet(5, {});
  const auto quick = [](WorkerOptions& options) { options.beat = std::chrono::milliseconds(10); };
  for (int i = 0; i < 4; ++i) fleet.add(1, quick);
  fleet.run(500);
  EXPECT_EQ(fleet.logs.subjects("$KV.runnel.w.>").size(), 4U);
  Fleet::Member& third = *std::next(fleet.members.begin(), 2);
  third.worker->leave();
  ASSERT_TRUE(fleet.until([&] { return third.worker->left(); }, 1000));
  fleet.run(100);
  fleet.kill(third);
  EXPECT_EQ(fleet.logs.subjects("$KV.runnel.w.>").size(), 3U);
  fleet.kill(fleet.members.front());
  EXPECT_TRUE(fleet.until([&] { return fleet.logs.subjects("$KV.runnel.w.>").size() == 2; }, 10000));
  fleet.run(1000);
  for (const Fleet::Member& member : fleet.members)
    EXPECT_FALSE(fleet.logs.log("$KV.runnel.w." + member.id).empty()) << member.id;
}

}  // namespace
}  // namespace runnel::fleet::test
