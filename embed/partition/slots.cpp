// The states of an update. What must survive a cut is in the journal; an update that is under way is only in
// memory, so that it begins anew.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <type_traits>

#include "base/sha256.h"
#include "embed/node.h"
#include "embed/partition/flash.h"
#include "embed/partition/image_header.h"
#include "embed/partition/journal.h"
#include "embed/partition/profile.h"
#include "embed/partition/runnel_slots.h"

using namespace runnel;
using namespace runnel::embed;

namespace {

constexpr std::uint32_t kReady = 0x534C4F54;  // opened

// An update that is written.
struct Update {
  bool begun = false;
  std::uint8_t slot = 0;
  std::uint32_t received = 0;
  ImageHeaderBytes header{};  // programmed last: a slot with a header has the whole image
  std::uint32_t length = 0;   // of the model, once the header is there
  std::array<std::byte, kFlashPage> page{};
};

struct Slots {
  std::uint32_t ready = kReady;
  runnel_slots_settings settings;
  const runnel_profile* profile;
  Journal journal;
  Update update;
  std::uint8_t running = kNoSlot;
  std::uint32_t running_version = 0;
  bool runs_trial = false, trial_failed = false;
};
static_assert(sizeof(Slots) <= sizeof(runnel_slots) && alignof(Slots) <= alignof(runnel_slots));
static_assert(std::is_trivially_destructible_v<Slots>);

Slots* slots_of(const runnel_slots* slots) noexcept {
  auto* const out = reinterpret_cast<Slots*>(const_cast<runnel_slots*>(slots));
  return out == nullptr || out->ready != kReady ? nullptr : out;
}
runnel_code not_open() noexcept {
  return fail(RUNNEL_INVALID_ARGUMENT, "slots that are null or not open: expected runnel_slots_open()");
}

const runnel_flash& flash_of(const Slots& slots) noexcept { return slots.settings.flash; }

std::uint32_t least_version(const Slots& slots) noexcept {
  const std::uint32_t kept = slots.settings.allow_older != 0 ? 0 : slots.journal.state().least_version;
  return std::max(kept, slots.settings.least_version);
}

Status check_sizes(const runnel_slots_settings& s) noexcept {
  const runnel_flash& f = s.flash;
  if (f.read == nullptr || f.erase == nullptr || f.program == nullptr)
    return Status(Code::invalid_argument, "a null pointer instead of a function of the flash");
  if (f.program_bytes == 0 || f.program_bytes > kFlashPage || (f.program_bytes & (f.program_bytes - 1)) != 0)
    return Status(Code::invalid_argument)
           << "flash that is programmed by " << f.program_bytes << " bytes, expected 1, 2, 4, ... 256";
  if (f.erase_bytes < kFlashPage || f.erase_bytes % f.program_bytes != 0 ||
      f.erase_bytes < 2 * Journal::stride(f))
    return Status(Code::invalid_argument) << "flash that is erased by " << f.erase_bytes
                                          << " bytes, expected a multiple of program_bytes, at least 512";
  if (s.slot_bytes == 0 || s.slot_bytes % f.erase_bytes != 0 || s.slot_bytes <= kImageHeaderBytes)
    return Status(Code::invalid_argument)
           << "slots of " << s.slot_bytes << " bytes, expected a multiple of erase_bytes";
  const std::uint64_t begin[] = {s.journal, s.slot[0], s.slot[1]};
  const std::uint64_t size[] = {2ULL * f.erase_bytes, s.slot_bytes, s.slot_bytes};
  for (std::size_t i = 0; i < 3; ++i) {
    if (begin[i] % f.program_bytes != 0 || begin[i] + size[i] > 0xFFFFFFFFULL)
      return Status(Code::invalid_argument) << "a place of " << begin[i] << ", which flash cannot have";
    for (std::size_t k = 0; k < i; ++k) {
      if (begin[i] < begin[k] + size[k] && begin[k] < begin[i] + size[i])
        return Status(Code::invalid_argument)
               << "journal and slots overlap: places " << begin[k] << " and " << begin[i];
    }
  }
  if (f.mapped != nullptr &&
      (reinterpret_cast<std::uintptr_t>(f.mapped) % 16 != 0 || s.slot[0] % 16 != 0 || s.slot[1] % 16 != 0))
    return Status(Code::invalid_argument, "mapped slots start at addresses that are no multiples of 16");
  return {};
}

Result<ImageHeader> header_in(const Slots& slots, std::uint8_t slot) noexcept {
  ImageHeaderBytes bytes;
  RUNNEL_TRY(read_flash(flash_of(slots), slots.settings.slot[slot], bytes));
  return read_image_header(bytes);
}

Status check_signature(const Slots& slots, const ImageHeader& header,
                       const ImageHeaderBytes& bytes) noexcept {
  if (slots.settings.verify == nullptr) return {};
  if (!header.is_signed) return Status(Code::invalid_data, "the image is not signed");
  if (slots.settings.verify(slots.settings.verify_user, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                            kSignedBytes, header.signature.data()) != 1)
    return Status(Code::invalid_data, "the signature of the image is not of the expected key");
  return {};
}

// The model in a slot against the digest of its header.
Status check_digest(const Slots& slots, std::uint8_t slot, const ImageHeader& header) noexcept {
  Sha256 hash;
  std::array<std::byte, kFlashPage> page;
  for (std::uint32_t at = 0; at < header.length; at += kFlashPage) {
    const std::span<std::byte> some(page.data(), std::min<std::size_t>(kFlashPage, header.length - at));
    RUNNEL_TRY(read_flash(flash_of(slots), slots.settings.slot[slot] + kImageHeaderBytes + at, some));
    hash.add(some);
  }
  if (hash.finish() != header.digest)
    return Status(Code::invalid_data)
           << "slot " << (slot == 0 ? 'A' : 'B') << ": the model's digest is not that of the image";
  return {};
}

// Everything about the image in a slot.
Result<ImageHeader> check_slot(const Slots& slots, std::uint8_t slot) noexcept {
  ImageHeaderBytes bytes;
  RUNNEL_TRY(read_flash(flash_of(slots), slots.settings.slot[slot], bytes));
  RUNNEL_ASSIGN(const ImageHeader header, read_image_header(bytes));
  RUNNEL_TRY(check_image(header, *slots.profile, slots.settings.slot_bytes));
  RUNNEL_TRY(check_signature(slots, header, bytes));
  RUNNEL_TRY(check_digest(slots, slot, header));
  return header;
}

// An empty journal: what a factory has programmed runs.
Status adopt(Slots& slots) noexcept {
  JournalState state = slots.journal.state();
  std::uint32_t best = 0;
  for (std::uint8_t slot = 0; slot < 2; ++slot) {
    const auto header = check_slot(slots, slot);
    if (!header.ok()) {
      if (header.status().code() == Code::io_error) return header.status();
      fail(header.status());
      continue;
    }
    if (header->version < slots.settings.least_version) continue;
    state.header_crc[slot] = header->crc;
    if (state.confirmed != kNoSlot && header->version <= best) continue;
    state.confirmed = slot;
    best = header->version;
  }
  if (state.confirmed == kNoSlot) return Status(Code::not_found, "no slot has a model that can run here");
  state.least_version = best;
  return slots.journal.write(flash_of(slots), state);
}

Status take_back(Slots& slots) noexcept {
  JournalState state = slots.journal.state();
  if (state.trial < 2) state.header_crc[state.trial] = 0;
  state.trial = kNoSlot;
  state.starts = 0;
  RUNNEL_TRY(slots.journal.write(flash_of(slots), state));
  slots.trial_failed = true;
  return {};
}

runnel_code prepare(Slots& slots, std::uint8_t slot, const runnel_options* options,
                    runnel_node** node) noexcept {
  slots.running = kNoSlot;
  const runnel_slots_settings& s = slots.settings;
  const auto header = s.check_at_start != 0 ? check_slot(slots, slot) : header_in(slots, slot);
  if (!header.ok()) return fail(header.status());
  if (header->crc != slots.journal.state().header_crc[slot])
    return fail(RUNNEL_INVALID_DATA, "the slot has another image than the journal says");
  runnel_partition partition = {};
  if (s.flash.mapped != nullptr)
    partition.address = static_cast<const std::byte*>(s.flash.mapped) + s.slot[slot];
  partition.bytes = s.slot_bytes;
  partition.read = s.flash.read;
  partition.start = s.slot[slot];
  partition.user = s.flash.user;
  partition.decrypt = s.decrypt;
  partition.copy = s.copy;
  partition.copy_bytes = s.copy_bytes;
  const runnel_code code = runnel_prepare_partition(slots.profile, &partition, options, node);
  if (code != RUNNEL_OK) return code;
  slots.running = slot;
  slots.running_version = header->version;
  return RUNNEL_OK;
}

// The header of an update is complete: nothing was erased yet.
Status take_header(Slots& slots) noexcept {
  Update& update = slots.update;
  RUNNEL_ASSIGN(const ImageHeader header, read_image_header(update.header));
  RUNNEL_TRY(check_image(header, *slots.profile, slots.settings.slot_bytes));
  if (const std::uint32_t least = least_version(slots); header.version < least)
    return Status(Code::mismatch) << "the model \"" << header.name.data() << "\" has version "
                                  << header.version << ", expected at least " << least;
  RUNNEL_TRY(check_signature(slots, header, update.header));
  update.length = header.length;
  JournalState state = slots.journal.state();
  update.slot = state.confirmed == 0 ? 1 : 0;
  if (state.header_crc[update.slot] != 0 || state.number == 0) {
    state.header_crc[update.slot] = 0;
    RUNNEL_TRY(slots.journal.write(flash_of(slots), state));
  }
  const std::uint32_t block = flash_of(slots).erase_bytes, bytes = kImageHeaderBytes + header.length;
  for (std::uint32_t at = 0; at < bytes; at += block)
    RUNNEL_TRY(erase_block(flash_of(slots), slots.settings.slot[update.slot] + at));
  return {};
}

// Programs the page that ends at the received bytes.
Status flush(Slots& slots) noexcept {
  Update& update = slots.update;
  const std::uint32_t in_page = update.received % kFlashPage, size = in_page == 0 ? kFlashPage : in_page;
  return program_flash(flash_of(slots), slots.settings.slot[update.slot] + update.received - size,
                       std::span(update.page).first(size));
}

Status write(Slots& slots, std::span<const std::byte> bytes) noexcept {
  Update& update = slots.update;
  while (!bytes.empty()) {
    const bool in_header = update.received < kImageHeaderBytes;
    const std::uint32_t end = in_header ? kImageHeaderBytes : kImageHeaderBytes + update.length;
    if (update.received == end)
      return Status(Code::invalid_data) << "more bytes than the image has: expected " << end;
    const std::uint32_t in_page = update.received % kFlashPage;
    const std::size_t size =
        std::min({bytes.size(), std::size_t{kFlashPage - in_page}, std::size_t{end - update.received}});
    std::memcpy((in_header ? update.header.data() : update.page.data()) + in_page, bytes.data(), size);
    update.received += static_cast<std::uint32_t>(size);
    bytes = bytes.subspan(size);
    if (in_header && update.received == kImageHeaderBytes) {
      RUNNEL_TRY(take_header(slots));
    } else if (!in_header && update.received % kFlashPage == 0) {
      RUNNEL_TRY(flush(slots));
    }
  }
  return {};
}

Status finish(Slots& slots) noexcept {
  Update& update = slots.update;
  if (const std::uint32_t end = kImageHeaderBytes + update.length;
      update.length == 0 || update.received < end)
    return Status(Code::invalid_data) << "an image of " << update.received << " bytes, expected " << end;
  if (update.received % kFlashPage != 0) RUNNEL_TRY(flush(slots));
  RUNNEL_ASSIGN(const ImageHeader header, read_image_header(update.header));
  RUNNEL_TRY(check_digest(slots, update.slot, header));
  RUNNEL_TRY(program_flash(flash_of(slots), slots.settings.slot[update.slot], update.header));
  JournalState state = slots.journal.state();
  state.header_crc[update.slot] = header.crc;
  state.trial = update.slot;
  state.starts = 0;
  RUNNEL_TRY(slots.journal.write(flash_of(slots), state));
  slots.trial_failed = slots.runs_trial = false;
  return {};
}

}  // namespace

