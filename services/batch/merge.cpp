#include "services/batch/merge.h"

#include <algorithm>
#include <fstream>
#include <queue>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/host/npy.h"
#include "services/batch/journal.h"
#include "services/batch/queue/merge_queue.h"

namespace runnel::batch {
namespace {

namespace fs = std::filesystem;

// The output of one shard, read record by record.
struct ShardReader {
  fs::path path;
  JournalReader journal;
  std::ifstream in;
  JournalEntry entry;
  std::int64_t at = 0, finished = 0;

  // The next recording's records; false when all have been given.
  Result<bool> next(std::string& records) {
    const auto wrong = [&](std::string_view what) {
      return Status(Code::invalid_data)
             << path.string() << ": " << what << " (resume its run, or start a new one)";
    };
    if (!journal.next(entry)) {
      if (journal.end() < 0 || finished != journal.head().here) return wrong("is not complete");
      std::error_code error;
      const std::uintmax_t size = fs::file_size(path, error);
      if (error || size != static_cast<std::uintmax_t>(journal.end()))
        return wrong("does not have the size that its journal says");
      return false;
    }
    const auto& recordings = journal.recordings();
    if (finished >= journal.head().here ||
        recordings[static_cast<std::size_t>(finished)].index != entry.index || entry.at != at ||
        entry.length < 0)
      return wrong("does not fit its journal");
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    if (error || static_cast<std::uintmax_t>(entry.length) > size)
      return wrong("is shorter than its journal says");
    records.resize(static_cast<std::size_t>(entry.length));
    if (!in.read(records.data(), entry.length) || crc32c(std::as_bytes(std::span(records))) != entry.crc)
      return wrong("has changed since its journal was written");
    at += entry.length;
    ++finished;
    return true;
  }
};

Result<ShardReader> open_shard(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    fs::path part = path;
    part += ".part";
    return Status(Code::not_found) << path.string()
                                   << (fs::exists(part, error) ? ": is not complete: its run can be resumed"
                                                               : ": there is no such file");
  }
  RUNNEL_ASSIGN(JournalReader journal, JournalReader::open(journal_path(path)));
  ShardReader shard{path, std::move(journal), std::ifstream(path, std::ios::binary), {}, 0, 0};
  const std::string& prefix = shard.journal.head().prefix;
  std::string found(prefix.size(), '\0');
  const bool read =
      static_cast<bool>(shard.in.read(found.data(), static_cast<std::streamsize>(found.size())));
  // The header of an array now has the final number of rows.
  if (!read || (found != prefix &&
                (shard.journal.head().format != OutputFormat::npy || !found.starts_with("\x93NUMPY"))))
    return Status(Code::invalid_data) << path.string() << ": does not begin as its journal says";
  shard.at = static_cast<std::int64_t>(prefix.size());
  return shard;
}

Status check_complete(std::vector<ShardReader>& shards) {
  const JournalHead& first = shards[0].journal.head();
  std::vector<int> times(static_cast<std::size_t>(first.shard.count), 0);
  for (const ShardReader& shard : shards) {
    const JournalHead& head = shard.journal.head();
    const auto& other = shards[0].path.string();
    if (head.call != first.call || head.prefix != first.prefix || head.format != first.format ||
        head.timing != first.timing)
      return Status(Code::mismatch) << shard.path.string() << ": is of another call than " << other
                                    << " (model, inputs or options)";
    if (head.shard.count != first.shard.count) {
      return Status(Code::mismatch) << shard.path.string() << ": is one of " << head.shard.count
                                    << " shards, " << other << " one of " << first.shard.count;
    }
    if (head.list != first.list || head.total != first.total)
      return Status(Code::mismatch) << shard.path.string()
                                    << ": the list of recordings was another one than that of " << other;
    if (head.shard.index < 0 || head.shard.index >= head.shard.count)
      return Status(Code::invalid_data) << shard.path.string() << ": shard " << head.shard.index;
    if (++times[static_cast<std::size_t>(head.shard.index)] > 1)
      return Status(Code::mismatch) << shard.path.string() << ": shard " << head.shard.index
                                    << " is given twice";
  }
  std::string missing;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] == 0 && missing.size() < 200) missing += (missing.empty() ? "" : ", ") + std::to_string(i);
  }
  if (!missing.empty())
    return Status(Code::not_found) << "of " << first.shard.count << " shards these are missing: " << missing;
  return {};
}

