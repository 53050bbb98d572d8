// Saves the state of an object as bytes, and restores it. A class describes its state once, for both
// directions:
//
//     template <class Archive>
//     void state(Archive& archive) noexcept {
//       archive.index(received_);                            // 0 .. kMostIndex
//       archive.bounded(kept_, std::int64_t{0}, capacity_);  // before what depends on it
//       archive.values(samples().first(kept_));              // only what later results depend on
//       filter_.state(archive);                              // a part
//     }
//
// so that saving and restoring cannot differ. The bytes are little-endian, without padding, addresses and
// what was never written: equal states give equal bytes in every process.
//
// Bytes from outside are not trusted. A value that selects memory, or that a loop runs to, is given with its
// bounds: restoring refuses others. A member template costs a device nothing while nobody calls it.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/status.h"

namespace runnel {

// Measures, saves or restores. The first failure stays: afterwards nothing is read, written or changed, so
// that calls need no checks between them. An object whose restoring failed is partly restored: reset it.
// Not thread-safe.
class StateArchive {
 public:
  // Positions in streams, in samples or frames: 139 years at 16 kHz. Their products with lengths of windows
  // stay within 64 bits.
  static constexpr std::int64_t kMostIndex = std::int64_t{1} << 46;

  // Counts the bytes that saving will write.
  static StateArchive measuring() noexcept { return StateArchive(Mode::measure); }
  // `to`, with as many bytes as measured, outlives the archive.
  static StateArchive saving(std::span<std::byte> to) noexcept {
    StateArchive archive(Mode::save);
    archive.to_ = to.data();
    archive.size_ = to.size();
    return archive;
  }
  // `from` outlives the archive.
  static StateArchive restoring(std::span<const std::byte> from) noexcept {
    StateArchive archive(Mode::restore);
    archive.from_ = from.data();
    archive.size_ = from.size();
    return archive;
  }

  [[nodiscard]] bool restores() const noexcept { return mode_ == Mode::restore; }
  // Measured, written or read so far.
  [[nodiscard]] std::size_t bytes() const noexcept { return at_; }
  // Left to read or to write.
  [[nodiscard]] std::size_t left() const noexcept { return size_ - at_; }
  [[nodiscard]] bool ok() const noexcept { return status_.ok(); }
  // invalid_data for bytes that are no state of this object, also while saving, where the object is in a
  // state that could not be restored; out_of_memory for too little room.
  [[nodiscard]] const Status& status() const noexcept { return status_; }
  void fail(const Status& status) noexcept {
    if (ok() && !status.ok()) status_ = status;
  }
  // Names the place of the failure.
  void at(std::string_view place) noexcept {
    if (!ok()) status_ = status_.at(place);
  }
  // What values say together must be `sound`: `what` names it in the sentence, as "the last frame". While
  // measuring it is not looked at.
  void expect(bool sound, std::string_view what) noexcept {
    if (mode_ == Mode::measure || sound || !ok()) return;
    status_ = Status(Code::invalid_data) << "state: " << what << " is impossible";
  }
  // A value that follows from others is not saved.
  template <class T>
  void follows(T& value, std::type_identity_t<T> from, std::string_view what) noexcept {
    if (restores() && ok()) value = from;
    expect(value == from, what);
  }