runnel_code runnel_slots_open(runnel_slots* slots, const runnel_slots_settings* settings,
                              const runnel_profile* profile) {
  if (slots == nullptr || settings == nullptr || profile == nullptr)
    return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of slots, settings or profile");
  *slots = {};
  if (profile->version != kProfileVersion)
    return fail(RUNNEL_WRONG_VERSION, "a profile of another version: run runnel embed again");
  if (const Status status = check_sizes(*settings); !status.ok()) return fail(status);
  auto* const out = new (slots) Slots{.settings = *settings, .profile = profile, .journal = {}, .update = {}};
  const Status status = out->journal.open(settings->flash, settings->journal);
  if (!status.ok()) {
    out->ready = 0;
    return fail(status);
  }
  return out->journal.state().number > 0 ? RUNNEL_OK : fail(adopt(*out));
}

runnel_code runnel_slots_start(runnel_slots* slots, const runnel_options* options, runnel_node** node) {
  Slots* const s = slots_of(slots);
  if (s == nullptr) return not_open();
  if (node == nullptr) return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of the node");
  *node = nullptr;
  s->runs_trial = false;
  JournalState state = s->journal.state();
  if (state.trial != kNoSlot) {
    const std::uint32_t most = std::max<std::uint32_t>(1, s->settings.trial_starts);
    if (state.starts < std::min<std::uint32_t>(most, 255)) {
      ++state.starts;
      if (const Status status = s->journal.write(flash_of(*s), state); !status.ok()) return fail(status);
      if (prepare(*s, state.trial, options, node) == RUNNEL_OK) {
        s->runs_trial = true;
        return RUNNEL_OK;
      }
    } else {
      fail(RUNNEL_OK, "the trial was not confirmed: its starts are used up");
    }
    if (const Status status = take_back(*s); !status.ok()) return fail(status);
    state = s->journal.state();
  }
  if (state.confirmed == kNoSlot) return fail(RUNNEL_NOT_FOUND, "no slot has a model that can run here");
  const runnel_code code = prepare(*s, state.confirmed, options, node);
  if (code == RUNNEL_OK) return RUNNEL_OK;
  // The other slot has the model before, unless an update has begun there.
  const std::uint8_t other = 1 - state.confirmed;
  if (state.header_crc[other] == 0 || code == RUNNEL_MISALIGNED || code == RUNNEL_INVALID_ARGUMENT)
    return code;
  const runnel_code second = prepare(*s, other, options, node);
  if (second != RUNNEL_OK) return second;
  state.header_crc[state.confirmed] = 0;
  state.confirmed = other;
  return fail(s->journal.write(flash_of(*s), state));
}

