#include "services/sandbox/landlock.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace runnel::sandbox {
namespace {

// The numbers are the same for all processors (Linux 5.13 and later), the values those of linux/landlock.h.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr std::uint32_t kVersion = 1, kPathBeneath = 1;
constexpr std::uint64_t kReadFile = 1U << 2;

// Of version 6: files, network, and what reaches other processes (abstract sockets, signals).
struct RulesetAttributes {
  std::uint64_t files = 0, network = 0, scopes = 0;
};
struct __attribute__((packed)) PathBeneath {
  std::uint64_t access = 0;
  std::int32_t parent = -1;
};

// Bits of version 1, and those that later versions added: refer, truncate, ioctl on devices.
std::uint64_t files_of(int version) noexcept {
  std::uint64_t bits = (1U << 13) - 1;
  if (version >= 2) bits |= 1U << 13;
  if (version >= 3) bits |= 1U << 14;
  if (version >= 5) bits |= 1U << 15;
  return bits;
}

}  // namespace

int landlock_version() noexcept {
  const long version = ::syscall(kCreateRuleset, nullptr, 0, kVersion);
  return version > 0 ? static_cast<int>(version) : 0;
}

bool restrict_files(std::span<const std::filesystem::path> readable) noexcept {
  const int version = landlock_version();
  if (version == 0) return false;
  RulesetAttributes attributes;
  attributes.files = files_of(version);
  if (version >= 4) attributes.network = 3;  // bind and connect TCP
  if (version >= 6) attributes.scopes = 3;   // abstract sockets and signals
  const std::size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  const auto rules = static_cast<int>(::syscall(kCreateRuleset, &attributes, size, 0));
  if (rules < 0) return false;
  bool good = true;
  for (const std::filesystem::path& path : readable) {
    PathBeneath rule;
    rule.access = kReadFile;
    rule.parent = ::open(path.c_str(), O_PATH | O_CLOEXEC);
    // What is not there cannot be opened later, either.
    if (rule.parent < 0) continue;
    good = good && ::syscall(kAddRule, rules, kPathBeneath, &rule, 0) == 0;
    ::close(rule.parent);
  }
  good = good && ::syscall(kRestrictSelf, rules, 0) == 0;
  ::close(rules);
  return good;
}

}  // namespace runnel::sandbox
