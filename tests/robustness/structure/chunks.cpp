// Recordings as lists of chunks: RIFF, RIFX, RF64 and AIFF (names of four letters), W64 (names of 16 bytes,
// sizes that count the head) and FLAC (a kind and 24 bits of size, frames at the end).
#include <algorithm>
#include <cstring>
#include <string_view>

#include "tests/robustness/structure/structure.h"

namespace runnel::test {
namespace {

using Span = std::span<const std::byte>;

enum class Family : std::uint8_t { riff, aiff, w64, flac };

struct Layout {
  Family family;
  bool big;           // numbers are big endian
  std::size_t head;   // bytes before the first chunk
  std::size_t name;   // bytes of a chunk's name
  std::size_t size;   // and of its size
  std::size_t align;  // of chunks
};
constexpr Layout kRiff{Family::riff, false, 12, 4, 4, 2}, kRifx{Family::riff, true, 12, 4, 4, 2},
    kAiff{Family::aiff, true, 12, 4, 4, 2}, kW64{Family::w64, false, 40, 16, 8, 8},
    kFlac{Family::flac, true, 4, 1, 3, 1};

std::string_view text_of(Span file, std::size_t count) {
  return {reinterpret_cast<const char*>(file.data()), std::min(count, file.size())};
}

const Layout* layout_of(Span file) {
  const std::string_view magic = text_of(file, 4);
  const Layout* const found = magic == "RIFF" || magic == "RF64" ? &kRiff
                              : magic == "RIFX"                  ? &kRifx
                              : magic == "FORM"                  ? &kAiff
                              : magic == "riff"                  ? &kW64
                              : magic == "fLaC"                  ? &kFlac
                                                                 : nullptr;
  return found == nullptr || file.size() < found->head ? nullptr : found;
}

std::uint64_t number(Span from, std::size_t bytes, bool big) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value |= std::to_integer<std::uint64_t>(from[big ? bytes - 1 - i : i]) << (8 * i);
  return value;
}
void put(Bytes& to, std::size_t at, std::uint64_t value, std::size_t bytes, bool big) {
  for (std::size_t i = 0; i < bytes && at + i < to.size(); ++i)
    to[at + (big ? bytes - 1 - i : i)] = static_cast<std::byte>(value >> (8 * i));
}

struct Chunk {
  Bytes name, body;
};
struct File {
  const Layout* layout = nullptr;
  Bytes head, tail;
  std::vector<Chunk> chunks;
};

constexpr std::size_t kMostChunks = 1000;

std::optional<File> read(Span from) {
  File file;
  file.layout = layout_of(from);
  if (file.layout == nullptr) return std::nullopt;
  const Layout& layout = *file.layout;
  const auto take = [&](std::size_t count) {
    count = std::min(count, from.size());
    const Bytes taken(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count));
    from = from.subspan(count);
    return taken;
  };
  file.head = take(layout.head);
  const std::size_t head = layout.name + layout.size;
  bool last = false;
  while (from.size() >= head && !last && file.chunks.size() < kMostChunks) {
    std::uint64_t size = number(from.subspan(layout.name), layout.size, layout.big);
    if (layout.family == Family::w64) size = size < head ? 0 : size - head;
    last = layout.family == Family::flac && (from[0] & std::byte{128}) != std::byte{0};
    Chunk chunk{take(layout.name), {}};
    from = from.subspan(layout.size);
    chunk.body = take(static_cast<std::size_t>(std::min<std::uint64_t>(size, from.size())));
    take((layout.align - chunk.body.size() % layout.align) % layout.align);
    file.chunks.push_back(std::move(chunk));
  }
  file.tail = take(from.size());
  return file;
}

Bytes write(const File& file, Random& random) {
  const Layout& layout = *file.layout;
  Bytes out = file.head;
  for (const Chunk& chunk : file.chunks) {
    std::uint64_t size = chunk.body.size() + (layout.family == Family::w64 ? layout.name + layout.size : 0);
    if (random.one_in(16)) size = random.nasty(size);  // a lie
    out.insert(out.end(), chunk.name.begin(), chunk.name.end());
    if (layout.family == Family::flac && !chunk.name.empty()) {
      out.back() &= std::byte{127};
      if (&chunk == &file.chunks.back()) out.back() |= std::byte{128};
    }
    out.resize(out.size() + layout.size);
    put(out, out.size() - layout.size, size, layout.size, layout.big);
    out.insert(out.end(), chunk.body.begin(), chunk.body.end());
    if (!random.one_in(16)) out.resize((out.size() + layout.align - 1) / layout.align * layout.align);
  }
  out.insert(out.end(), file.tail.begin(), file.tail.end());
  const std::uint64_t whole = random.one_in(16) ? random.nasty(out.size()) : out.size();
  if (layout.family == Family::w64) put(out, 16, whole, 8, false);
  if (layout.family == Family::riff || layout.family == Family::aiff) put(out, 4, whole - 8, 4, layout.big);
  return out;
}

