// How the memory of a prepared graph becomes bytes without addresses, and back.
//
// All that the nodes of such a graph remember lies in one piece of memory, with addresses among the numbers:
// of places in the piece itself, in the models, and elsewhere (code, other objects). Two graphs of one text,
// over two copies of the models, have the same piece except for addresses, because everything is computed the
// same. So two graphs that live through the same stream show which words are addresses, and of what. Saved
// are addresses in the piece and in models as offsets, and other words as what changed since the graph was
// made; addresses of anything else stay those of the graph that is restored.
//
// Some addresses are set only when something is heard, so they may not be seen while this is learned. In
// memory that was allocated for objects (aligned as addresses are, and not more, as samples and tensors are),
// a word that was null when the graph was made and now has the value of a place in the piece or in a model is
// an address, too, if it is larger than any counter becomes; a double would have to be a denormal one, of a
// few thousand among 2^52. Other words that could be addresses are refused.
//
// The padding of objects has any value, another one in each graph. So words of objects are compared with
// those that the same graph had when it was made (its StateOrigin), and saved is what changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "inference/model/model.h"
#include "pipeline/host/graph.h"

namespace runnel::library {

// The words of a graph's objects when it was made.
using StateOrigin = std::vector<std::uint64_t>;
StateOrigin origin_of(const pipeline::Graph& graph);

// Immutable and thread-safe.
class StateMap {
 public:
  // Both graphs just made, from one program, each over its own copy of the models, in the same order; both
  // are used up. Error: unsupported when their memory differs by more than addresses.
  static Result<StateMap> learn(pipeline::Graph& one, const std::vector<const Model*>& models,
                                pipeline::Graph& other, const std::vector<const Model*>& other_models);

  // Bytes of a saved piece.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return kinds_.size() * sizeof(std::uint64_t) + (kinds_.size() + 7) / 8;
  }
  // Of the layout: equal for graphs that can restore each other's bytes.
  [[nodiscard]] std::uint32_t fingerprint() const noexcept { return fingerprint_; }
  // The memory of a graph of this program, over its own models; `origin`: of this graph. Error: unsupported
  // (see above).
  Status save(const pipeline::Graph& graph, const StateOrigin& origin, std::span<std::byte> to) const;
  // Errors: invalid_data, before anything was changed.
  Status restore(pipeline::Graph& graph, const StateOrigin& origin, std::span<const std::byte> from) const;

 private:
  enum class Kind : std::uint8_t {
    number,   // or an address of something that all graphs of the process share
    place,    // an address in the piece or in a model, or null (as words of objects_ may become)
    foreign,  // an address of something else that belongs to one graph
    unused,   // of a buffer that has no contents between two steps
  };
  using Word = std::uint64_t;

  // Whether a saved word is an address.
  [[nodiscard]] bool is_place(std::span<const std::byte> saved, std::size_t word) const noexcept {
    return kinds_[word] == Kind::place ||
           (std::to_integer<unsigned>(saved[kinds_.size() * sizeof(Word) + word / 8]) >> word % 8 & 1U) != 0;
  }

  // The pieces of memory that saved addresses lie in: that of a graph, then those of its models.
  using Regions = std::vector<std::span<const std::byte>>;
  [[nodiscard]] static Regions regions_of(const pipeline::Graph& graph,
                                          const std::vector<const Model*>& models);

  Status compare(const pipeline::Graph& one, const Regions& regions, const pipeline::Graph& other,
                 const Regions& other_regions, bool first);
  // The words that graphs start with: of objects their own, of other memory the same for all.
  [[nodiscard]] std::vector<Word> start_of(const StateOrigin& origin) const;

  std::vector<Kind> kinds_;
  std::vector<bool> objects_;  // words of memory that was allocated for objects
  // Of the graphs that it was learned from; `other_` until that has ended.
  std::vector<Word> initial_, other_;
  Regions models_;  // of the program
  std::uint32_t fingerprint_ = 0;
};

}  // namespace runnel::library