  // Any value.
  template <class T>
  requires(std::is_arithmetic_v<T> && !std::same_as<T, bool>) void value(T& value) noexcept {
    Bits<T> bits = std::bit_cast<Bits<T>>(value);
    std::byte bytes[sizeof(T)];
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes[i] = static_cast<std::byte>(static_cast<std::uint64_t>(bits) >> 8 * i & 0xFF);
    if (!run(bytes, sizeof(T)) || !restores()) return;
    bits = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bits = static_cast<Bits<T>>(bits | static_cast<Bits<T>>(std::to_integer<std::uint64_t>(bytes[i]))
                                             << 8 * i);
    value = std::bit_cast<T>(bits);
  }
  void value(bool& value) noexcept {
    std::uint8_t byte = value ? 1 : 0;
    bounded(byte, std::uint8_t{0}, std::uint8_t{1});
    if (restores() && ok()) value = byte != 0;
  }
  // Any values; their number is not saved.
  template <class T>
  void values(std::span<T> all) noexcept {
    if constexpr (std::endian::native == std::endian::little && !std::same_as<T, bool>) {
      static_assert(std::is_arithmetic_v<T>);
      run(reinterpret_cast<std::byte*>(all.data()), all.size_bytes());
    } else {
      for (T& one : all) value(one);
    }
  }

  // A value from `least` to `most`.
  template <class T>
  void bounded(T& value, std::type_identity_t<T> least, std::type_identity_t<T> most) noexcept {
    T read = value;
    this->value(read);
    if (!within(read, least, most) || !ok()) return;
    value = read;
  }
  template <class T>
  void all_bounded(std::span<T> all, std::type_identity_t<T> least, std::type_identity_t<T> most) noexcept {
    for (T& one : all) bounded(one, least, most);
  }
  // A position in a stream, or a number of its samples or frames.
  void index(std::int64_t& value, std::int64_t most = kMostIndex) noexcept { bounded(value, 0, most); }
  // A number of things in memory, in 64 bits on every machine.
  void count(std::size_t& value, std::size_t most) noexcept {
    std::uint64_t wide = value;
    bounded(wide, 0, most);
    if (restores() && ok()) value = static_cast<std::size_t>(wide);
  }

  // Bytes that an object makes itself (saved_bytes(), save(), restore()) and checks when it gets them back.
  template <class Object>
  void opaque(Object& object) noexcept {
    std::uint64_t size = object.saved_bytes();
    bounded(size, size, size);
    if (!has(static_cast<std::size_t>(size))) return;
    if (mode_ == Mode::save)
      fail(object.save(std::span(to_ + at_, static_cast<std::size_t>(size))));
    else if (restores())
      fail(object.restore(std::span(from_ + at_, static_cast<std::size_t>(size))));
    at_ += static_cast<std::size_t>(size);
  }

 private:
  enum class Mode : std::uint8_t { measure, save, restore };
  template <class T>
  using Bits = std::conditional_t<
      sizeof(T) == 1, std::uint8_t,
      std::conditional_t<sizeof(T) == 2, std::uint16_t,
                         std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

  explicit StateArchive(Mode mode) noexcept : mode_(mode) {}

  template <class T>
  bool within(T value, T least, T most) noexcept {
    if (mode_ == Mode::measure) return true;
    if (!ok()) return false;
    if (value >= least && value <= most) return true;
    status_ = Status(Code::invalid_data)
              << "state: a number is " << value << ", expected " << least << " to " << most;
    return false;
  }
  // Whether so many bytes follow.
  bool has(std::size_t bytes) noexcept {
    if (!ok()) return false;
    if (mode_ == Mode::measure || bytes <= size_ - at_) return true;
    status_ = restores()
                  ? Status(Code::invalid_data) << "state: it ends after " << size_ << " bytes"
                  : Status(Code::out_of_memory) << "state: room for " << size_ << " bytes is too little";
    return false;
  }
  // Reads or writes as many bytes.
  bool run(std::byte* bytes, std::size_t size) noexcept {
    if (!has(size)) return false;
    if (mode_ == Mode::save && size > 0)
      std::memcpy(to_ + at_, bytes, size);
    else if (restores() && size > 0)
      std::memcpy(bytes, from_ + at_, size);
    at_ += size;
    return true;
  }

  Mode mode_;
  std::byte* to_ = nullptr;
  const std::byte* from_ = nullptr;
  std::size_t size_ = 0, at_ = 0;
  Status status_;
};

}  // namespace runnel