runnel_code runnel_slots_begin(runnel_slots* slots) {
  Slots* const s = slots_of(slots);
  if (s == nullptr) return not_open();
  s->update.begun = false;
  if (s->journal.state().trial != kNoSlot)
    return fail(RUNNEL_INVALID_ARGUMENT, "an image is on trial: confirm it or take it back first");
  s->update.begun = true;
  s->update.received = s->update.length = 0;
  return RUNNEL_OK;
}

runnel_code runnel_slots_write(runnel_slots* slots, const void* bytes, size_t count) {
  Slots* const s = slots_of(slots);
  if (s == nullptr) return not_open();
  if (bytes == nullptr && count > 0) return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of bytes");
  if (!s->update.begun) return fail(RUNNEL_INVALID_ARGUMENT, "no update: expected runnel_slots_begin()");
  const Status status = write(*s, {static_cast<const std::byte*>(bytes), count});
  if (!status.ok()) s->update.begun = false;
  return fail(status);
}

runnel_code runnel_slots_finish(runnel_slots* slots) {
  Slots* const s = slots_of(slots);
  if (s == nullptr) return not_open();
  if (!s->update.begun) return fail(RUNNEL_INVALID_ARGUMENT, "no update: expected runnel_slots_begin()");
  s->update.begun = false;
  return fail(finish(*s));
}

