#include "services/fleet/note.h"

#include "services/fleet/chunk.h"

namespace runnel::fleet {
namespace {

constexpr std::string_view kOwner = "Runnel-Owner", kEntry = "Runnel-Entry", kGone = "Runnel-Gone";

}  // namespace

Headers headers_of(const Note& note) {
  Headers out = {{std::string(kEntry), std::to_string(note.version)}};
  // Not without a value: libnats would read the line after it as one.
  if (!note.owner.empty()) out.emplace_back(kOwner, note.owner);
  if (note.gone) out.emplace_back(kGone, "1");
  return out;
}

Result<Note> read_note(const Headers& headers) {
  Note note;
  if (const std::string* const owner = find(headers, kOwner)) note.owner = *owner;
  const std::string* const entry = find(headers, kEntry);
  if (entry == nullptr) return Status(Code::invalid_data, "a note without the header Runnel-Entry");
  const auto number = read_number(*entry, ~std::uint64_t{0});
  if (!number.ok()) return number.status().at(kEntry);
  note.version = *number;
  if (const std::string* const gone = find(headers, kGone)) {
    const auto value = read_number(*gone, 1);
    if (!value.ok()) return value.status().at(kGone);
    note.gone = *value == 1;
  }
  return note;
}

}  // namespace runnel::fleet
