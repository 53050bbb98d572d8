#include "pipeline/host/threads/graph_threads.h"

#include <algorithm>
#include <limits>
#include <system_error>
#include <thread>

#include "base/host/heap_memory.h"
#include "base/host/out_of_memory.h"
#include "base/host/wait_for_change.h"
#include "pipeline/host/steady_clock.h"
#include "pipeline/host/threads/sender.h"
#include "pipeline/nodes/host/model/live_infer.h"

namespace runnel::pipeline {
namespace {

// A moment at which nothing has failed.
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

}  // namespace

struct GraphThreads::Part {
  Part(int input_stage, int thread_index, std::size_t frame_bytes)
      : input(input_stage), thread(thread_index), sender(queue, frame_bytes) {}

  int input;     // the stage whose output it reads
  int thread;    // that runs it; 0: the one of the executor
  int from = 0;  // the thread that sends to it
  HeapMemory memory;
  Schedule schedule;
  BlockQueue queue;
  Sender sender;
  Vacant vacant;
  Moment moment;  // of the message at work
  std::vector<int> stages;
  std::vector<LiveInfer*> models;
  StepTimes times;
  Status failure;
  std::int64_t failed_in = kNever;  // step
};

struct GraphThreads::Thread {
  int number = 0;
  Bell bell;
  std::vector<Part*> parts;
  std::thread thread;
};

GraphThreads::GraphThreads(Schedule& schedule, const LiveSource* live) : schedule_(schedule), live_(live) {}

Result<std::unique_ptr<GraphThreads>> GraphThreads::start(Schedule& schedule, const std::vector<int>& thread,
                                                          std::size_t depth, bool at_once,
                                                          const LiveSource* live) {
  return catching_bad_alloc("running the graph on several threads",
                            [&]() -> Result<std::unique_ptr<GraphThreads>> {
                              std::unique_ptr<GraphThreads> made(new GraphThreads(schedule, live));
                              RUNNEL_TRY(made->make_parts(thread, depth, at_once));
                              RUNNEL_TRY(made->start_threads());
                              made->fill_places(schedule, 0);
                              return made;
                            });
}

Status GraphThreads::make_parts(const std::vector<int>& thread, std::size_t depth, bool at_once) {
  const int count = schedule_.size();
  const auto at = [](const auto& values, int index) -> const auto& {
    return values[static_cast<std::size_t>(index)];
  };
  for (int t = 1; t <= *std::max_element(thread.begin(), thread.end()); ++t)
    threads_.emplace_back(std::make_unique<Thread>())->number = t;
  part_of_.assign(static_cast<std::size_t>(count), 0);
  busy_ = std::make_unique<std::atomic<std::int64_t>[]>(static_cast<std::size_t>(count));
  parts_.push_back(std::make_unique<Part>(0, 0, 0));
  for (int i = 0; i < count; ++i) {
    nodes_.push_back(schedule_.stage(i).node);
    const int input = schedule_.stage(i).input;
    if (i == 0) continue;
    int& part = part_of_[static_cast<std::size_t>(i)];
    part = at(part_of_, input);
    if (at(thread, i) != at(thread, input)) {
      // All readers of an output in one thread are one part.
      const auto found = std::find_if(parts_.begin() + 1, parts_.end(), [&](const auto& each) {
        return each->input == input && each->thread == at(thread, i);
      });
      part = static_cast<int>(found - parts_.begin());
      if (found == parts_.end()) {
        const Schedule::Edge& edge = schedule_.edge(input);
        const std::size_t frame_bytes = edge.format.frame_bytes();
        Thread& runs = *threads_[static_cast<std::size_t>(at(thread, i)) - 1];
        Part& made = *parts_.emplace_back(std::make_unique<Part>(input, at(thread, i), frame_bytes));
        runs.parts.push_back(&made);
        made.from = at(thread, input);
        const auto ring_after = at_once ? 1 : static_cast<std::uint32_t>(std::max<std::size_t>(depth / 4, 1));
        RUNNEL_TRY(made.queue.make(depth, static_cast<std::size_t>(edge.output.capacity) * frame_bytes,
                                   ring_after, runs.bell));
        RUNNEL_TRY(made.schedule.make_like(schedule_, made.memory));
      }
    }
    Part& own = *at(parts_, part);
    own.stages.push_back(i);
    if (auto* model = dynamic_cast<LiveInfer*>(at(nodes_, i)); model != nullptr) own.models.push_back(model);
  }
  for (std::size_t p = 1; p < parts_.size(); ++p) fill_places(parts_[p]->schedule, static_cast<int>(p));
  return {};
}

// Leaves the nodes of this part in their places, puts senders where it leads to others, and nothing
// elsewhere.
void GraphThreads::fill_places(Schedule& schedule, int part) {
  Part& own = *parts_[static_cast<std::size_t>(part)];
  for (int i = 1; i < schedule.size(); ++i) {
    if (part_of_[static_cast<std::size_t>(i)] != part) schedule.exchange(i, own.vacant);
  }
  for (std::size_t p = 1; p < parts_.size(); ++p) {
    Part& other = *parts_[p];
    if (part_of_[static_cast<std::size_t>(other.input)] != part) continue;
    other.sender.send_at(own.moment, part == 0 ? live_ : nullptr);
    schedule.exchange(other.stages[0], other.sender);
  }
}

Status GraphThreads::start_threads() {
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    Thread& each = *threads_[t];
    try {
      each.thread = std::thread([this, &each] { serve(each); });
    } catch (const std::system_error& error) {
      return Status(Code::io_error) << "thread " << t + 2 << " of " << threads_.size() + 1
                                    << " could not be started: " << error.what();
    }
  }
  return {};
}

