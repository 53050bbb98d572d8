// Which thread runs which stage of a graph.
#pragma once

#include <cstdint>
#include <vector>

namespace runnel::pipeline {

// A tree of stages in topological order: stage 0 is the source, every other one follows its input.
struct Stages {
  std::vector<int> input;    // of each stage; -1: the source
  std::vector<int> with;     // the stage, not after it, whose thread it must share; itself: none
  std::vector<double> cost;  // of a step of the source, in nanoseconds
  // Of handing the output of this stage to another thread, for each of the two threads, in nanoseconds.
  std::vector<double> hand_over;
};

struct Placement {
  std::vector<int> thread;  // of each stage; the source is on thread 0
  int threads = 1;          // in use
  double one = 0;           // cost of a step on one thread
  double slowest = 0;       // cost of a step on the busiest thread
  // How many times as fast as one thread.
  [[nodiscard]] double gain() const noexcept { return slowest > 0 ? one / slowest : 1; }
};

// The placement on at most `threads` (1 to 32) threads whose busiest thread has the least to do. No two
// threads wait for each other: following outputs, a thread that has been left is never reached again. Exact
// for graphs of ordinary size; with very many equally heavy stages the best that a bounded search finds. The
// same input gives the same placement.
Placement place(const Stages& stages, int threads);

// Whether a placement from outside is one that place() could give: threads from 0 to `threads` - 1, the
// source on thread 0, `with` obeyed, and no two threads that wait for each other.
bool is_possible(const Stages& stages, const std::vector<int>& thread, int threads);

}  // namespace runnel::pipeline
