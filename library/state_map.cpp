#include "library/state_map.h"

#include <algorithm>
#include <cstring>
#include <optional>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif

#include "base/crc32c.h"
#include "library/nodes.h"

// The linker's names for the first byte of this library and the one after its last.
extern "C" {
extern const char __ehdr_start __attribute__((visibility("hidden")));  // NOLINT
extern const char _end __attribute__((visibility("hidden")));          // NOLINT
}

namespace runnel::library {
namespace {

using Word = std::uint64_t;

Word word_at(std::span<const std::byte> memory, std::size_t index) noexcept {
  Word word = 0;
  const std::size_t at = index * sizeof word;
  std::memcpy(&word, memory.data() + at, std::min(sizeof word, memory.size() - at));
  return word;
}

// An address in a region, one past its end included, as a number without address: 0 for null.
struct Place {
  std::size_t region = 0, offset = 0;
  [[nodiscard]] Word code() const noexcept {
    return (static_cast<Word>(offset) << 16) | static_cast<Word>(region + 1);
  }
  friend bool operator==(const Place&, const Place&) = default;
};
constexpr std::size_t kMaxRegions = 0xFFFE;
// Counters stay below it. Programs that are not position-independent may have heap memory below it, too.
constexpr Word kLeastAddress = Word{1} << 36;

// The padding of objects has any value, which is kept and means nothing. Valgrind need not warn of it.
void padding_may_be_read(std::span<const std::byte> piece) noexcept {
#ifdef VALGRIND_MAKE_MEM_DEFINED
  VALGRIND_MAKE_MEM_DEFINED(piece.data(), piece.size());
#else
  static_cast<void>(piece);
#endif
}

std::optional<Place> place_of(Word word, const std::vector<std::span<const std::byte>>& regions) noexcept {
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const auto first = reinterpret_cast<Word>(regions[i].data());
    if (word >= first && word - first <= regions[i].size())
      return Place{i, static_cast<std::size_t>(word - first)};
  }
  return {};
}

// An address in this library: code, tables, texts.
bool in_library(Word word) noexcept {
  return word >= reinterpret_cast<Word>(&__ehdr_start) && word < reinterpret_cast<Word>(&_end);
}

// The source of a graph of the library.
PushedSamples& source_of(pipeline::Graph& graph) { return static_cast<PushedSamples&>(*graph.stage(0).node); }

// Marks the words of the buffers between nodes, and of what decoders point to in them.
template <class Mark>
void for_each_buffer_word(pipeline::Graph& graph, const Mark& mark) {
  const std::span<const std::byte> piece = graph.memory_piece();
  const pipeline::Schedule& schedule = graph.executor().schedule();
  for (int i = 0; i < schedule.size(); ++i) {
    const pipeline::Schedule::Edge& edge = schedule.edge(i);
    if (edge.output.data == nullptr || edge.output.capacity <= 0) continue;
    const auto first = static_cast<std::size_t>(edge.output.data - piece.data());
    const std::size_t bytes = static_cast<std::size_t>(edge.output.capacity) * edge.format.frame_bytes();
    // A word that is shared with other things is not marked.
    for (std::size_t word = (first + 7) / 8; (word + 1) * 8 <= first + bytes; ++word) mark(word);
  }
  for (int i = 0; i < graph.size(); ++i) {
    const pipeline::Decoder* const decoder = decoder_of(*graph.stage(i).type, *graph.stage(i).node);
    if (decoder == nullptr) continue;
    for (const std::span<const std::byte> memory : decoder->passing_memory()) {
      if (memory.empty()) continue;
      const auto first = static_cast<std::size_t>(memory.data() - piece.data());
      for (std::size_t word = (first + 7) / 8; (word + 1) * 8 <= first + memory.size(); ++word) mark(word);
    }
  }
}

// The words of memory that was allocated for objects, in order.
template <class Visit>
void for_each_object_word(const pipeline::Graph& graph, const Visit& visit) {
  for (const pipeline::GraphMemory::Part& part : graph.memory_parts()) {
    if (part.alignment != sizeof(Word)) continue;
    for (std::size_t word = part.first / 8; word < (part.first + part.bytes) / 8; ++word) visit(word);
  }
}

// A stream that takes every node through its life: noise of several loudnesses in blocks of several sizes, a
// gap, its end, a restart, and more noise. Calls `after` after every part, and stops when it fails.
template <class After>
Status live(std::span<pipeline::Graph* const> graphs, const After& after) {
  constexpr std::size_t kBlocks[] = {160, 1, 4096, 37, 1600, 512, 8000, 3};
  constexpr int kRounds = 6;
  std::vector<float> noise;
  std::uint32_t random = 1;
  for (int round = 0; round < kRounds; ++round) {
    for (const std::size_t frames : kBlocks) {
      const auto channels = static_cast<std::size_t>(source_of(*graphs[0]).channels);
      noise.resize(frames * channels);
      for (float& value : noise) {
        random = random * 1664525U + 1013904223U;
        value = (static_cast<float>(random >> 8) * 0x1p-24F - 0.5F) * (round % 2 == 0 ? 1.0F : 0.01F);
      }
      for (pipeline::Graph* const graph : graphs) {
        PushedSamples& source = source_of(*graph);
        source.give(noise.data(), frames, DType::float32);
        bool done = false;
        while (source.pending() > 0 && !done) RUNNEL_TRY(graph->executor().step(done));
      }
      RUNNEL_TRY(after());
    }
    for (pipeline::Graph* const graph : graphs) {
      if (round == 1) source_of(*graph).lose(1234);
      if (round == 3) {
        RUNNEL_TRY(graph->executor().end());
        graph->executor().restart();
      }
    }
    RUNNEL_TRY(after());
  }
  return {};
}

}  // namespace