void GraphThreads::serve(Thread& thread) noexcept {
  for (;;) {
    const std::uint32_t rung = thread.bell.rung.load(std::memory_order_acquire);
    bool worked = false;
    for (Part* part : thread.parts) {
      if (part->queue.oldest() == nullptr) continue;
      run(*part);
      part->queue.release();
      worked = true;
    }
    if (worked) continue;
    announce(thread.number);
    if (ending_.load(std::memory_order_acquire)) return;
    wait_for_change(thread.bell.rung, rung, BlockQueue::kLookFor);
  }
}

// The oldest message of the queue of a part. After a failure messages are dropped, so that nobody waits for
// room.
void GraphThreads::run(Part& part) noexcept {
  if (part.failed_in != kNever || dropping_.load(std::memory_order_relaxed)) return;
  const Message& message = *part.queue.oldest();
  Schedule& schedule = part.schedule;
  part.moment = message.moment;
  Status status;
  switch (message.kind) {
    case Message::Kind::block: {
      for (LiveInfer* model : part.models) model->skip(message.moment.skip_models);
      Output& input = schedule.edge(part.input).output;
      input.data = message.data;
      input.count = message.count;
      input.first = message.first;
      status = schedule.run_after(part.input);
      part.times.add(steady_nanoseconds() - message.moment.since);
      break;
    }
    case Message::Kind::flush:
      status = schedule.flush();
      break;
    case Message::Kind::gap:
      status = schedule.gap(message.lost);
      break;
    case Message::Kind::reset:
      schedule.reset(part.input, message.first);
      break;
  }
  for (const int stage : part.stages)
    busy_[static_cast<std::size_t>(stage)].store(schedule.edge(stage).busy, std::memory_order_relaxed);
  if (status.ok()) return;
  part.failure = std::move(status);
  part.failed_in = message.moment.step;
  failed_.store(true, std::memory_order_release);
}

void GraphThreads::begin_step(const Moment& moment) noexcept {
  Part& own = *parts_[0];
  own.moment = moment;
  if (live_ != nullptr) own.moment.since -= live_->waited_nanoseconds();
  for (LiveInfer* model : own.models) model->skip(moment.skip_models);
}

Status GraphThreads::join(const Status& own) noexcept {
  end_threads();
  for (int i = 1; i < schedule_.size(); ++i) schedule_.exchange(i, *nodes_[static_cast<std::size_t>(i)]);
  const Status* earliest = &own;
  std::int64_t step = own.ok() ? kNever : parts_[0]->moment.step;
  int stage = schedule_.failed_stage();
  for (std::size_t p = 1; p < parts_.size(); ++p) {
    Part& part = *parts_[p];
    schedule_.absorb(part.schedule);
    const int failed = part.schedule.failed_stage();
    if (part.failed_in > step || (part.failed_in == step && (step == kNever || failed > stage))) continue;
    earliest = &part.failure;
    step = part.failed_in;
    stage = failed;
  }
  return *earliest;
}

// What a thread has sent, before it sleeps.
void GraphThreads::announce(int thread) noexcept {
  for (std::size_t p = 1; p < parts_.size(); ++p) {
    if (parts_[p]->from == thread) parts_[p]->queue.announce();
  }
}

// When all messages are dealt with.
void GraphThreads::end_threads() noexcept {
  announce(0);
  // Every part after the one that leads to it: when it is reached, nothing more is sent to it.
  for (std::size_t p = 1; p < parts_.size(); ++p) parts_[p]->queue.wait_until_empty();
  ending_.store(true, std::memory_order_release);
  for (const auto& each : threads_) each->bell.ring();
  for (const auto& each : threads_) {
    if (each->thread.joinable()) each->thread.join();
  }
}

void GraphThreads::drop() noexcept {
  dropping_.store(true, std::memory_order_relaxed);
  static_cast<void>(join({}));
}

GraphThreads::~GraphThreads() {
  dropping_.store(true, std::memory_order_relaxed);
  end_threads();
}

std::int64_t GraphThreads::busy_nanoseconds(int stage) const noexcept {
  return busy_[static_cast<std::size_t>(stage)].load(std::memory_order_relaxed);
}

const StepTimes* GraphThreads::times(int stage) const noexcept {
  const int part = part_of_[static_cast<std::size_t>(stage)];
  return part == 0 ? nullptr : &parts_[static_cast<std::size_t>(part)]->times;
}

}  // namespace runnel::pipeline