runnel_code runnel_slots_confirm(runnel_slots* slots) {
  Slots* const s = slots_of(slots);
  if (s == nullptr) return not_open();
  JournalState state = s->journal.state();
  if (!s->runs_trial || state.trial == kNoSlot)
    return fail(RUNNEL_INVALID_ARGUMENT, "no trial runs: nothing to confirm");
  state.confirmed = state.trial;
  state.trial = kNoSlot;
  state.starts = 0;
  state.least_version =
      s->settings.allow_older != 0 ? s->running_version : std::max(state.least_version, s->running_version);
  const Status status = s->journal.write(flash_of(*s), state);
  if (status.ok()) s->runs_trial = false;
  return fail(status);
}

runnel_code runnel_slots_rollback(runnel_slots* slots) {
  Slots* const s = slots_of(slots);
  if (s == nullptr) return not_open();
  if (s->journal.state().trial == kNoSlot || s->journal.state().confirmed == kNoSlot)
    return fail(RUNNEL_INVALID_ARGUMENT, "no trial with a confirmed model behind it: nothing to take back");
  s->runs_trial = false;
  return fail(take_back(*s));
}

runnel_slots_state runnel_slots_state_of(const runnel_slots* slots) {
  runnel_slots_state out = {-1, -1, RUNNEL_NO_TRIAL, 0, 0, 0};
  const Slots* const s = slots_of(slots);
  if (s == nullptr) return out;
  const JournalState& state = s->journal.state();
  if (s->running != kNoSlot) {
    out.running = s->running;
    out.running_version = s->running_version;
  }
  if (state.confirmed != kNoSlot) out.confirmed = state.confirmed;
  out.trial = state.trial != kNoSlot ? (s->runs_trial ? RUNNEL_TRIAL_RUNS : RUNNEL_TRIAL_READY)
              : s->trial_failed      ? RUNNEL_TRIAL_FAILED
                                     : RUNNEL_NO_TRIAL;
  out.least_version = least_version(*s);
  out.received = s->update.begun ? s->update.received : 0;
  return out;
}