StateMap::Regions StateMap::regions_of(const pipeline::Graph& graph,
                                       const std::vector<const Model*>& models) {
  Regions regions = {graph.memory_piece()};
  for (const Model* const model : models) regions.push_back(model->bytes());
  return regions;
}

StateOrigin origin_of(const pipeline::Graph& graph) {
  StateOrigin origin;
  const std::span<const std::byte> piece = graph.memory_piece();
  padding_may_be_read(piece);
  for_each_object_word(graph, [&](std::size_t word) { origin.push_back(word_at(piece, word)); });
  return origin;
}

std::vector<StateMap::Word> StateMap::start_of(const StateOrigin& origin) const {
  std::vector<Word> start = initial_;
  std::size_t next = 0;
  for (std::size_t i = 0; i < start.size() && next < origin.size(); ++i) {
    if (objects_[i]) start[i] = origin[next++];
  }
  return start;
}

Status StateMap::compare(const pipeline::Graph& one, const Regions& regions, const pipeline::Graph& other,
                         const Regions& other_regions, bool first) {
  const std::span<const std::byte> a = one.memory_piece(), b = other.memory_piece();
  padding_may_be_read(a);
  padding_may_be_read(b);
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (kinds_[i] == Kind::unused) continue;
    const Word x = word_at(a, i), y = word_at(b, i);
    // What is foreign must stay as it is: a part of it that changes would be lost.
    if (kinds_[i] == Kind::foreign && x == initial_[i] && y == other_[i]) continue;
    if (!first && objects_[i] && (x ^ initial_[i]) == (y ^ other_[i])) {
      // The same change, beside padding that may differ.
      if (kinds_[i] == Kind::number) continue;
      if (kinds_[i] == Kind::foreign && (x ^ initial_[i]) >> 32 == 0) {
        kinds_[i] = Kind::number;
        continue;
      }
    }
    if (x == y && kinds_[i] != Kind::foreign) continue;
    const std::optional<Place> in_x = place_of(x, regions), in_y = place_of(y, other_regions);
    if (in_x && in_y && *in_x == *in_y && kinds_[i] != Kind::foreign) {
      kinds_[i] = Kind::place;
    } else if (first) {
      kinds_[i] = Kind::foreign;
    } else {
      return Status(Code::unsupported) << "nodes of this program cannot be saved: word " << i
                                       << " of their memory depends on more than "
                                       << "the samples";
    }
  }
  return {};
}

