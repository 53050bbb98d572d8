// Many forms of one model over the same clips, which begin alike.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/calibrate/clip_runner.h"

namespace runnel::compiler::quantizer {

// Keeps values of tensors of one form, per clip. Of other forms only that is computed which differs from it,
// or follows from what differs: with the same results, because whole numbers and floats that were computed
// are given back exactly as they were. Not for several threads at a time.
class RepeatedRuns {
 public:
  // Which values are kept. all: every one, so that forms may differ anywhere. following: only those that
  // operators need from the last one on whose outputs were asked for, where forms differ later and later.
  enum class Keep { all, following };

  // `clips` must stay. Results are those of ClipRunner for the same clips and number of threads.
  RepeatedRuns(const Clips& clips, std::span<const std::size_t> which, int threads, Keep keep)
      : clips_(clips), which_(which.begin(), which.end()), threads_(threads), keep_(keep) {}

  // Tensors of `graph` (its inputs may be among them) over all clips: `outputs[0]` of what ClipRunner shows
  // has them. With `becomes_base` it is the form whose values are kept from now on. Errors: those of
  // ClipRunner.
  Status run(Graph graph, std::span<const TensorId> wanted, bool becomes_base,
             const ClipRunner::Visit& visit);

  // Whether values of `graph` can be kept: it has no states, and what is kept of all `clips` has room in
  // memory.
  static bool can_keep(const Graph& graph, std::size_t clips, Keep keep);

 private:
  using Values = std::vector<std::vector<float>>;  // per place of the clip in which_

  // The first node that differs from that of the base.
  [[nodiscard]] std::size_t first_difference(const Graph& graph, std::span<const std::string> keys) const;

  const Clips& clips_;
  std::vector<std::size_t> which_;
  int threads_;
  Keep keep_;
  Graph base_;
  std::vector<std::string> keys_;     // of the nodes of base_
  std::map<TensorId, Values> known_;  // computed tensors of base_
};

}  // namespace runnel::compiler::quantizer
