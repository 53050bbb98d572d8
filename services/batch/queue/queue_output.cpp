#include "services/batch/queue/queue_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/crc32c.h"
#include "base/host/output_file.h"

namespace runnel::batch {
namespace {

namespace fs = std::filesystem;

std::uint32_t crc_of(std::string_view text) { return crc32c(std::as_bytes(std::span(text))); }

// A new name is on disk only after its folder is synchronized.
void sync_folder(const fs::path& file) {
  const fs::path folder = file.parent_path().empty() ? fs::path(".") : file.parent_path();
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

Status rename_to(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error)
    return Status(Code::io_error) << to.string() << ": cannot rename into place: " << error.message();
  sync_folder(to);
  return {};
}

}  // namespace

Result<QueueOutput> QueueOutput::open(const fs::path& output, const JournalHead& head) {
  RUNNEL_TRY(OutputFile::check_is_file(output));
  QueueOutput out;
  out.output_ = output;
  out.head_ = head;
  out.rows_ = Rows(head.format);
  const fs::path path = journal_path(output);
  std::error_code error;
  const bool known = fs::exists(path, error);
  RUNNEL_ASSIGN(out.journal_, AppendFile::open(path, output.string()));
  RUNNEL_TRY(out.journal_.lock());
  if (!known || out.journal_.size() == 0) {
    RUNNEL_TRY(out.create());
    return out;
  }
  RUNNEL_ASSIGN(JournalReader reader, JournalReader::open(path));
  const JournalHead& found = reader.head();
  if (found.queue != head.queue) {
    return Status(Code::mismatch) << path.string() << ": is of "
                                  << (found.queue.empty() ? "a list of recordings" : "queue " + found.queue)
                                  << ", expected " << head.queue << "; name another output";
  }
  if (found.call != head.call || found.format != head.format || found.prefix != head.prefix ||
      found.timing != head.timing) {
    return Status(Code::mismatch) << path.string()
                                  << ": is of a run with another model or other options; name another output";
  }
  RUNNEL_TRY(out.resume(reader));
  return out;
}

Status QueueOutput::create() {
  RUNNEL_ASSIGN(part_, AppendFile::open(OutputFile::partial(output_), output_.string()));
  RUNNEL_TRY(part_.truncate(0));
  RUNNEL_TRY(part_.append(head_.prefix));
  RUNNEL_TRY(part_.sync());
  RUNNEL_TRY(journal_.append(to_line(head_)));
  RUNNEL_TRY(journal_.sync());
  sync_folder(output_);
  return {};
}

// Takes over the entries whose records exist, in order. What follows them was never acknowledged.
Status QueueOutput::resume(JournalReader& reader) {
  const fs::path part = OutputFile::partial(output_);
  std::error_code error;
  // A complete output becomes one in progress again. Its journal still has the end, which then is ignored.
  if (!fs::exists(part, error) && fs::exists(output_, error)) RUNNEL_TRY(rename_to(output_, part));
  RUNNEL_ASSIGN(part_, AppendFile::open(part, output_.string()));
  std::ifstream in(part, std::ios::binary);
  std::string prefix(head_.prefix.size(), '\0');
  // The header of an array gets its number of rows at the end.
  const bool begun =
      in.read(prefix.data(), static_cast<std::streamsize>(prefix.size())) &&
      (prefix == head_.prefix || (head_.format == OutputFormat::npy && prefix.starts_with("\x93NUMPY")));
  std::int64_t at = begun ? static_cast<std::int64_t>(prefix.size()) : 0, sound = reader.sound_bytes();
  JournalEntry entry;
  std::string records;
  while (begun && reader.next(entry)) {
    if (entry.at != at || entry.length < 0 || entry.length > part_.size() - at) break;
    records.resize(static_cast<std::size_t>(entry.length));
    if (!in.read(records.data(), entry.length) || crc_of(records) != entry.crc || !rows_.fits(entry.line))
      break;
    at += entry.length;
    totals_.add(entry.counts);
    done_.insert(entry.index);
    sound = reader.sound_bytes();
  }
  before_ = totals_.recordings;
  RUNNEL_TRY(journal_.truncate(sound));
  RUNNEL_TRY(part_.truncate(at));
  if (!begun) RUNNEL_TRY(part_.append(head_.prefix));
  return sync();
}

Status QueueOutput::append(const Recording& recording, Outcome outcome) {
  rows_.settle(outcome, recording);
  const JournalEntry entry{.index = recording.index,
                           .at = part_.size(),
                           .length = static_cast<std::int64_t>(outcome.records.size()),
                           .crc = crc_of(outcome.records),
                           .counts = outcome.counts,
                           .line = outcome.index,
                           .recording = to_line(recording)};
  RUNNEL_TRY(part_.append(outcome.records));
  RUNNEL_TRY(journal_.append(to_line(entry)));
  totals_.add(outcome);
  done_.insert(recording.index);
  return {};
}

Status QueueOutput::sync() {
  RUNNEL_TRY(part_.sync());
  return journal_.sync();
}

Status QueueOutput::finish(std::int64_t total) {
  if (is_lines(head_.format)) RUNNEL_TRY(part_.append(summary_line(totals_, head_.timing)));
  const auto rows = part_.size() - static_cast<std::int64_t>(head_.prefix.size());
  if (head_.format == OutputFormat::npy) RUNNEL_TRY(part_.overwrite(rows_.header(rows)));
  RUNNEL_TRY(sync());
  if (!is_lines(head_.format)) {
    RUNNEL_ASSIGN(JournalReader reader, JournalReader::open(journal_path(output_)));
    RUNNEL_ASSIGN(IndexFiles index, IndexFiles::create(output_, head_.format));
    for (JournalEntry entry; reader.next(entry);) RUNNEL_TRY(index.add(entry.line, entry.at));
    RUNNEL_TRY(index.commit(totals_, head_.timing));
  }
  const std::int64_t bytes = part_.size();
  part_.close();
  RUNNEL_TRY(rename_to(OutputFile::partial(output_), output_));
  RUNNEL_TRY(journal_.append(end_line(bytes, total)));
  return journal_.sync();
}

}  // namespace runnel::batch