Result<StateMap> StateMap::learn(pipeline::Graph& one, const std::vector<const Model*>& models,
                                 pipeline::Graph& other, const std::vector<const Model*>& other_models) {
  const std::span<const std::byte> piece = one.memory_piece();
  if (piece.size() != other.memory_piece().size() || piece.size() < one.packed_bytes() ||
      models.size() != other_models.size() || models.size() >= kMaxRegions)
    return Status(Code::unsupported,
                  "nodes of this program cannot be saved: their memory is not in one piece");
  padding_may_be_read(piece);
  StateMap map;
  map.kinds_.assign((piece.size() + sizeof(Word) - 1) / sizeof(Word), Kind::number);
  padding_may_be_read(other.memory_piece());
  for (std::size_t i = 0; i < map.kinds_.size(); ++i) {
    map.initial_.push_back(word_at(piece, i));
    map.other_.push_back(word_at(other.memory_piece(), i));
  }
  map.objects_.assign(map.kinds_.size(), false);
  for_each_object_word(one, [&map](std::size_t word) { map.objects_[word] = true; });
  for_each_buffer_word(one, [&map](std::size_t word) { map.kinds_[word] = Kind::unused; });
  const Regions regions = regions_of(one, models), other_regions = regions_of(other, other_models);
  map.models_.assign(regions.begin() + 1, regions.end());
  RUNNEL_TRY(map.compare(one, regions, other, other_regions, true));
  pipeline::Graph* const both[] = {&one, &other};
  RUNNEL_TRY(live(both, [&] { return map.compare(one, regions, other, other_regions, false); }));
  // Whether other words are foreign may depend on the padding of objects, and makes no difference between
  // processes.
  std::uint32_t fingerprint = crc32c({});
  for (std::size_t i = 0; i < map.kinds_.size(); ++i) {
    if (map.kinds_[i] == Kind::place) fingerprint = crc32c(std::as_bytes(std::span(&i, 1)), fingerprint);
  }
  map.fingerprint_ = fingerprint;
  return map;
}

Status StateMap::save(const pipeline::Graph& graph, const StateOrigin& origin,
                      std::span<std::byte> to) const {
  const std::vector<Word> start = start_of(origin);
  const std::span<const std::byte> piece = graph.memory_piece();
  padding_may_be_read(piece);
  Regions regions = {piece};
  regions.insert(regions.end(), models_.begin(), models_.end());
  std::fill(to.begin() + static_cast<std::ptrdiff_t>(kinds_.size() * sizeof(Word)), to.end(), std::byte{0});
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    Word out = 0;
    const Word word = word_at(piece, i);
    if (kinds_[i] == Kind::place) {
      const std::optional<Place> place = place_of(word, regions);
      if (!place && word != 0) {
        return Status(Code::unsupported)
               << "a node in this state cannot be saved: word " << i << " of its memory is no address in it";
      }
      if (place) out = place->code();
    } else if (kinds_[i] == Kind::number && objects_[i] && word != start[i]) {
      const std::optional<Place> place = place_of(word, regions);
      if ((place && (start[i] != 0 || word < kLeastAddress)) || in_library(word) || in_library(start[i])) {
        return Status(Code::unsupported)
               << "a node in this state cannot be saved: word " << i << " of its memory could be an address";
      }
      out = place ? place->code() : word ^ start[i];
      if (place) to[kinds_.size() * sizeof(Word) + i / 8] |= std::byte{1} << i % 8;
    } else if (kinds_[i] == Kind::number) {
      out = word ^ start[i];
    }
    std::memcpy(to.data() + i * sizeof out, &out, sizeof out);
  }
  return {};
}

Status StateMap::restore(pipeline::Graph& graph, const StateOrigin& origin,
                         std::span<const std::byte> from) const {
  const std::span<const std::byte> piece = graph.memory_piece();
  Regions regions = {piece};
  regions.insert(regions.end(), models_.begin(), models_.end());
  if (from.size() != bytes()) return Status(Code::invalid_data, "saved bytes of another size");
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const Word code = word_at(from, i);
    if (!is_place(from, i) || code == 0) continue;
    const std::size_t region = static_cast<std::size_t>(code & 0xFFFF) - 1;
    const bool possible = kinds_[i] == Kind::place || (kinds_[i] == Kind::number && objects_[i]);
    if (!possible || (code & 0xFFFF) == 0 || region >= regions.size() ||
        (code >> 16) > regions[region].size())
      return Status(Code::invalid_data) << "saved bytes: word " << i << " is no place in the node's memory";
  }
  const std::vector<Word> start = start_of(origin);
  auto* const memory = const_cast<std::byte*>(piece.data());  // the graph's own, which is not constant
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const Word code = word_at(from, i);
    Word word = 0;
    if (kinds_[i] == Kind::number && !is_place(from, i))
      word = code ^ start[i];
    else if (kinds_[i] == Kind::place || kinds_[i] == Kind::number)
      word = code == 0 ? 0
                       : reinterpret_cast<Word>(regions[static_cast<std::size_t>(code & 0xFFFF) - 1].data()) +
                             (code >> 16);
    else
      continue;
    std::memcpy(memory + i * sizeof word, &word, std::min(sizeof word, piece.size() - i * sizeof word));
  }
  return {};
}

}  // namespace runnel::library
