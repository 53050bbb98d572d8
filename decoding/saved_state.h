// The state of a search as bytes of its own, for programs that run a search alone. Within a node it is a part
// of the node's state (base/state_archive.h).
#pragma once

#include <cstddef>
#include <span>

#include "base/state_archive.h"
#include "base/status.h"

namespace runnel::decoding {

// Search: has state(StateArchive&) and restart(). Saving changes nothing.
template <class Search>
std::size_t measure_state(const Search& search) noexcept {
  StateArchive archive = StateArchive::measuring();
  const_cast<Search&>(search).state(archive);
  return archive.bytes();
}

template <class Search>
void save_state(const Search& search, std::span<std::byte> to) noexcept {
  StateArchive archive = StateArchive::saving(to);
  const_cast<Search&>(search).state(archive);
}

// Error: mismatch; the search then begins a new stream.
template <class Search>
Status restore_state(Search& search, std::span<const std::byte> from) noexcept {
  StateArchive archive = StateArchive::restoring(from);
  search.state(archive);
  if (archive.ok() && archive.left() == 0) return {};
  search.restart();
  if (archive.ok())
    return Status(Code::mismatch) << "the saved state of a search has " << archive.left()
                                  << " bytes more than it needs: was it saved with other settings?";
  return Status(Code::mismatch) << "the saved state of a search: " << archive.status().text();
}

}  // namespace runnel::decoding