// Numbers of a format chunk (and what else has few bytes); samples at the edges of their type.
void change_body(Bytes& body, bool big, Random& random) {
  if (body.empty()) return;
  // The first bytes say what the samples are.
  const std::size_t room = random.one_in(3) ? body.size() : std::min<std::size_t>(body.size(), 44);
  const std::size_t width = std::min<std::size_t>(body.size(), std::size_t{1} << random.below(4));
  const std::size_t at = std::min(random.below(room) / 2 * 2, body.size() - width);
  const std::uint64_t now = number(Span(body).subspan(at), width, big);
  switch (random.below(6)) {
    case 0: {  // an encoding, a number of bits or channels that files have
      static constexpr std::uint64_t kKnown[] = {1,  2,  3,  6,  7,  8,  12,   16,   17,
                                                 20, 24, 32, 48, 49, 64, 0x50, 0x55, 0xfffe};
      put(body, at, random.pick(kKnown), width, big);
      break;
    }
    case 1: {
      static constexpr std::uint64_t kRates[] = {0,     1,      8000,   11025,    16000,     44100,
                                                 48000, 192000, 768000, 10000001, 0xffffffff};
      put(body, at, random.pick(kRates), std::min<std::size_t>(4, width), big);
      break;
    }
    case 2: {
      static constexpr std::uint64_t kReals[] = {0x7fc00000, 0xff800000, 0x7f800000,
                                                 0x00000001, 0x7f7fffff, 0x7ff8000000000000};
      put(body, at, random.pick(kReals), width, big);
      break;
    }
    default:
      put(body, at, random.nasty(now), width, big);
  }
}

void change(File& file, const File* other, Random& random) {
  std::vector<Chunk>& chunks = file.chunks;
  const std::size_t at = random.below(chunks.size());
  const auto place = chunks.begin() + static_cast<std::ptrdiff_t>(at);
  const std::vector<Chunk>& from = other == nullptr || other->chunks.empty() ? chunks : other->chunks;
  if (chunks.empty()) return change_body(file.tail, file.layout->big, random);
  switch (random.below(16)) {
    case 0:
      chunks.erase(place);
      return;
    case 1: {
      const Chunk copy = from[random.below(from.size())];
      chunks.insert(place, copy);
      return;
    }
    case 2:
      std::swap(chunks[at], random.pick(chunks));
      return;
    case 3: {  // a chunk that players know and most files lack
      static constexpr std::string_view kNames[] = {"LIST", "fact", "PEAK", "bext", "cue ", "smpl", "JUNK",
                                                    "ds64", "COMT", "FVER", "INST", "SSND", "COMM"};
      Chunk made{Bytes(file.layout->name), Bytes(random.below(60))};
      const std::string_view name = random.pick(kNames);
      std::memcpy(made.name.data(), name.data(), std::min(name.size(), made.name.size()));
      for (std::byte& byte : made.body)
        byte = random.one_in(2) ? std::byte{0} : static_cast<std::byte>(random.next());
      chunks.insert(place, std::move(made));
      return;
    }
    case 4: {
      const std::size_t room = random.one_in(2) ? place->body.size() : place->body.size() + 64;
      place->body.resize(random.below(room + 1));
      return;
    }
    case 5:
      if (!place->name.empty()) random.pick(place->name) = static_cast<std::byte>(random.next());
      return;
    case 6:
      change_body(random.one_in(4) ? file.head : file.tail, file.layout->big, random);
      return;
    default:
      change_body(place->body, file.layout->big, random);
  }
}

}  // namespace

std::optional<Bytes> change_chunks(Span file, Span other, Random& random) {
  std::optional<File> made = read(file);
  if (!made || (made->chunks.empty() && made->tail.empty())) return std::nullopt;
  std::optional<File> second;
  if (random.one_in(4)) second = read(other);
  if (second && second->layout != made->layout) second.reset();
  for (std::size_t changes = 1 + random.below(4); changes > 0; --changes)
    change(*made, second ? &*second : nullptr, random);
  return write(*made, random);
}

}  // namespace runnel::test
