#include "services/fleet/recordings/queued_recording.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <unordered_map>

#include "base/sha256.h"
#include "services/batch/recordings/recording.h"

namespace runnel::fleet {
namespace {

std::string hex_of(const Sha256Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < 16; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

}  // namespace

std::vector<QueueEntry> entries_of(const batch::Recordings& list, std::string_view root) {
  std::vector<QueueEntry> entries;
  entries.reserve(list.size());
  std::unordered_map<std::string, int> times;
  for (batch::Recording recording : list) {
    const std::string before = std::string(root) + (root.ends_with('/') ? "" : "/");
    if (!root.empty() && recording.path.starts_with(before)) {
      recording.path.erase(0, before.size());
      recording.named -= std::min(recording.named, before.size());
    }
    // Another size or time is the same recording: it was enqueued before it changed.
    batch::Recording lasting = recording;
    lasting.index = lasting.modified = 0;
    lasting.bytes = -1;
    std::string identity = batch::to_line(lasting);
    Sha256 sum;
    sum.add(std::as_bytes(std::span(identity)));
    const std::string number = std::to_string(times[identity]++);
    sum.add(std::as_bytes(std::span(number)));
    recording.index = recording.modified = 0;
    entries.push_back({hex_of(sum.finish()), batch::to_line(recording)});
  }
  return entries;
}

Result<batch::Recording> recording_of(const QueueItem& item, std::int64_t& bytes) {
  RUNNEL_ASSIGN(batch::Recording recording, batch::parse_listed(item.data));
  bytes = recording.bytes;
  recording.index = static_cast<std::int64_t>(item.sequence) - 1;
  batch::look_at(recording);
  return recording;
}

Status check_queued(const batch::Recording& recording, std::int64_t bytes, bool inside) {
  if (inside &&
      (recording.path.starts_with('/') || ("/" + recording.path + "/").find("/../") != std::string::npos))
    return Status(Code::invalid_argument) << recording.path << ": leads out of the root of this worker";
  if (bytes >= 0 && recording.bytes >= 0 && bytes != recording.bytes)
    return Status(Code::mismatch) << recording.path << ": has " << recording.bytes << " bytes here, had "
                                  << bytes << " when it was enqueued";
  return {};
}

}  // namespace runnel::fleet
