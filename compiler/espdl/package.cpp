#include "compiler/espdl/package.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/checked.h"
#include "base/host/crypto.h"
#include "base/limits.h"
#include "compiler/espdl/container.h"
#include "compiler/espdl/little_endian.h"

namespace runnel::compiler {
namespace {

constexpr std::size_t kEntryBytes = 12;
constexpr std::size_t kMaxNameBytes = limits::kPackageNameBytes;
// PDL3
constexpr std::size_t kVersionAt = 4, kVersionBytes = 16, kSizeAt = 20, kDigestAt = 24, kDigestBytes = 32;

Status bad(std::size_t offset) { return Status(Code::invalid_data) << "offset " << offset << ": "; }

std::string_view text_at(std::span<const std::byte> bytes, std::size_t offset, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes.data()) + offset, size};
}

// Size and checksum; shortens `file` to the package.
Status check_pdl3(std::span<const std::byte>& file, std::string& version) {
  const std::string_view field = text_at(file, kVersionAt, kVersionBytes);
  const std::size_t end = field.find('\0');
  if (end == std::string_view::npos)
    return bad(kVersionAt) << "a package version of more than " << kVersionBytes - 1 << " characters";
  version = field.substr(0, end);
  const std::size_t size = read_u32(file, kSizeAt), least = kDigestAt + kDigestBytes + 4;
  if (size > file.size() || size < least) {
    return bad(kSizeAt) << "a package of " << size << " bytes announced, expected " << least << " to "
                        << file.size() << ", the size of the file";
  }
  file = file.first(size);
  static constexpr std::array<std::byte, kDigestBytes> kZero{};
  const auto digest = crypto::sha256({file.first(kDigestAt), kZero, file.subspan(kDigestAt + kDigestBytes)});
  if (!digest.ok()) return digest.status().at("the checksum of a PDL3 package cannot be checked");
  if (!std::equal(digest->begin(), digest->end(), file.begin() + kDigestAt))
    return bad(kDigestAt) << "the SHA-256 does not fit: the package is damaged";
  return {};
}

struct Range {
  std::size_t first, last;  // [first, last)
  std::string what;
};

// Names and members must not lie in each other.
Status check_apart(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].last)
      return bad(ranges[i].first) << ranges[i].what << " lies in " << ranges[i - 1].what;
  }
  return {};
}

std::string list(const EspdlPackage& package) {
  std::string text;
  for (std::size_t i = 0; i < package.members.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(i) + " \"" + package.members[i].name + '"';
  return text;
}

}  // namespace

bool is_espdl_package(std::span<const std::byte> file) {
  if (file.size() < 4) return false;
  const std::string_view magic = text_at(file, 0, 4);
  return magic == "PDL1" || magic == "PDL2" || magic == "PDL3";
}

Result<EspdlPackage> read_espdl_package(std::span<const std::byte> file) {
  if (!is_espdl_package(file))
    return bad(0) << "not a package of .espdl models, expected the magic PDL1, PDL2 or PDL3";
  EspdlPackage package;
  package.kind = text_at(file, 0, 4);
  const bool third = package.kind == "PDL3";
  const std::size_t count_at = third ? kDigestAt + kDigestBytes : 4, entries_at = count_at + 4;
  if (file.size() < entries_at) {
    return Status(Code::invalid_data) << "file of " << file.size() << " bytes, expected at least "
                                      << entries_at << " for the header of " << package.kind;
  }
  if (third) RUNNEL_TRY(check_pdl3(file, package.version));
  const std::size_t count = read_u32(file, count_at);
  if (count == 0 || count > (file.size() - entries_at) / kEntryBytes) {
    return bad(count_at) << count << " members announced, expected 1 to "
                         << (file.size() - entries_at) / kEntryBytes << ", for whose entries there is room";
  }
  const std::size_t entries_end = entries_at + count * kEntryBytes;
  std::vector<Range> ranges;
  std::size_t names = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = entries_at + i * kEntryBytes;
    const std::size_t data = read_u32(file, at), name = read_u32(file, at + 4),
                      name_bytes = read_u32(file, at + 8);
    if (name_bytes == 0 || name_bytes > kMaxNameBytes)
      return bad(at + 8) << "a name of " << name_bytes << " bytes for member " << i << ", expected 1 to "
                         << kMaxNameBytes;
    if (name < entries_end || !range_inside(name, name_bytes, file.size())) {
      return bad(at + 4) << "the name of member " << i << " at " << name << " of " << name_bytes
                         << " bytes, expected it between " << entries_end << " and " << file.size();
    }
    // Before they are copied: thousands may be the same bytes.
    names += name_bytes;
    if (names > file.size())
      return bad(at + 8) << "the names of " << i + 1 << " members have more bytes than the file, "
                         << file.size() << ": they lie in each other";
    if (data < entries_end || data >= file.size())
      return bad(at) << "member " << i << " at " << data << ", expected it between " << entries_end << " and "
                     << file.size();
    EspdlMember member;
    member.name = text_at(file, name, name_bytes);
    member.offset = data;
    const std::string what = "member " + std::to_string(i) + " \"" + member.name + '"';
    const auto header = EspdlHeader::read(file.subspan(data));
    if (!header.ok()) return header.status().at(what + " at " + std::to_string(data));
    if (third && header->magic != "EDL2")
      return bad(data) << what << " is " << header->magic << ", expected EDL2 in a PDL3";
    member.encrypted = header->encrypted;
    member.bytes = file.subspan(data, header->bytes + header->length);
    ranges.push_back({name, name + name_bytes, "the name of member " + std::to_string(i)});
    ranges.push_back({data, data + member.bytes.size(), what});
    package.members.push_back(std::move(member));
  }
  RUNNEL_TRY(check_apart(std::move(ranges)));
  return package;
}

Result<const EspdlMember*> EspdlPackage::choose(std::string_view member) const {
  if (member.empty()) {
    if (members.size() == 1) return members.data();
    return Status(Code::invalid_argument)
           << "a package of " << members.size()
           << " models, expected the name or index of one of them as member: " << list(*this);
  }
  const EspdlMember* found = nullptr;
  for (const EspdlMember& candidate : members) {
    if (candidate.name != member) continue;
    if (found != nullptr)
      return Status(Code::invalid_argument)
             << "several members are called \"" << member << "\", expected the index of one: " << list(*this);
    found = &candidate;
  }
  if (found != nullptr) return found;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(member.data(), member.data() + member.size(), index);
  if (error == std::errc() && end == member.data() + member.size() && index < members.size())
    return &members[index];
  return Status(Code::not_found) << "no member \"" << member << "\", expected one of " << list(*this);
}

Result<std::span<const std::byte>> espdl_member(std::span<const std::byte> file, std::string_view member) {
  if (!is_espdl_package(file)) {
    if (member.empty()) return file;
    return Status(Code::invalid_argument) << "member \"" << member << "\" of a file that is not a package";
  }
  RUNNEL_ASSIGN(const EspdlPackage package, read_espdl_package(file));
  RUNNEL_ASSIGN(const EspdlMember* const chosen, package.choose(member));
  return chosen->bytes;
}

}  // namespace runnel::compiler