// The start of the merged output. All rows of arrays must have one shape, and are counted before the first
// one is written.
Result<std::string> beginning(const std::vector<ShardReader>& shards) {
  const JournalHead& head = shards[0].journal.head();
  if (head.format != OutputFormat::npy) return head.prefix;
  RowShape shape;
  std::int64_t rows = 0;
  for (const ShardReader& shard : shards) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(shard.path, error);
    std::ifstream in(shard.path, std::ios::binary);
    std::string bytes(head.prefix.size(), '\0');
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    RUNNEL_ASSIGN(const NpyHeader header, parse_npy_header(bytes, error ? 0 : size, shard.path));
    if (header.shape.size() != 2 || header.data_offset != bytes.size())
      return Status(Code::invalid_data) << shard.path.string() << ": is not an array of a run";
    if (header.shape[0] == 0) continue;
    const RowShape here{header.dtype, header.shape[1]};
    if (rows > 0 && !(here == shape)) {
      return Status(Code::mismatch) << shard.path.string() << ": rows of " << here.values << " values of "
                                    << name_of(here.dtype) << ", expected " << shape.values << " of "
                                    << name_of(shape.dtype);
    }
    shape = here;
    rows += header.shape[0];
  }
  return array_header(shape, rows);
}

}  // namespace

Result<Merged> merge(std::span<const fs::path> paths, const std::function<Status(std::string_view)>& write,
                     const WriteIndex& index) {
  if (paths.empty()) return Status(Code::invalid_argument, "no shards");
  if (is_of_queue(paths[0])) return merge_queue(paths, write, index);
  std::vector<ShardReader> shards;
  for (const fs::path& path : paths) {
    RUNNEL_ASSIGN(ShardReader shard, open_shard(path));
    shards.push_back(std::move(shard));
  }
  RUNNEL_TRY(check_complete(shards));
  const JournalHead head = shards[0].journal.head();
  RUNNEL_ASSIGN(const std::string begin, beginning(shards));
  RUNNEL_TRY(write(begin));
  // The lowest index first; each shard's records wait in `waiting`.
  using Next = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
  std::vector<std::string> waiting(shards.size());
  const auto advance = [&](std::size_t i) -> Status {
    RUNNEL_ASSIGN(const bool more, shards[i].next(waiting[i]));
    if (more) next.emplace(shards[i].entry.index, i);
    return {};
  };
  for (std::size_t i = 0; i < shards.size(); ++i) RUNNEL_TRY(advance(i));
  Totals totals;
  std::int64_t at = static_cast<std::int64_t>(begin.size());
  while (!next.empty()) {
    const auto [place, i] = next.top();
    next.pop();
    if (place != totals.recordings)
      return Status(Code::invalid_data) << shards[i].path.string() << ": recording " << place << " where "
                                        << totals.recordings << " was expected";
    RUNNEL_TRY(write(waiting[i]));
    if (!is_lines(head.format) && index) RUNNEL_TRY(index(head.format, shards[i].entry.line, at));
    at += static_cast<std::int64_t>(waiting[i].size());
    totals.add(shards[i].entry.counts);
    RUNNEL_TRY(advance(i));
  }
  if (totals.recordings != head.total)
    return Status(Code::invalid_data)
           << totals.recordings << " recordings in all shards, expected " << head.total;
  if (is_lines(head.format)) RUNNEL_TRY(write(summary_line(totals, head.timing)));
  return Merged{totals, head.timing};
}

}  // namespace runnel::batch
