// Lists in tables of FlatBuffers that nobody has checked yet (verify_lists.cpp).
#pragma once

#include "flatbuffers/flatbuffers.h"

namespace runnel {

// The list at a field of a table that VerifyTableStart() took, in `list`, null where there is none. False,
// and null, where it leaves the file.
template <class T>
bool list_at(const flatbuffers::Table& table, flatbuffers::voffset_t field,
             const flatbuffers::Verifier& verifier, const flatbuffers::Vector<T>*& list) noexcept {
  list = nullptr;
  if (!table.VerifyOffset(verifier, field)) return false;
  const auto* const found = table.GetPointer<const flatbuffers::Vector<T>*>(field);
  if (!verifier.VerifyVector(found)) return false;
  list = found;
  return true;
}

}  // namespace runnel
