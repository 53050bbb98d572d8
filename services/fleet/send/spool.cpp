#include "services/fleet/send/spool.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "base/crc32c.h"

namespace runnel::fleet {
namespace {

constexpr std::uint64_t kRing = 4096, kStates = 512, kStateBytes = 512;
constexpr char kMagic[8] = {'R', 'N', 'L', 'S', 'P', 'L', '0', '1'};
constexpr std::uint32_t kRecord = 0x4B4E4843;  // "CHNK"
constexpr std::size_t kMostName = 400;

// All numbers are little-endian, as on every machine that runs this.
struct Head {
  char magic[8] = {};
  std::uint64_t ring = 0;
  std::uint32_t name_bytes = 0, crc = 0;  // of what precedes it, and the name
  char name[kMostName] = {};
};
static_assert(sizeof(Head) <= kStates);

struct Record {
  std::uint32_t magic = kRecord;
  std::uint32_t bytes = 0;
  std::uint64_t position = 0, run = 0;
  std::int64_t first = 0, time = 0;
  std::uint32_t rate = 0;
  std::uint16_t code = 0, channels = 0;
  std::uint32_t end = 0, crc = 0;  // of what precedes it, and the samples
};
static_assert(sizeof(Record) == 56);
// Of positions in the ring and in runs, so that what is added to them stays a number.
constexpr std::uint64_t kFurthest = std::uint64_t{1} << 62;
constexpr std::uint32_t kLastCode = static_cast<std::uint32_t>(std::size(pipeline::kSampleCodes)) - 1;

std::uint32_t crc_of(const Record& record, std::span<const std::byte> data) {
  const auto bytes = std::as_bytes(std::span(&record, 1));
  return crc32c(data, crc32c(bytes.first(offsetof(Record, crc))));
}
std::uint32_t crc_of(const Head& head) {
  const auto bytes = std::as_bytes(std::span(&head, 1));
  return crc32c(bytes.subspan(offsetof(Head, name)), crc32c(bytes.first(offsetof(Head, crc))));
}

// All of it, also where the system moves a part or is interrupted. False with errno.
bool write_all(int file, const void* from, std::size_t size, off_t at) noexcept {
  const auto* bytes = static_cast<const std::byte*>(from);
  while (size > 0) {
    const ssize_t done = ::pwrite(file, bytes, size, at);
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = ENOSPC;
    if (done <= 0) return false;
    bytes += done;
    at += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}
bool read_all(int file, void* to, std::size_t size, off_t at) noexcept {
  auto* bytes = static_cast<std::byte*>(to);
  while (size > 0) {
    const ssize_t done = ::pread(file, bytes, size, at);
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = EIO;  // the file is shorter than it was
    if (done <= 0) return false;
    bytes += done;
    at += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

}  // namespace

Status Spool::failed(std::string_view what) const {
  return Status(Code::io_error) << path_.string() << ": " << what << ": " << std::strerror(errno);
}

Result<std::unique_ptr<Spool>> Spool::open(const std::filesystem::path& path, std::string_view stream,
                                           std::uint64_t bytes) {
  if (bytes < kLeastBytes || bytes > kMostBytes)
    return Status(Code::invalid_argument) << path.string() << ": a spool of " << bytes << " bytes, expected "
                                          << kLeastBytes << " to " << kMostBytes;
  if (stream.empty() || stream.size() > kMostName)
    return Status(Code::invalid_argument) << path.string() << ": a spool for a stream with a name of "
                                          << stream.size() << " letters, expected 1 to " << kMostName;
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return Status(Code::io_error) << path.string() << ": cannot be opened: " << std::strerror(errno);
  std::unique_ptr<Spool> out(new Spool(path, file, bytes));
  if (::flock(file, LOCK_EX | LOCK_NB) != 0)
    return Status(Code::io_error) << path.string() << ": another process sends from this spool";
  struct stat found = {};
  if (::fstat(file, &found) != 0) return out->failed("cannot be read");
  if (!S_ISREG(found.st_mode)) return Status(Code::io_error) << path.string() << ": expected a file";
  RUNNEL_TRY(found.st_size == 0 ? out->make(stream) : out->load(stream));
  return out;
}

Spool::~Spool() {
  if (file_ >= 0) ::close(file_);
}

Status Spool::make(std::string_view stream) {
  Head head;
  std::copy_n(kMagic, sizeof kMagic, head.magic);
  head.ring = bytes_;
  head.name_bytes = static_cast<std::uint32_t>(stream.size());
  std::copy(stream.begin(), stream.end(), head.name);
  head.crc = crc_of(head);
  // A full disk is noticed now.
  if (const int error = ::posix_fallocate(file_, 0, static_cast<off_t>(kRing + bytes_)); error != 0) {
    errno = error;
    const Status status = failed("there is no room for it");
    remove();
    return status;
  }
  RUNNEL_TRY(write_state());
  // The head last: a file without it was never used.
  if (!write_all(file_, &head, sizeof head, 0)) return failed("cannot be written");
  return {};
}

Status Spool::load(std::string_view stream) {
  Head head;
  if (!read_all(file_, &head, sizeof head, 0))
    return Status(Code::invalid_data) << path_.string() << ": a file of a few bytes, expected a spool";
  if (std::all_of(std::begin(head.magic), std::end(head.magic), [](char one) { return one == 0; }) &&
      head.ring == 0)
    return make(stream);  // a process was killed while it made it
  if (!std::equal(std::begin(kMagic), std::end(kMagic), head.magic))
    return Status(Code::invalid_data) << path_.string() << ": is no spool, expected one or no file";
  struct stat found = {};
  if (head.crc != crc_of(head) || head.name_bytes > kMostName || head.ring < kLeastBytes ||
      head.ring > kMostBytes || ::fstat(file_, &found) != 0 ||
      static_cast<std::uint64_t>(found.st_size) < kRing + head.ring)
    return Status(Code::invalid_data)
           << path_.string() << ": the head of this spool is damaged; nothing can be sent from it";
  if (const std::string_view name(head.name, head.name_bytes); name != stream)
    return Status(Code::mismatch) << path_.string() << ": the spool of the stream " << name << ", expected "
                                  << stream;
  bytes_ = head.ring;
  State one, other;
  const bool good = read_state(0, one), better = read_state(1, other);
  if (!good && !better)
    return Status(Code::invalid_data)
           << path_.string() << ": the state of this spool is damaged; nothing can be sent from it";
  state_ = !better || (good && one.generation > other.generation) ? one : other;
  // A sum says that it is what was written, not by whom.
  if (state_.tail > kFurthest || state_.next < 0 || (state_.format & 255U) > kLastCode)
    return Status(Code::invalid_data)
           << path_.string() << ": the state of this spool is none that was written; nothing can be sent";
  format_.code = static_cast<pipeline::SampleCode>(state_.format & 255U);
  format_.channels = static_cast<std::int32_t>(state_.format >> 8);
  format_.rate = state_.rate;
  return scan();
}

// From the head on as far as records are good.
Status Spool::scan() {
  const std::uint64_t promised = state_.tail;
  std::uint64_t at = state_.head;
  std::vector<std::byte> data;
  for (;;) {
    Record record;
    if (at + sizeof record > state_.head + bytes_) break;
    RUNNEL_TRY(read_ring(at, &record, sizeof record));
    if (record.magic != kRecord || record.position != at || record.bytes > Chunk::kMostBytes ||
        at + sizeof record + record.bytes > state_.head + bytes_ || record.code > kLastCode ||
        record.first < 0 || static_cast<std::uint64_t>(record.first) > kFurthest)
      break;
    data.resize(record.bytes);
    RUNNEL_TRY(read_ring(at + sizeof record, data.data(), data.size()));
    if (record.crc != crc_of(record, data)) break;
    Mark mark;
    mark.chunk.format.code = static_cast<pipeline::SampleCode>(record.code);
    mark.chunk.format.rate = record.rate;
    mark.chunk.format.channels = record.channels;
    mark.chunk.first = record.first;
    mark.chunk.run = record.run;
    mark.chunk.time = record.time;
    mark.chunk.end = record.end == 1;
    const std::size_t frame = mark.chunk.format.frame_bytes();
    if (frame == 0 || record.bytes % frame != 0) break;
    mark.chunk.samples = static_cast<std::int64_t>(record.bytes / frame);
    mark.bytes = record.bytes;
    mark.position = at;
    note(mark);
    at += sizeof record + record.bytes;
    // Of one that was written when its process was killed, before the state was.
    if (at > promised) {
      state_.run = record.run;
      state_.next = record.first + mark.chunk.samples;
      state_.ended = record.end;
      format_ = mark.chunk.format;
    }
  }
  if (at < promised) {
    damage_ = path_.string() + ": damaged " + std::to_string(at - state_.head) +
              " bytes behind its beginning; the " + std::to_string(promised - at) +
              " bytes from there on are lost";
    // What was behind the damage must not come back behind what is put next.
    const std::array<char, 4096> zeros = {};
    for (std::uint64_t from = at; from < promised; from += zeros.size())
      RUNNEL_TRY(write_ring(from, zeros.data(), std::min<std::uint64_t>(zeros.size(), promised - from)));
  }
  state_.tail = at;
  return write_state();
}

Status Spool::write_ring(std::uint64_t position, const void* from, std::size_t count) {
  const auto* bytes = static_cast<const char*>(from);
  while (count > 0) {
    const std::uint64_t place = position % bytes_;
    const std::size_t now = static_cast<std::size_t>(std::min<std::uint64_t>(count, bytes_ - place));
    if (!write_all(file_, bytes, now, static_cast<off_t>(kRing + place))) return failed("cannot be written");
    bytes += now;
    position += now;
    count -= now;
  }
  return {};
}

Status Spool::read_ring(std::uint64_t position, void* to, std::size_t count) const {
  auto* bytes = static_cast<char*>(to);
  while (count > 0) {
    const std::uint64_t place = position % bytes_;
    const std::size_t now = static_cast<std::size_t>(std::min<std::uint64_t>(count, bytes_ - place));
    if (!read_all(file_, bytes, now, static_cast<off_t>(kRing + place))) return failed("cannot be read");
    bytes += now;
    position += now;
    count -= now;
  }
  return {};
}

Status Spool::write_state() {
  ++state_.generation;
  state_.format = static_cast<std::uint32_t>(format_.code) | static_cast<std::uint32_t>(format_.channels)
                                                                 << 8;
  state_.rate = static_cast<std::uint32_t>(format_.rate);
  std::array<std::byte, sizeof(State) + 4> block = {};
  std::memcpy(block.data(), &state_, sizeof state_);
  const std::uint32_t crc = crc32c(std::span(block).first(sizeof state_));
  std::memcpy(block.data() + sizeof state_, &crc, sizeof crc);
  const std::uint64_t place = kStates + kStateBytes * (state_.generation % 2);
  if (!write_all(file_, block.data(), block.size(), static_cast<off_t>(place)))
    return failed("cannot be written");
  return {};
}

bool Spool::read_state(std::size_t slot, State& to) const {
  std::array<std::byte, sizeof(State) + 4> block = {};
  if (!read_all(file_, block.data(), block.size(), static_cast<off_t>(kStates + kStateBytes * slot)))
    return false;
  std::uint32_t crc = 0;
  std::memcpy(&to, block.data(), sizeof to);
  std::memcpy(&crc, block.data() + sizeof to, sizeof crc);
  return crc == crc32c(std::span(block).first(sizeof to)) && to.head <= to.tail &&
         to.tail - to.head <= bytes_;
}

Result<bool> Spool::put(const Piece& piece) {
  const std::uint64_t size = sizeof(Record) + piece.data.size();
  if (size > bytes_)
    return Status(Code::invalid_argument)
           << path_.string() << ": a piece of " << piece.data.size() << " bytes in a spool of " << bytes_;
  if (state_.tail + size > state_.head + bytes_) return false;
  Record record;
  record.bytes = static_cast<std::uint32_t>(piece.data.size());
  record.position = state_.tail;
  record.run = piece.chunk.run;
  record.first = piece.chunk.first;
  record.time = piece.chunk.time;
  record.rate = static_cast<std::uint32_t>(piece.chunk.format.rate);
  record.code = static_cast<std::uint16_t>(piece.chunk.format.code);
  record.channels = static_cast<std::uint16_t>(piece.chunk.format.channels);
  record.end = piece.chunk.end ? 1 : 0;
  record.crc = crc_of(record, piece.data);
  RUNNEL_TRY(write_ring(state_.tail + sizeof record, piece.data.data(), piece.data.size()));
  RUNNEL_TRY(write_ring(state_.tail, &record, sizeof record));
  note({piece.chunk, piece.data.size(), state_.tail});
  state_.tail += size;
  state_.run = piece.chunk.run;
  state_.next = piece.next();
  state_.ended = record.end;
  format_ = piece.chunk.format;
  RUNNEL_TRY(write_state());
  return true;
}

Status Spool::read(const Mark& mark, std::vector<std::byte>& to) {
  Record record;
  const std::size_t before = to.size();
  to.resize(before + mark.bytes);
  const std::span<std::byte> data = std::span(to).subspan(before);
  RUNNEL_TRY(read_ring(mark.position, &record, sizeof record));
  RUNNEL_TRY(read_ring(mark.position + sizeof record, data.data(), data.size()));
  if (record.position == mark.position && record.bytes == mark.bytes && record.crc == crc_of(record, data))
    return {};
  return Status(Code::invalid_data) << path_.string() << ": the samples from " << mark.chunk.first
                                    << " of run " << mark.chunk.run << " are damaged";
}

void Spool::forgotten(const Mark& mark) { state_.head = mark.position + sizeof(Record) + mark.bytes; }

Status Spool::sync() { return ::fdatasync(file_) == 0 ? Status() : failed("cannot be written"); }

void Spool::remove() noexcept { ::unlink(path_.c_str()); }

}  // namespace runnel::fleet
