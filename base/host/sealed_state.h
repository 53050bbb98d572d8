// A saved state as bytes that leave the process: a header with magic, identity, size and checksum, then the
// state (base/state_archive.h). Whoever gets such bytes knows that they are whole and made by the same thing
// before it reads the first value; values are checked nevertheless, since checksums are no signatures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/state_archive.h"
#include "base/status.h"

namespace runnel {

// What a saved state says of itself. Eight letters, and a checksum of all that the meaning of its bytes
// depends on: program, models, version.
struct Seal {
  std::string_view magic;
  std::uint32_t identity = 0;
};

inline constexpr std::size_t kSealBytes = 24;

// Writes the header before a state, which is in `all` from kSealBytes on.
void seal(std::span<std::byte> all, const Seal& with) noexcept;
// Errors: invalid_data for bytes that are no such state or damaged; mismatch for another identity or size.
Status check_seal(std::span<const std::byte> all, const Seal& expected) noexcept;

// `state(StateArchive&)` describes the state in both directions.
template <class State>
std::size_t sealed_bytes(State state) {
  StateArchive archive = StateArchive::measuring();
  state(archive);
  return kSealBytes + archive.bytes();
}
// Error: out_of_memory when `to` has fewer than sealed_bytes(); the first ones are written.
template <class State>
Status save_sealed(std::span<std::byte> to, const Seal& with, State state) {
  const std::size_t size = sealed_bytes(state);
  if (to.size() < size)
    return Status(Code::out_of_memory)
           << "room for " << to.size() << " saved bytes, expected at least " << size;
  to = to.first(size);
  StateArchive body = StateArchive::saving(to.subspan(kSealBytes));
  state(body);
  if (!body.ok()) return body.status();
  seal(to, with);
  return {};
}
// Errors: those of check_seal(), and then nothing has changed; invalid_data for values that are impossible:
// the object is partly restored, `changed` is true, and its owner resets it.
template <class State>
Status restore_sealed(std::span<const std::byte> from, const Seal& expected, State state, bool& changed) {
  changed = false;
  RUNNEL_TRY(check_seal(from, expected));
  changed = true;
  StateArchive body = StateArchive::restoring(from.subspan(kSealBytes));
  state(body);
  body.expect(body.left() == 0, "what follows its end");
  return body.status();
}

}  // namespace runnel
