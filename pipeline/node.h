// What a node of a graph is.
//
// A node is a small class that reads like a data sheet: parameters (public members with their defaults), a
// `type` with name, help, ports and the parameter table, then the node's life cycle:
//
//     set parameters -> prepare -> reset(0) -> process* -> flush* -> finish
//                                    ^------ gap -------------'
//
// prepare() does everything that can fail or allocates; process(), flush() and reset() of device nodes do
// neither. A node belongs to one graph and is used by one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string_view>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/status.h"
#include "inference/operator_table.h"
#include "pipeline/block.h"
#include "pipeline/format.h"
#include "pipeline/parameter.h"

namespace runnel {
class ModelLoader;
}
namespace runnel::features {
class RealFft;
}

namespace runnel::pipeline {

// The node that would make two ends match, for messages and for programs that insert it.
struct Fix {
  enum class Kind : std::uint8_t { none, resample, downmix } kind = Kind::none;
  std::int64_t rate = 0;  // resample: in Hz
};

// Transforms other than runnel's own, which an application injects (on hosts: FFTW).
class FftMaker {
 public:
  // A transform of n points, owned by the maker and valid as long as the maker. Errors: unsupported,
  // invalid_argument, out_of_memory.
  virtual Result<features::RealFft*> make(std::size_t n) noexcept = 0;

 protected:
  ~FftMaker() = default;
};

// A second tier of memory, small and faster than the first.
struct FastMemory {
  Memory* memory = nullptr;  // null: there is no second tier
  std::size_t bytes = 0;
};

class SharedSessions;
class SharedWork;

// What a node is given to prepare with, and what it answers.
struct NodeContext {
  // Given.
  Memory& memory;                // the only place to allocate from; lives as long as the node
  std::string_view label;        // of this node, in messages
  std::string_view input_label;  // of the node before it
  Format input;                  // kind none for sources
  std::int64_t max_input = 0;    // most frames per process(); sources: samples requested per process()
  Isa isa = Isa::generic;
  ModelLoader* models = nullptr;  // null: this program cannot load models
  OperatorTable operators;
  FftMaker* ffts = nullptr;                 // null: runnel's own transforms only
  const std::atomic<bool>* stop = nullptr;  // polled by sources that block; may be null
  FastMemory fast;                          // for models, which decide what to put there
  bool slack = true;                        // of models: PrepareOptions::slack
  SharedSessions* shared = nullptr;  // of programs that run many graphs (pipeline/host/shared_sessions.h);
                                     // null: every node has its own
  SharedWork* work = nullptr;        // of the same programs (pipeline/shared_work.h)

  // Set by prepare().
  Format output;                // starts as a copy of the input
  std::int64_t max_output = 0;  // most frames per process() or flush(); sources: at most max_input
  Fix fix;                      // with a `mismatch`, when a node would help
};

class Node {
 public:
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Checks the parameters and the input format, sets the output format, allocates. Called once.
  virtual Status prepare(NodeContext& context) noexcept = 0;

  // The stream starts, or restarts after a gap: the next input frame has the index `first`. Clears all state.
  // Returns the index that the next output frame will have. Indices lie on one grid for the whole recording:
  // a node that combines several frames drops input up to the next point of its grid.
  virtual std::int64_t reset(std::int64_t first) noexcept { return first; }

  // Consumes all of `in` and writes what is ready. Sources get an empty `in`.
  virtual Status process(const Block& in, Output& out) noexcept = 0;

  // The input has ended: writes what is left, a block per call; out.end says that there is no more.
  virtual Status flush(Output& out) noexcept {
    out.end = true;
    return {};
  }

  // Samples of the source were lost. For sinks that record gaps; called before reset().
  virtual Status gap(const Gap&) noexcept { return {}; }

  // The run succeeded: sinks complete their files. A sink that is destroyed without it leaves nothing behind.
  virtual Status finish() noexcept { return {}; }

  // One sentence that the user should read although nothing failed; empty: nothing to report.
  [[nodiscard]] virtual Text note() const noexcept { return {}; }

  // Nodes live in a Memory; destroying one runs its destructor and frees nothing.
  static void* operator new(std::size_t, void* place) noexcept { return place; }
  static void operator delete(void*) noexcept {}
  static void operator delete(void*, void*) noexcept {}

 protected:
  Node() = default;
};

// What can be connected to a port; kinds 0: there is no such port.
struct Port {
  Kinds kinds = 0;
  std::string_view help;
};

// The data sheet.
struct NodeType {
  std::string_view name;
  std::string_view help;  // one sentence
  Port input, output;
  // Values are set in the order of this table, whatever their order in a text.
  std::span<const Parameter> parameters;
  // nullptr when the memory is exhausted.
  Node* (*make)(Memory& memory) noexcept = nullptr;
  // Takes several inputs, each the end of a stream with an executor of its own
  // (pipeline/nodes/sensor/join.h).
  bool joins = false;
};

using NodeTable = std::span<const NodeType* const>;

template <class N>
Node* make_node(Memory& memory) noexcept {
  void* place = memory.allocate(sizeof(N), alignof(N));
  return place == nullptr ? nullptr : new (place) N();
}

// Failures of the negotiation. Each names both ends and, where there is one, the node between them that would
// help. `who`: this node as the user knows it, e.g. "fbank preset=kaldi".
Status wants_rate(NodeContext& context, std::string_view who, std::int64_t rate) noexcept;
Status wants_mono(NodeContext& context, std::string_view who) noexcept;
Status out_of_memory(std::string_view what) noexcept;

}  // namespace runnel::pipeline
