#include "npu/host/encoder/program.h"

#include <algorithm>

#include "inference/plan/arena_planner.h"
#include "npu/host/encoder/block_choice.h"
#include "npu/host/encoder/bricks.h"
#include "npu/host/encoder/fuse_tables.h"
#include "npu/host/encoder/schedule.h"
#include "npu/host/encoder/step_plan.h"

namespace runnel::npu {

Program::Program(const ProgramOptions& options) : options_(options) {
  if (options_.system == nullptr) options_.system = &default_system(options_.accelerator->product);
  if (options_.mode == nullptr) options_.mode = &default_memory_mode(options_.accelerator->product);
  auto generation = Generation::make(options_);
  if (generation.ok())
    generation_ = *std::move(generation);
  else
    status_ = generation.status();
}

void Program::add(Step step) {
  if (!status_.ok()) return;
  std::span<const std::byte> second;
  if (step.ifm2 != kNoBuffer) second = buffers_[static_cast<std::size_t>(step.ifm2)].data;
  status_ = generation_->adapt(step, second);
  for (Step& other : step.others) {
    if (status_.ok()) status_ = generation_->adapt(other, second);
  }
  steps_.push_back(std::move(step));
}

BufferId Program::buffer(std::size_t bytes, Lifetime lifetime) {
  Buffer made;
  made.bytes = bytes;
  made.from_begin = lifetime == Lifetime::from_begin || lifetime == Lifetime::always;
  made.to_end = lifetime == Lifetime::to_end || lifetime == Lifetime::always;
  buffers_.push_back(std::move(made));
  return static_cast<BufferId>(buffers_.size()) - 1;
}
BufferId Program::own_region() {
  if (next_own_ == kRegions) return kNoBuffer;
  const BufferId id = buffer(0, Lifetime::always);
  buffers_.back().own = next_own_++;
  return id;
}
BufferId Program::constant(std::vector<std::byte> bytes) {
  const BufferId id = buffer(bytes.size());
  buffers_.back().is_constant = true;
  buffers_.back().data = std::move(bytes);
  return id;
}
void Program::keep_to_end(BufferId id) { buffers_[static_cast<std::size_t>(id)].to_end = true; }
void Program::keep_from_begin(BufferId id) { buffers_[static_cast<std::size_t>(id)].from_begin = true; }

// Returns the offset of equal bytes if they exist already.
std::size_t Program::append(std::span<const std::byte> bytes) {
  std::string key(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto [found, fresh] = known_.try_emplace(std::move(key), out_.constants.size());
  if (fresh) {
    out_.constants.insert(out_.constants.end(), bytes.begin(), bytes.end());
    out_.constants.resize(align_stream(out_.constants.size()));
  }
  return found->second;
}

// Plans blocks and slices of all steps, in order.
Result<Program::Planned> Program::plan(std::vector<Step> steps) const {
  std::vector<Step> planned;
  std::vector<Operation> previous, all;
  for (Step& step : steps) {
    if (!step.op.computes()) {
      planned.push_back(std::move(step));
      continue;
    }
    const auto plan_one = [&](Step& one) -> Result<StepPlan> {
      Operation& op = one.op;
      const std::pair<FeatureMap*, BufferId> maps[] = {
          {&op.ofm, one.ofm}, {&op.ifm, one.ifm}, {&op.ifm2, one.ifm2}};
      for (const auto& [map, buffer] : maps) {
        if (buffer != kNoBuffer) map->region = expected_region(buffer);
      }
      return plan_step(op, previous, expected_bytes(one.weights), *generation_);
    };
    RUNNEL_ASSIGN(StepPlan plan, plan_one(step));
    for (Step& other : std::exchange(step.others, {})) {
      auto quicker = plan_one(other);
      if (!quicker.ok() || quicker->cost >= plan.cost) continue;
      plan = *std::move(quicker);
      step = std::move(other);
    }
    const Operation& op = step.op;
    if (plan.exchanged && reads_weights(op)) step.weights = exchange_weights(op, step.weights);
    previous.clear();
    std::size_t first = 0;
    const std::size_t each =
        reads_weights(op) ? step.weights.size() / static_cast<std::size_t>(op.ofm.depth) : 0;
    for (const std::int32_t channels : plan.slices) {
      const auto count = static_cast<std::size_t>(channels);
      Step slice;
      slice.op = slice_of(plan.op, static_cast<std::int32_t>(first), channels);
      slice.ifm = step.ifm;
      slice.ifm2 = step.ifm2;
      slice.ofm = step.ofm;
      slice.table = step.table;
      slice.copied = plan.copied;
      if (reads_weights(op)) {
        const auto at = [](auto& values, std::size_t index) {
          return values.begin() + static_cast<std::ptrdiff_t>(index);
        };
        slice.weights.assign(at(step.weights, first * each), at(step.weights, (first + count) * each));
        slice.scales.assign(at(step.scales, first), at(step.scales, first + count));
      }
      first += count;
      previous.push_back(slice.op);
      planned.push_back(std::move(slice));
    }
    for (Operation one : previous) {
      const auto share = [&](Bytes& stream) { stream.length = stream.length * one.ofm.depth / op.ofm.depth; };
      share(one.weights[0]);
      share(one.scales[0]);
      all.push_back(one);
    }
  }
  return Planned{std::move(planned), generation_->estimate(all).total};
}

// Candidate sets of buffers in bricks: all that could be, and those whose steps alone are quicker with them.
std::vector<std::vector<bool>> Program::layouts() const {
  std::vector<bool> inside;
  for (const Buffer& buffer : buffers_) inside.push_back(is_inside(buffer));
  const std::vector<bool> possible = could_be_bricks(steps_, inside);
  if (std::count(possible.begin(), possible.end(), true) == 0) return {};
  std::vector<bool> quicker(possible.size());
  for (std::size_t i = 0; i < possible.size(); ++i) {
    if (!possible[i]) continue;
    std::vector<Step> rows;
    for (const Step& step : steps_) {
      const auto id = static_cast<BufferId>(i);
      if (step.ifm == id || step.ifm2 == id || step.ofm == id) rows.push_back(step);
    }
    std::vector<Step> bricks = rows;
    std::vector<bool> one(possible.size());
    one[i] = true;
    lay_in_bricks(bricks, one);
    const auto with_rows = plan(std::move(rows)), with_bricks = plan(std::move(bricks));
    quicker[i] = with_rows.ok() && with_bricks.ok() && with_bricks->cycles < with_rows->cycles;
  }
  std::vector<std::vector<bool>> out{possible};
  if (quicker != possible && std::count(quicker.begin(), quicker.end(), true) > 0)
    out.push_back(std::move(quicker));
  return out;
}

Result<CompiledProgram> Program::finish() {
  RUNNEL_TRY(status_);
  std::vector<bool> inside;
  for (const Buffer& buffer : buffers_) inside.push_back(is_inside(buffer));
  if (generation_->looks_up_results()) fuse_tables(steps_, inside);
  RUNNEL_ASSIGN(CompiledProgram quickest, best());
  const auto needs = [](const CompiledProgram& program) { return program.scratch + program.fast_scratch; };
  if (options_.most_scratch == 0 || needs(quickest) <= options_.most_scratch) return quickest;
  options_.optimise = Optimise::size;
  RUNNEL_ASSIGN(generation_, Generation::make(options_));
  RUNNEL_ASSIGN(CompiledProgram smallest, best());
  if (needs(smallest) <= options_.most_scratch) return smallest;
  return Status(Code::out_of_memory) << "a scratch memory of " << needs(smallest)
                                     << " bytes, expected at most " << options_.most_scratch;
}

Program::Cost Program::cost_of(const CompiledProgram& program) const {
  const double cycles = generation_->estimate(program.operations).total;
  if (options_.optimise == Optimise::speed) return {cycles, 0, 0};
  return {static_cast<double>(program.scratch + program.fast_scratch),
          static_cast<double>(program.constants.size()), cycles};
}

Result<CompiledProgram> Program::best() {
  expected_fast_.assign(buffers_.size(), false);
  if (!options_.mode->arena_outside || !generation_->expects_cache()) return best_layout();
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    expected_fast_[i] =
        is_inside(buffers_[i]) && buffers_[i].bytes <= static_cast<std::size_t>(options_.mode->cache);
  RUNNEL_ASSIGN(CompiledProgram first, best_layout());
  // Where the cache has no room for all of them, once more for those that it holds.
  const std::vector<bool> expected = expected_fast_;
  for (std::size_t i = 0; i < buffers_.size(); ++i) expected_fast_[i] = first.regions[i] == kFastScratch;
  if (expected_fast_ == expected) return first;
  RUNNEL_ASSIGN(CompiledProgram second, best_layout());
  return cost_of(second) < cost_of(first) ? std::move(second) : std::move(first);
}

// Takes the best variant: rows, or one of the brick candidates.
Result<CompiledProgram> Program::best_layout() const {
  const auto compiled = [&](const std::vector<bool>& bricks) -> Result<CompiledProgram> {
    Program program(*this);
    lay_in_bricks(program.steps_, bricks);
    RUNNEL_ASSIGN(Planned planned, plan(std::move(program.steps_)));
    program.steps_ = std::move(planned.steps);
    return program.emit();
  };
  RUNNEL_ASSIGN(CompiledProgram best, compiled(std::vector<bool>(buffers_.size())));
  Cost least = cost_of(best);
  for (const std::vector<bool>& bricks : layouts()) {
    RUNNEL_ASSIGN(CompiledProgram other, compiled(bricks));
    const Cost cost = cost_of(other);
    if (cost >= least) continue;
    least = cost;
    best = std::move(other);
  }
  return best;
}

void Program::pack(Step& step, Streams& streams) {
  for (Bytes* stream : {&step.op.weights[0], &step.op.scales[0]}) *stream = {};
  if (!reads_weights(step.op)) return;
  PackedStreams packed = generation_->pack(step);
  streams.scales = std::move(packed.scales);
  streams.weights = std::move(packed.weights);
  streams.bytes = packed.bytes.size();
  streams.offset = append(packed.bytes);
}

std::uint8_t Program::region_of(BufferId id) const {
  const auto index = static_cast<std::size_t>(id);
  return buffers_[index].own == 0 && fast_[index] ? std::uint8_t{kFastScratch} : region_or_scratch(id);
}
std::uint8_t Program::expected_region(BufferId id) const {
  const auto index = static_cast<std::size_t>(id);
  return index < expected_fast_.size() && expected_fast_[index] ? std::uint8_t{kFastScratch}
                                                                : region_or_scratch(id);
}
// The region, without the fast memory.
std::uint8_t Program::region_or_scratch(BufferId id) const {
  const Buffer& buffer = buffers_[static_cast<std::size_t>(id)];
  return buffer.is_constant ? std::uint8_t{kConstants}
         : buffer.own != 0  ? buffer.own
                            : std::uint8_t{kScratch};
}
void Program::place(FeatureMap& map, BufferId id) const {
  map.region = region_of(id);
  for (std::int64_t& base : map.base)
    base += static_cast<std::int64_t>(out_.offsets[static_cast<std::size_t>(id)]);
}

void Program::allocate() {
  const auto steps = static_cast<std::int32_t>(steps_.size());
  std::vector<ArenaItem> items(buffers_.size());
  std::vector<float> traffic(buffers_.size());
  const auto use = [&](BufferId id, std::int32_t first, std::int32_t last) {
    if (id < 0 || buffers_[static_cast<std::size_t>(id)].is_constant ||
        buffers_[static_cast<std::size_t>(id)].own != 0)
      return;
    ArenaItem& item = items[static_cast<std::size_t>(id)];
    if (item.last < item.first) item.first = first;
    item.first = std::min(item.first, first);
    item.last = std::max(item.last, last);
    traffic[static_cast<std::size_t>(id)] += static_cast<float>(buffers_[static_cast<std::size_t>(id)].bytes);
  };
  for (std::int32_t i = 0; i < steps; ++i) {
    const Step& step = steps_[static_cast<std::size_t>(i)];
    for (const BufferId id : {step.ifm, step.ifm2, step.ofm}) use(id, i, i);
    // Weights are copied while the previous step is computed.
    use(streams_[static_cast<std::size_t>(i)].copy, std::max(0, i - 1), i);
  }
  fast_.assign(buffers_.size(), false);
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].is_constant || buffers_[i].own != 0) continue;
    items[i].bytes = buffers_[i].bytes;
    if (buffers_[i].from_begin) use(static_cast<BufferId>(i), 0, 0);
    if (buffers_[i].to_end) use(static_cast<BufferId>(i), steps, steps);
    // Data that outlives a run or comes from outside stays in the shared memory.
    fast_[i] = options_.mode->arena_outside && !buffers_[i].from_begin && !buffers_[i].to_end;
  }
  std::vector<std::int32_t> work(kArenaWork * items.size());
  std::vector<ArenaItem> outside = items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    (fast_[i] ? outside[i] : items[i]).bytes = 0;
  }
  if (options_.mode->arena_outside) {
    out_.fast_scratch = plan_two_arenas(items, traffic, static_cast<std::size_t>(options_.mode->cache),
                                        kStreamAlignment, work)
                            .fast;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!fast_[i] || items[i].tier == Tier::fast) continue;
      fast_[i] = false;
      outside[i].bytes = items[i].bytes;
    }
  }
  for (ArenaItem& item : outside) item.tier = Tier::fast;
  out_.scratch = plan_arena(outside, kStreamAlignment, work);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!buffers_[i].is_constant && buffers_[i].own == 0)
      out_.offsets[i] = fast_[i] ? items[i].offset : outside[i].offset;
  }
}

