#include "compiler/import/pte/header.h"

#include <cstring>

#include "base/checked.h"

namespace runnel::compiler::pte_source {
namespace {

constexpr std::size_t kHead = 64;     // must be readable in every program
constexpr std::size_t kHeaderAt = 8;  // of the extended header, and its first length that is known
constexpr std::uint32_t kShortHeader = 24, kLongHeader = 32;

template <class T>
T number_at(std::span<const std::byte> file, std::size_t at) {
  T value;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

Status bad() { return Status(Code::invalid_data) << "extended header: "; }

}  // namespace

Result<Layout> read_layout(std::span<const std::byte> file) {
  if (file.size() < kHead)
    return Status(Code::invalid_data) << file.size() << " bytes, expected at least " << kHead;
  Layout layout;
  layout.program_bytes = file.size();
  if (std::memcmp(file.data() + kHeaderAt, "eh00", 4) != 0) return layout;
  const auto length = number_at<std::uint32_t>(file, 12);
  if (length < kShortHeader)
    return bad() << "a length of " << length << ", expected at least " << kShortHeader;
  const auto program = number_at<std::uint64_t>(file, 16), base = number_at<std::uint64_t>(file, 24);
  if (program > file.size() || program < kHeaderAt + length) {
    return bad() << "a program of " << program << " bytes in a file of " << file.size()
                 << " after a header of " << length;
  }
  layout.program_bytes = static_cast<std::size_t>(program);
  if (base == 0) return layout;
  if (base < program || base > file.size())
    return bad() << "segments from byte " << base << ", expected " << program << " to " << file.size();
  layout.segment_base = static_cast<std::size_t>(base);
  layout.segment_bytes = file.size() - layout.segment_base;
  if (length < kLongHeader) return layout;
  const auto bytes = number_at<std::uint64_t>(file, 32);
  if (!range_inside(base, bytes, file.size()))
    return bad() << "segments of " << bytes << " bytes from byte " << base << " in a file of " << file.size();
  // Files of the first versions with this field leave it at 0 and have no segments then.
  if (bytes != 0) layout.segment_bytes = static_cast<std::size_t>(bytes);
  return layout;
}

}  // namespace runnel::compiler::pte_source
