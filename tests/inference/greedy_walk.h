// The memory planner of ESP-DL, as the yardstick for ours: nodes in order, each tensor freed after its last
// use and allocated from a list of free chunks, smallest first; chunks are split, merged with free
// neighbours, the last one is extended. Operators in place make their output the follower of an input, until
// somebody else reads that input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <list>
#include <set>
#include <vector>

#include "inference/model/model.h"

namespace runnel::test {

class GreedyWalk {
 public:
  // Bytes of its arena for one clip of the length in the file.
  static std::size_t bytes(const Model& model, std::size_t alignment) {
    return GreedyWalk(model, alignment).simulate();
  }

 private:
  struct Info {
    std::size_t bytes = 0;
    int begin = -1, end = -1;  // begin < 0: not a variable
    Info *leader = nullptr, *follower = nullptr;

    void lead(Info& by) {
      leader = &by;
      if (by.end < end || end == -1) by.extend(end);
    }
    void extend(int to) {
      if (leader != nullptr) {
        leader->extend(to);
        end = leader->end;
      } else if (to == -1 || to > end) {
        end = to;
      }
    }
  };
  struct Chunk {
    std::size_t offset = 0, bytes = 0;
    const Info* tensor = nullptr;  // null: free
  };
  using Chunks = std::list<Chunk>;

  GreedyWalk(const Model& model, std::size_t alignment)
      : model_(model), alignment_(alignment), infos_(static_cast<std::size_t>(model.tensor_count())) {
    for (std::size_t t = 0; t < infos_.size(); ++t)
      infos_[t].bytes = model.tensor(static_cast<int>(t)).bytes();
    const std::set<std::int32_t> outputs(model.outputs().begin(), model.outputs().end());
    for (const std::int32_t input : model.inputs()) info(input).begin = 0;
    for (int i = 0; i < model.operator_count(); ++i) {
      const fb::Operator& op = model.op(i);
      for (const std::int32_t input : *op.inputs()) {
        if (input < 0 || info(input).begin < 0) continue;
        disconnect(info(input));
        if (!outputs.contains(input)) info(input).extend(i + 1);
      }
      for (const std::int32_t output : *op.outputs()) info(output).begin = i;
      const int kind = in_place(code_of(op));
      if (kind == 0 || op.outputs()->size() != 1) continue;
      Info& y = info(op.outputs()->Get(0));
      for (const std::int32_t input : *op.inputs()) {
        if (input < 0 || info(input).begin < 0 || info(input).bytes < y.bytes || outputs.contains(input))
          continue;
        disconnect(info(input));
        y.lead(info(input));
        if (kind == 2) info(input).follower = &y;
        break;
      }
    }
  }

  Info& info(std::int32_t tensor) { return infos_[static_cast<std::size_t>(tensor)]; }
  static void disconnect(Info& leader) {
    if (leader.follower == nullptr) return;
    leader.follower->leader = nullptr;
    leader.follower = nullptr;
  }

  // 0: not in place, 1: the bytes do not change, 2: they do.
  static int in_place(OpCode code) {
    using enum OpCode;
    static const std::set<OpCode> changed = {add,
                                             logical_and,
                                             logical_or,
                                             logical_xor,
                                             logical_not,
                                             clip,
                                             elu,
                                             equal,
                                             exp,
                                             greater,
                                             greater_or_equal,
                                             hard_sigmoid,
                                             hard_swish,
                                             layer_norm,
                                             leaky_relu,
                                             less,
                                             less_or_equal,
                                             log,
                                             lp_norm,
                                             lut,
                                             max,
                                             min,
                                             mod,
                                             neg,
                                             prelu,
                                             reduce_l1,
                                             reduce_l2,
                                             reduce_log_sum,
                                             reduce_log_sum_exp,
                                             reduce_max,
                                             reduce_mean,
                                             reduce_min,
                                             reduce_prod,
                                             reduce_sum,
                                             reduce_sum_square,
                                             relu,
                                             requantize,
                                             reverse_sequence,
                                             rms_norm,
                                             scatter_nd,
                                             sigmoid,
                                             sqrt,
                                             swish,
                                             OpCode::tanh};
    return code == reshape ? 1 : changed.contains(code) ? 2 : 0;
  }

  std::size_t simulate() {
    for (int i = 0; i < model_.operator_count(); ++i) {
      for (Info& at : infos_) {
        if (at.begin >= 0 && at.leader == nullptr && at.end == i) release(at);
      }
      for (Info& at : infos_) {
        if (at.begin == i && at.leader == nullptr) allocate(at);
      }
    }
    return memory_.empty() ? 0 : memory_.back().offset + memory_.back().bytes;
  }

  void release(const Info& tensor) {
    const auto at = std::find_if(memory_.begin(), memory_.end(),
                                 [&](const Chunk& chunk) { return chunk.tensor == &tensor; });
    if (at == memory_.end()) return;
    at->tensor = nullptr;
    if (const auto next = std::next(at); next != memory_.end() && next->tensor == nullptr) {
      at->bytes += next->bytes;
      forget(next);
    }
    if (at != memory_.begin()) {
      if (const auto before = std::prev(at); before->tensor == nullptr) {
        at->offset = before->offset;
        at->bytes += before->bytes;
        forget(before);
      }
    }
    offer(at);
  }
  void forget(Chunks::iterator at) {
    free_.remove(at);
    memory_.erase(at);
  }
  void offer(Chunks::iterator at) {
    free_.push_back(at);
    free_.sort([](Chunks::iterator a, Chunks::iterator b) { return a->bytes < b->bytes; });
  }

  void allocate(const Info& tensor) {
    const std::size_t bytes = (tensor.bytes + alignment_ - 1) / alignment_ * alignment_;
    const auto fits =
        std::find_if(free_.begin(), free_.end(), [&](Chunks::iterator at) { return at->bytes >= bytes; });
    if (fits != free_.end()) {
      const Chunks::iterator at = *fits;
      free_.erase(fits);
      at->tensor = &tensor;
      if (at->bytes > bytes) {
        const auto rest =
            memory_.insert(std::next(at), Chunk{at->offset + bytes, at->bytes - bytes, nullptr});
        at->bytes = bytes;
        offer(rest);
      }
      return;
    }
    if (!memory_.empty() && memory_.back().tensor == nullptr) {
      const auto last = std::prev(memory_.end());
      free_.remove(last);
      last->tensor = &tensor;
      last->bytes = bytes;
      return;
    }
    const std::size_t end = memory_.empty() ? 0 : memory_.back().offset + memory_.back().bytes;
    memory_.push_back({end, bytes, &tensor});
  }

  const Model& model_;
  std::size_t alignment_;
  std::vector<Info> infos_;
  Chunks memory_;
  std::list<Chunks::iterator> free_;
};

}  // namespace runnel::test
