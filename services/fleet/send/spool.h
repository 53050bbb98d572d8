// A backlog in a file: a ring of records, each with a checksum. A process that is killed at any moment leaves
// a file from which the next one goes on: what put() has returned for is there.
//
//   page 0       stream and size of the ring, written once
//   2 x 512      state: what was stored, where the ring begins and ends; written in turn, the newer good one
//   counts 4096...      the ring: records of 56 bytes and their samples, at increasing positions modulo its
//   size
//
// With the power going away, up to a second is lost at the end (sync()).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "services/fleet/send/backlog.h"

namespace runnel::fleet {

class Spool final : public Backlog {
 public:
  static constexpr std::uint64_t kLeastBytes = std::uint64_t{64} << 10, kMostBytes = limits::kSpoolBytes;

  // Opens the spool of a stream, or makes one of `bytes` where there is none. Only one process at a time has
  // it. Errors: io_error, also where another process has it; invalid_data for a file that is none or is
  // damaged at its head; mismatch for that of another stream.
  static Result<std::unique_ptr<Spool>> open(const std::filesystem::path& path, std::string_view stream,
                                             std::uint64_t bytes);
  ~Spool() override;

  Result<bool> put(const Piece& piece) override;
  Status sync() override;

  // The newest run that was put, and its sample that comes next; 0: none was.
  [[nodiscard]] std::uint64_t run() const noexcept { return state_.run; }
  [[nodiscard]] std::int64_t next() const noexcept { return state_.next; }
  [[nodiscard]] bool ended() const noexcept { return state_.ended != 0; }
  [[nodiscard]] const serve::SampleFormat& format() const noexcept { return format_; }
  // Of the recording that the run comes from; chosen by the user of the spool.
  [[nodiscard]] std::uint32_t source() const noexcept { return state_.source; }
  void source(std::uint32_t number) noexcept { state_.source = number; }
  // What was wrong with the file: its good part is kept; "" if nothing.
  [[nodiscard]] const std::string& damage() const noexcept { return damage_; }
  // All was stored: the file goes.
  void remove() noexcept;

 private:
  struct State {
    std::uint64_t generation = 0, head = 0, tail = 0;  // positions in the ring, without end
    std::uint64_t run = 0;
    std::int64_t next = 0;
    std::uint32_t ended = 0, source = 0, format = 0, rate = 0;
  };
  Spool(std::filesystem::path path, int file, std::uint64_t bytes)
      : path_(std::move(path)), file_(file), bytes_(bytes) {}
  Status failed(std::string_view what) const;
  Status make(std::string_view stream);
  Status load(std::string_view stream);
  Status scan();
  Status write_state();
  bool read_state(std::size_t slot, State& to) const;
  Status write_ring(std::uint64_t position, const void* from, std::size_t count);
  Status read_ring(std::uint64_t position, void* to, std::size_t count) const;
  Status read(const Mark& mark, std::vector<std::byte>& to) override;
  void forgotten(const Mark& mark) override;
  Status settled() override { return write_state(); }

  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t bytes_ = 0;  // of the ring
  State state_;
  serve::SampleFormat format_;  // of the newest run
  std::string damage_;
};

}  // namespace runnel::fleet
