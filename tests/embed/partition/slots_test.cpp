// Updates in two slots, with the power going away at every step.
#include <optional>
#include <random>

#include "base/host/signature.h"
#include "tests/embed/partition/device.h"

namespace runnel::test {
namespace {

using firmware::Cut;
using firmware::SimulatedFlash;

constexpr Geometry kGeometries[] = {{4096, 1}, {2048, 8}, {512, 16}, {8192, 256}};

std::string said() { return runnel_last_failure(); }

// What the models say, so that a node is known by its results.
struct Outputs {
  std::vector<unsigned char> of_old, of_new;
};
const Outputs& outputs() {
  static const Outputs out = [] {
    Outputs made;
    for (const bool is_new : {false, true}) {
      Device device;
      device.factory(image(is_new ? "other" : "digits"));
      EXPECT_EQ(device.open(), RUNNEL_OK) << said();
      EXPECT_EQ(device.start(), RUNNEL_OK) << said();
      (is_new ? made.of_new : made.of_old) = device.output();
    }
    EXPECT_FALSE(made.of_old.empty());
    EXPECT_NE(made.of_old, made.of_new);
    return made;
  }();
  return out;
}

// Version 1 of the factory, the update to version 2, its trial and its confirmation; ends where the power
// goes. Returns whether the confirmation was made.
bool whole_update(Device& device, const Bytes& next) {
  if (device.open() != RUNNEL_OK || device.start() != RUNNEL_OK) return false;
  if (device.state().running_version == 2) {
    if (device.state().trial != RUNNEL_TRIAL_RUNS) return true;
    return runnel_slots_confirm(&device.slots) == RUNNEL_OK;
  }
  if (device.update(next) != RUNNEL_OK || device.start() != RUNNEL_OK) return false;
  EXPECT_EQ(device.state().running_version, 2U);
  return runnel_slots_confirm(&device.slots) == RUNNEL_OK;
}

// The device after a cut: one of the models runs, whole.
void expect_whole(Device& device, bool confirmed, const std::string& where) {
  device.power_on();
  ASSERT_EQ(device.open(), RUNNEL_OK) << where << ": " << said();
  ASSERT_EQ(device.start(), RUNNEL_OK) << where << ": " << said();
  const std::uint32_t version = device.state().running_version;
  ASSERT_TRUE(version == 1 || version == 2) << where;
  ASSERT_TRUE(!confirmed || version == 2) << where;
  ASSERT_EQ(device.output(), version == 1 ? outputs().of_old : outputs().of_new) << where;
}

TEST(Slots, AnUpdateIsTriedAndKept) {
  Device device;
  device.factory(of_version("digits", 1));
  ASSERT_EQ(device.open(), RUNNEL_OK) << said();
  ASSERT_EQ(device.start(), RUNNEL_OK) << said();
  EXPECT_EQ(device.state().running, 0);
  EXPECT_EQ(device.output(), outputs().of_old);
  ASSERT_EQ(device.update(of_version("other", 2)), RUNNEL_OK) << said();
  EXPECT_EQ(device.state().trial, RUNNEL_TRIAL_READY);
  EXPECT_EQ(device.state().running_version, 1U);
  EXPECT_EQ(runnel_slots_begin(&device.slots), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_slots_confirm(&device.slots), RUNNEL_INVALID_ARGUMENT);
  ASSERT_EQ(device.start(), RUNNEL_OK) << said();
  EXPECT_EQ(device.state().trial, RUNNEL_TRIAL_RUNS);
  EXPECT_EQ(device.state().running, 1);
  EXPECT_EQ(device.output(), outputs().of_new);
  ASSERT_EQ(runnel_slots_confirm(&device.slots), RUNNEL_OK) << said();
  EXPECT_EQ(device.state().confirmed, 1);
  EXPECT_EQ(device.state().least_version, 2U);
  device.power_on();
  ASSERT_EQ(device.open(), RUNNEL_OK);
  ASSERT_EQ(device.start(), RUNNEL_OK);
  EXPECT_EQ(device.state().running_version, 2U);
  // And back into the first slot, many times: the journal's blocks take turns.
  for (std::uint32_t version = 3; version < 60; ++version) {
    ASSERT_EQ(device.update(of_version(version % 2 == 0 ? "other" : "digits", version)), RUNNEL_OK) << said();
    ASSERT_EQ(device.start(), RUNNEL_OK);
    ASSERT_EQ(runnel_slots_confirm(&device.slots), RUNNEL_OK);
    device.power_on();
    ASSERT_EQ(device.open(), RUNNEL_OK);
    ASSERT_EQ(device.start(), RUNNEL_OK);
    ASSERT_EQ(device.state().running_version, version);
    ASSERT_EQ(device.flash.violations, 0);
  }
}

TEST(Slots, ACutAtEveryStepLeavesTheOldModelOrTheNewOne) {
  const Bytes old = of_version("digits", 1), next = of_version("other", 2);
  for (const Geometry geometry : kGeometries) {
    Device first(geometry);
    first.factory(old);
    ASSERT_TRUE(whole_update(first, next)) << said();
    const std::uint32_t steps = first.flash.steps;
    ASSERT_GT(steps, 100U);
    ASSERT_EQ(first.flash.violations, 0);
    int came_up_old = 0, came_up_new = 0;
    for (int cut = 0; cut < firmware::kCuts; ++cut) {
      for (std::uint32_t step = 1; step <= steps; ++step) {
        const std::string where = "erase " + std::to_string(geometry.erase_bytes) + ", program " +
                                  std::to_string(geometry.program_bytes) + ", kind " + std::to_string(cut) +
                                  ", step " + std::to_string(step);
        Device device(geometry);
        device.factory(old);
        device.power_on(step, static_cast<Cut>(cut), step * 2654435761U + 1);
        const bool confirmed = whole_update(device, next);
        ASSERT_FALSE(confirmed && device.flash.dead) << where;
        ASSERT_EQ(device.flash.violations, 0) << where;
        expect_whole(device, confirmed, where);
        if (HasFatalFailure()) return;
        (device.state().running_version == 1 ? came_up_old : came_up_new) += 1;
        // The update goes on from whatever is there.
        device.power_on();
        for (int again = 0; again < 3 && !whole_update(device, next); ++again) device.power_on();
        expect_whole(device, true, where + ", updated again");
        if (HasFatalFailure()) return;
      }
    }
    EXPECT_GT(came_up_old, 100);
    EXPECT_GT(came_up_new, 2);
  }
}

TEST(Slots, RandomCutsOneAfterTheOtherLeaveOneOfTheModels) {
  const Bytes old = of_version("digits", 1), next = of_version("other", 2);
  std::mt19937 random(3);
  int cuts = 0;
  for (int round = 0; round < 200; ++round) {
    const Geometry geometry = kGeometries[random() % std::size(kGeometries)];
    Device device(geometry);
    device.factory(old);
    device.change.trial_starts = 1 + random() % 3;
    device.mapped = random() % 2 == 0;
    bool confirmed = false;
    std::string where = "round " + std::to_string(round) + ":";
    for (int go = 0; go < 4 && !confirmed; ++go) {
      const std::uint32_t step = 1 + random() % 180;
      const auto cut = static_cast<Cut>(random() % firmware::kCuts);
      where += " " + std::to_string(step) + "/" + std::to_string(static_cast<int>(cut));
      device.power_on(step, cut, random() | 1U);
      confirmed = whole_update(device, next);
      cuts += device.flash.dead ? 1 : 0;
      ASSERT_EQ(device.flash.violations, 0) << where;
      if (device.flash.dead) {
        expect_whole(device, confirmed, where);
        if (HasFatalFailure()) return;
      }
    }
    expect_whole(device, confirmed, where);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(cuts, 200);
}

TEST(Slots, WhatIsNotConfirmedIsTakenBack) {
  for (const std::uint32_t starts : {1U, 3U}) {
    Device device;
    device.change.trial_starts = starts;
    device.factory(of_version("digits", 1));
    ASSERT_EQ(device.open(), RUNNEL_OK);
    ASSERT_EQ(device.start(), RUNNEL_OK);
    ASSERT_EQ(device.update(of_version("other", 2)), RUNNEL_OK);
    for (std::uint32_t i = 0; i < starts; ++i) {
      device.power_on();
      ASSERT_EQ(device.open(), RUNNEL_OK);
      ASSERT_EQ(device.start(), RUNNEL_OK);
      EXPECT_EQ(device.state().running_version, 2U) << i;
    }
    device.power_on();
    ASSERT_EQ(device.open(), RUNNEL_OK);
    ASSERT_EQ(device.start(), RUNNEL_OK);
    EXPECT_EQ(device.state().running_version, 1U);
    EXPECT_EQ(device.state().trial, RUNNEL_TRIAL_FAILED);
    EXPECT_NE(said().find("not confirmed"), std::string::npos) << said();
    // The application's own judgement.
    ASSERT_EQ(device.update(of_version("other", 3)), RUNNEL_OK);
    ASSERT_EQ(device.start(), RUNNEL_OK);
    EXPECT_EQ(device.state().running_version, 3U);
    ASSERT_EQ(runnel_slots_rollback(&device.slots), RUNNEL_OK);
    ASSERT_EQ(device.start(), RUNNEL_OK);
    EXPECT_EQ(device.state().running_version, 1U);
    EXPECT_EQ(runnel_slots_rollback(&device.slots), RUNNEL_INVALID_ARGUMENT);
  }
}

TEST(Slots, ATrialThatDoesNotPrepareIsTakenBackAtOnce) {
  Device device;
  device.factory(of_version("digits", 1));
  ASSERT_EQ(device.open(), RUNNEL_OK);
  ASSERT_EQ(device.start(), RUNNEL_OK);
  // Its digest is right; the model is none.
  Bytes model(5000, std::byte{9});
  ASSERT_EQ(device.update(image_of_model(model)), RUNNEL_OK) << said();
  ASSERT_EQ(device.start(), RUNNEL_OK) << said();
  EXPECT_EQ(device.state().running_version, 1U);
  EXPECT_EQ(device.state().trial, RUNNEL_TRIAL_FAILED);
  EXPECT_EQ(device.output(), outputs().of_old);
}

TEST(Slots, ADamagedModelIsReplacedByTheOneBefore) {
  for (const bool check : {false, true}) {
    Device device;
    device.change.check_at_start = check ? 1 : 0;
    device.factory(of_version("digits", 1));
    ASSERT_TRUE(whole_update(device, of_version("other", 2)));
    // A bit of the weights.
    device.slot(1)[20000] ^= std::byte{4};
    device.power_on();
    ASSERT_EQ(device.open(), RUNNEL_OK);
    ASSERT_EQ(device.start(), RUNNEL_OK) << said();
    EXPECT_EQ(device.state().running_version, 1U);
    EXPECT_EQ(device.state().confirmed, 0);
    EXPECT_EQ(device.output(), outputs().of_old);
    // Both: a code, and an update helps.
    device.slot(0)[20000] ^= std::byte{4};
    device.power_on();
    ASSERT_EQ(device.open(), RUNNEL_OK);
    EXPECT_EQ(device.start(), RUNNEL_INVALID_DATA);
    EXPECT_FALSE(said().empty());
    ASSERT_EQ(device.update(of_version("other", 2)), RUNNEL_OK) << said();
    ASSERT_EQ(device.start(), RUNNEL_OK) << said();
    EXPECT_EQ(device.output(), outputs().of_new);
  }
}

TEST(Slots, AnEmptyDeviceTakesItsFirstModel) {
  Device device;
  EXPECT_EQ(device.open(), RUNNEL_NOT_FOUND);
  EXPECT_EQ(device.start(), RUNNEL_NOT_FOUND);
  ASSERT_EQ(device.update(of_version("digits", 1)), RUNNEL_OK) << said();
  ASSERT_EQ(device.start(), RUNNEL_OK) << said();
  ASSERT_EQ(runnel_slots_confirm(&device.slots), RUNNEL_OK);
  // A factory that has programmed both slots: the later version runs.
  Device both;
  both.factory(of_version("digits", 4), 0);
  both.factory(of_version("other", 5), 1);
  ASSERT_EQ(both.open(), RUNNEL_OK);
  ASSERT_EQ(both.start(), RUNNEL_OK);
  EXPECT_EQ(both.state().running, 1);
}

TEST(Slots, BadImagesAreRefusedBeforeAnythingIsErased) {
  const Bytes good = of_version("other", 5);
  struct Case {
    Bytes bytes;
    runnel_code code;
    const char* part;
  };
  Bytes flipped = good;
  flipped[100] ^= std::byte{1};
  const std::vector<Case> cases = {
      {Bytes(4096, std::byte{0xFF}), RUNNEL_INVALID_DATA, "erased"},
      {Bytes(4096, std::byte{0x11}), RUNNEL_INVALID_DATA, "no model image"},
      {flipped, RUNNEL_INVALID_DATA, "header of the image: checksum"},
      {of_version("other", 3), RUNNEL_MISMATCH, "has version 3, expected at least 4"},
      {with_header(good, [](auto& header) { header.profile[0] ^= 1; }), RUNNEL_MISMATCH, "another profile"},
      {with_header(good, [](auto& header) { header.length = 1U << 20; }), RUNNEL_INVALID_DATA, "room for"},
      {with_header(good, [](auto& header) { header.memory_bytes = 1U << 24; }), RUNNEL_OUT_OF_MEMORY,
       "needs 16777216 bytes of memory"},
  };
  for (const Case& one : cases) {
    Device device;
    device.factory(of_version("digits", 4));
    device.factory(of_version("other", 2), 1);
    ASSERT_EQ(device.open(), RUNNEL_OK);
    ASSERT_EQ(device.start(), RUNNEL_OK);
    const Bytes before(device.slot(1).begin(), device.slot(1).end());
    const std::uint32_t steps = device.flash.steps;
    EXPECT_EQ(device.update(one.bytes), one.code) << one.part << ": " << said();
    EXPECT_NE(said().find(one.part), std::string::npos) << said() << ", expected " << one.part;
    EXPECT_EQ(device.flash.steps, steps) << one.part;
    EXPECT_TRUE(std::equal(before.begin(), before.end(), device.slot(1).begin())) << one.part;
    EXPECT_EQ(runnel_slots_write(&device.slots, before.data(), 1), RUNNEL_INVALID_ARGUMENT);
    EXPECT_EQ(runnel_slots_finish(&device.slots), RUNNEL_INVALID_ARGUMENT);
    ASSERT_EQ(device.update(good), RUNNEL_OK) << said();
  }
  // Only the end tells.
  Device device;
  device.factory(of_version("digits", 4));
  ASSERT_EQ(device.open(), RUNNEL_OK);
  Bytes cut = good, more = good, changed = good;
  cut.pop_back();
  more.push_back(std::byte{0});
  changed[9000] ^= std::byte{1};
  EXPECT_EQ(device.update(cut), RUNNEL_INVALID_DATA);
  EXPECT_NE(said().find("an image of " + std::to_string(cut.size())), std::string::npos) << said();
  EXPECT_EQ(device.update(more), RUNNEL_INVALID_DATA);
  EXPECT_NE(said().find("more bytes than the image has"), std::string::npos) << said();
  EXPECT_EQ(device.update(changed), RUNNEL_INVALID_DATA);
  EXPECT_NE(said().find("digest"), std::string::npos) << said();
  EXPECT_EQ(device.update({}), RUNNEL_INVALID_DATA);
  ASSERT_EQ(device.start(), RUNNEL_OK);
  EXPECT_EQ(device.state().running_version, 4U);
  // An older version where that is allowed.
  device.change.allow_older = 1;
  ASSERT_EQ(device.open(), RUNNEL_OK);
  EXPECT_EQ(device.update(of_version("other", 1)), RUNNEL_OK) << said();
}

int verify(void* user, const std::uint8_t* message, std::size_t bytes, const std::uint8_t* signature) {
  crypto::Signature copy;
  std::memcpy(copy.data(), signature, copy.size());
  const auto& key = *static_cast<const crypto::PublicKey*>(user);
  return crypto::verify(key, {reinterpret_cast<const std::byte*>(message), bytes}, copy).ok() ? 1 : 0;
}

Bytes signed_by(const crypto::SigningKey& key, const Bytes& image) {
  const Bytes flagged = with_header(image, [](auto& header) { header.is_signed = true; });
  const auto signature = crypto::sign(key, std::span(flagged).first(embed::kSignedBytes));
  EXPECT_TRUE(signature.ok());
  return with_header(flagged, [&](auto& header) { header.signature = *signature; });
}

TEST(Slots, OnlyImagesSignedByTheKeyAreTaken) {
  if (!crypto::can_sign()) GTEST_SKIP() << "SKIPPED: this build has no libsodium";
  const auto maker = *crypto::SigningKey::make(), stranger = *crypto::SigningKey::make();
  crypto::PublicKey known = *crypto::public_key(maker);
  Device device;
  device.change.verify = verify;
  device.change.verify_user = &known;
  // A factory image without a signature is no model.
  device.factory(of_version("digits", 1));
  EXPECT_EQ(device.open(), RUNNEL_NOT_FOUND);
  device.factory(signed_by(maker, of_version("digits", 1)));
  ASSERT_EQ(device.open(), RUNNEL_OK) << said();
  ASSERT_EQ(device.start(), RUNNEL_OK);
  const Bytes next = of_version("other", 2), good = signed_by(maker, next);
  EXPECT_EQ(device.update(next), RUNNEL_INVALID_DATA);
  EXPECT_NE(said().find("not signed"), std::string::npos) << said();
  EXPECT_EQ(device.update(signed_by(stranger, next)), RUNNEL_INVALID_DATA);
  EXPECT_NE(said().find("signature"), std::string::npos) << said();
  // Every signed byte, with a header whose checksum is right.
  for (std::size_t at = 8; at < embed::kSignedBytes; ++at) {
    Bytes changed = good;
    changed[at] ^= std::byte{1};
    const std::uint32_t crc = crc32c(std::span(std::as_const(changed)).first(252));
    std::memcpy(changed.data() + 252, &crc, 4);
    EXPECT_NE(device.update(changed), RUNNEL_OK) << at;
  }
  ASSERT_EQ(device.update(good), RUNNEL_OK) << said();
  ASSERT_EQ(device.start(), RUNNEL_OK);
  EXPECT_EQ(device.state().running_version, 2U);
}

TEST(Slots, FlashThatFailsOrStallsIsNamedAndTheOldModelRuns) {
  const Bytes old = of_version("digits", 1), next = of_version("other", 2);
  Device counted;
  counted.factory(old);
  ASSERT_TRUE(whole_update(counted, next));
  for (std::uint32_t step = 1; step <= counted.flash.steps; step += step < 10 ? 1 : 7) {
    Device device;
    device.factory(old);
    device.flash.fails_from = step;
    EXPECT_FALSE(whole_update(device, next)) << step;
    EXPECT_NE(said().find("flash at "), std::string::npos) << said();
    EXPECT_NE(said().find("failed with -5"), std::string::npos) << said();
    expect_whole(device, false, "failed at " + std::to_string(step));
  }
  Device device;
  device.factory(old);
  device.flash.busy = 3;  // waits are no failures
  ASSERT_TRUE(whole_update(device, next)) << said();
  Device stuck;
  stuck.factory(old);
  ASSERT_EQ(stuck.open(), RUNNEL_OK);
  ASSERT_EQ(stuck.start(), RUNNEL_OK);
  stuck.flash.busy = -1;
  EXPECT_EQ(stuck.update(next), RUNNEL_IO_ERROR);
  EXPECT_NE(said().find("is not done after 1000000 calls"), std::string::npos) << said();
  stuck.flash.busy = 0;
  stuck.flash.reads_fail = true;
  EXPECT_EQ(stuck.update(next), RUNNEL_IO_ERROR);
  EXPECT_NE(said().find("reading flash at "), std::string::npos) << said();
  expect_whole(stuck, false, "stuck");
}

TEST(Slots, MutatedFlashGivesAModelOrACode) {
  const Bytes old = of_version("digits", 1), next = of_version("other", 2);
  std::mt19937 random(11);
  Device base;
  base.factory(old);
  ASSERT_TRUE(whole_update(base, next));
  const Bytes kept(base.flash.bytes.begin(), base.flash.bytes.end());
  int ran = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    Device device;
    std::copy(kept.begin(), kept.end(), device.flash.bytes.begin());
    for (unsigned k = 0, times = 1 + random() % 6; k < times; ++k) {
      // The journal, a header, or anywhere.
      const std::size_t where[] = {random() % 8192, 8192 + random() % 256, 8192 + 40960 + random() % 256,
                                   random() % kept.size()};
      const std::size_t at = where[random() % 4];
      const std::size_t size =
          std::min<std::size_t>(random() % 2 == 0 ? 1 : random() % 400, kept.size() - at);
      for (std::size_t b = 0; b < size; ++b) device.flash.bytes[at + b] = static_cast<std::byte>(random());
    }
    device.change.check_at_start = 1;
    const runnel_code opened = device.open();
    const runnel_code started = device.start();
    if (started == RUNNEL_OK) {
      ++ran;
      const std::uint32_t version = device.state().running_version;
      ASSERT_TRUE(version == 1 || version == 2);
      ASSERT_EQ(device.output(), version == 1 ? outputs().of_old : outputs().of_new) << i;
    } else {
      ++refused;
      ASSERT_FALSE(said().empty()) << opened;
    }
  }
  EXPECT_GT(ran, 1000);
  EXPECT_GT(refused, 10);
}

TEST(Slots, WrongCallsAndPlacesHaveCodes) {
  Device device;
  device.factory(of_version("digits", 1));
  EXPECT_EQ(device.start(), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_slots_begin(nullptr), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_slots_state_of(&device.slots).running, -1);
  const auto refused = [&](auto change) {
    runnel_slots_settings settings = device.settings();
    change(settings);
    EXPECT_EQ(runnel_slots_open(&device.slots, &settings, &runnel_apart), RUNNEL_INVALID_ARGUMENT);
    const std::string why = said();
    EXPECT_EQ(device.start(), RUNNEL_INVALID_ARGUMENT);
    return why;
  };
  EXPECT_NE(refused([](auto& s) { s.flash.program_bytes = 3; }).find("3 bytes"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.flash.program_bytes = 512; }).find("512 bytes"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.flash.erase_bytes = 100; }).find("100 bytes"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.slot_bytes += 1; }).find("multiple of erase_bytes"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.slot[1] = s.slot[0]; }).find("overlap"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.journal = s.slot[0]; }).find("overlap"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.flash.erase = nullptr; }).find("null pointer"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.slot[0] = 0xFFFFFF00; }).find("cannot have"), std::string::npos);
  ASSERT_EQ(device.open(), RUNNEL_OK) << said();
  EXPECT_EQ(runnel_slots_confirm(&device.slots), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_slots_write(&device.slots, nullptr, 3), RUNNEL_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace runnel::test