Result<CompiledProgram> Program::emit() {
  streams_.resize(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (!steps_[i].op.computes()) continue;
    pack(steps_[i], streams_[i]);
    if (steps_[i].copied) streams_[i].copy = buffer(streams_[i].bytes);
  }
  out_.offsets.assign(buffers_.size(), 0);
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].is_constant) out_.offsets[i] = append(buffers_[i].data);
  }
  allocate();
  Schedule schedule(*options_.accelerator);
  // The copy of a step's weights is issued before the previous step.
  const auto copy_weights = [&](std::size_t i) {
    if (i >= steps_.size() || streams_[i].copy == kNoBuffer) return;
    Operation copy;
    copy.kind = OperationKind::dma;
    copy.dma.length = static_cast<std::int64_t>(streams_[i].bytes);
    copy.dma.source = {kConstants, false, 1, static_cast<std::int64_t>(streams_[i].offset)};
    copy.dma.target = {region_of(streams_[i].copy), false, 1,
                       static_cast<std::int64_t>(out_.offsets[static_cast<std::size_t>(streams_[i].copy)])};
    schedule.add(copy);
  };
  copy_weights(0);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    copy_weights(i + 1);
    Step& step = steps_[i];
    Operation& op = step.op;
    if (op.kind == OperationKind::dma) {
      op.dma.source.region = region_of(step.ifm);
      op.dma.target.region = region_of(step.ofm);
      op.dma.source.address += static_cast<std::int64_t>(out_.offsets[static_cast<std::size_t>(step.ifm)]);
      op.dma.target.address += static_cast<std::int64_t>(out_.offsets[static_cast<std::size_t>(step.ofm)]);
      schedule.add(op);
      continue;
    }
    place(op.ofm, step.ofm);
    if (step.ifm != kNoBuffer) place(op.ifm, step.ifm);
    if (step.ifm2 != kNoBuffer) place(op.ifm2, step.ifm2);
    const Streams& streams = streams_[i];
    const bool copied = streams.copy != kNoBuffer;
    const auto base = static_cast<std::int64_t>(copied ? out_.offsets[static_cast<std::size_t>(streams.copy)]
                                                       : streams.offset);
    op.weight_region = op.scale_region = copied ? region_of(streams.copy) : std::uint8_t{kConstants};
    const auto placed = [&](const Bytes& stream) { return Bytes{base + stream.base, stream.length}; };
    std::transform(streams.weights.begin(), streams.weights.end(), op.weights, placed);
    std::transform(streams.scales.begin(), streams.scales.end(), op.scales, placed);
    if (step.table.empty())
      schedule.add(op);
    else
      schedule.add_with_table(op, append(step.table), step.table);
  }
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    out_.regions.push_back(region_of(static_cast<BufferId>(i)));
  out_.operations = schedule.operations();
  out_.payload = schedule.payload();
  return std::move(out_);
}

}  // namespace runnel::npu
