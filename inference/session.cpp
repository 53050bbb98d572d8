#include "inference/session.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>

#include "base/checked.h"
#include "base/crc32c.h"
#include "streaming/validity.h"

namespace runnel {
namespace {

struct SavedHeader {
  char magic[4];
  std::uint32_t version;
  std::uint32_t fingerprint;
  std::uint32_t crc32c;
  std::uint64_t bytes;
};
constexpr char kMagic[4] = {'R', 'N', 'L', 'S'};
constexpr std::uint32_t kStateVersion = 2;  // 2: sums of floats are two floats
#ifdef __linux__
constexpr std::size_t kScratchAlignment = 64;
#else
constexpr std::size_t kScratchAlignment = 16;  // memory is short, and there are no wider vectors
#endif

// Nobody looks at the steps of a run.
struct Unobserved {
  void operator()(int) const noexcept {}
};

}  // namespace

// Steps of a chain, their parts at the same time.
void Session::run_parts(const Prepared::Step* steps, const RunContext& context) const noexcept {
  struct Task {
    const Prepared::Step* steps;
    const RunContext& context;
  };
  const Task task{steps, context};
  const auto run = [](const void* argument, int part) noexcept {
    const auto& [chain, shared] = *static_cast<const Task*>(argument);
    RunContext own = shared;
    own.part = part;
    own.parts = chain->parts;
    for (int i = 0; i < chain->chain; ++i) chain[i].bound->run(*chain[i].bound, own);
  };
  workspace_->workers_->run(steps->parts, run, &task);
}

Result<Workspace*> Workspace::make(const Prepared& prepared, Memory& fast, Memory& slow) noexcept {
  RUNNEL_ASSIGN(const std::span<Workspace> one, make_many(prepared, 1, fast, slow));
  return one.data();
}

Result<std::span<Workspace>> Workspace::make_many(const Prepared& prepared, std::size_t count, Memory& fast,
                                                  Memory& slow) noexcept {
  const auto tensors = static_cast<std::size_t>(prepared.tables_.tensor_count);
  const auto memory_of = [&](Tier tier) -> Memory& { return tier == Tier::fast ? fast : slow; };
  std::byte* arenas[2] = {};
  std::size_t strides[2] = {};
  bool complete = true;
  for (const Tier tier : {Tier::fast, Tier::slow}) {
    if (prepared.arena_bytes(tier) == 0) continue;
    const auto i = static_cast<std::size_t>(tier);
    strides[i] = align_up(prepared.arena_bytes(tier), prepared.alignment());
    std::size_t bytes = 0;
    if (!checked_mul(strides[i], count, bytes))
      return Status(Code::invalid_argument) << count << " workspaces do not fit into memory";
    arenas[i] = static_cast<std::byte*>(memory_of(tier).allocate(bytes, prepared.alignment()));
    complete = complete && arenas[i] != nullptr;
    if (arenas[i] != nullptr) std::memset(arenas[i], 0, bytes);
  }
  std::size_t pointers = 0;
  if (!checked_mul(tensors, count, pointers))
    return Status(Code::invalid_argument) << count << " workspaces do not fit into memory";
  auto* scratch = static_cast<std::byte*>(
      memory_of(prepared.tables_.scratch_tier).allocate(prepared.tables_.scratch_bytes, kScratchAlignment));
  auto* workspaces = slow.array<Workspace>(count);
  auto* data = slow.array<std::byte*>(pointers);
  auto* index = slow.array<FrameIndex>(pointers);
  auto* lengths = slow.array<std::int64_t>(tensors);
  if (!complete || scratch == nullptr || workspaces == nullptr || data == nullptr || index == nullptr ||
      lengths == nullptr) {
    return Status(Code::out_of_memory)
           << "a workspace needs " << prepared.arena_bytes() << " bytes of arena and "
           << prepared.tables_.scratch_bytes << " of scratch, " << count
           << (count == 1 ? " is wanted" : " are wanted");
  }
  for (std::size_t w = 0; w < count; ++w) {
    Workspace& workspace = *new (workspaces + w) Workspace();
    for (std::size_t i = 0; i < 2; ++i)
      workspace.arena_[i] = arenas[i] == nullptr ? nullptr : arenas[i] + w * strides[i];
    workspace.scratch_ = scratch;
    workspace.data_ = data + w * tensors;
    workspace.index_ = index + w * tensors;
    workspace.lengths_ = lengths;
    for (std::size_t t = 0; t < tensors; ++t) {
      const Placement& at = prepared.tables_.placements[t];
      if (at.constant) {
        // Constants are never written; the table has one type for all.
        workspace.data_[t] = const_cast<std::byte*>(at.data);
      } else if (at.capacity == 0) {
        workspace.data_[t] = workspace.arena_[static_cast<std::size_t>(at.tier)] + at.offset;
      }
    }
  }
  return std::span<Workspace>(workspaces, count);
}

Result<Session> Session::make(const Prepared& prepared, Workspace& workspace,
                              std::span<std::byte> state) noexcept {
  if (state.size() < prepared.state_bytes()) {
    return Status(Code::out_of_memory)
           << "a session's state of " << state.size() << " bytes, expected " << prepared.state_bytes();
  }
  if (reinterpret_cast<std::uintptr_t>(state.data()) % 16 != 0)
    return Status(Code::invalid_argument) << "a session's state must start at a multiple of 16";
  Session session;
  session.prepared_ = &prepared;
  session.workspace_ = &workspace;
  session.state_ = state.data();
  session.reset();
  return session;
}

Result<Session> Session::make(const Prepared& prepared, Workspace& workspace, const Session& other) noexcept {
  if (!prepared.shares_states_with(*other.prepared_)) {
    return Status(Code::invalid_argument)
           << "blocks of " << prepared.block() << " and of " << other.prepared_->block()
           << " frames share no state: expected the same model, prepared with the same `least` and `most`";
  }
  Session session;
  session.prepared_ = &prepared;
  session.workspace_ = &workspace;
  session.state_ = other.state_;
  return session;
}

void Session::reset() noexcept {
  new (state_) Header();
  std::byte* const operator_state = state_ + prepared_->tables_.operator_state_offset;
  for (int i = 0; i < prepared_->tables_.step_count; ++i) {
    const BoundOperator* const bound = prepared_->tables_.steps[i].bound;
    if (bound != nullptr && bound->reset != nullptr) bound->reset(*bound, operator_state);
  }
}

// Makes the workspace's pointers those of this session and of the block that comes next; moves every ring on
// by one block, once per block. Histories go back to the start of their memory when it is used up.
void Session::begin() noexcept {
  Header& state = header();
  const bool moves = state.begun == 0;
  // Cursors follow from the number of the block.
  if (!moves && workspace_->placed_state_ == state_ && workspace_->placed_block_ == state.block) return;
  state.begun = 1;
  workspace_->placed_state_ = state_;
  workspace_->placed_block_ = state.block;
  const Prepared::RingMemory *ring = prepared_->tables_.rings, *const end =
                                                                   ring + prepared_->tables_.ring_count;
  std::byte** const data = workspace_->data_;
  for (std::int64_t* cursor = cursors(); ring != end; ++ring, ++cursor) {
    if (moves) *cursor = state.block == 0 ? first_position(*ring) : next_position(*ring, *cursor);
    data[ring->tensor] = state_ + ring->offset + static_cast<std::size_t>(*cursor) * ring->frame_bytes;
  }
}

// Frames before the recording hold the zero point, for readers that see them.
std::int64_t Session::first_position(const Prepared::RingMemory& at) const noexcept {
  if (at.fill) fill_frames(at.tensor, state_ + at.offset, at.ring.history);
  return at.ring.start();
}

std::int64_t Session::next_position(const Prepared::RingMemory& at, std::int64_t cursor) const noexcept {
  const std::int64_t before = prepared_->tables_.frames_in(at.ring.frames, header().further + 1);
  const streaming::Ring::Step step = at.ring.next(cursor, before);
  if (step.move_from >= 0) {
    std::byte* const memory = state_ + at.offset;
    std::memmove(memory, memory + static_cast<std::size_t>(step.move_from) * at.frame_bytes,
                 static_cast<std::size_t>(at.ring.history) * at.frame_bytes);
  }
  return step.cursor;
}

std::span<std::byte> Session::input(int position) noexcept {
  begin();
  const std::int32_t tensor = prepared_->tables_.inputs[static_cast<std::size_t>(position)];
  return {workspace_->data_[tensor], prepared_->tables_.placements[tensor].bytes};
}

void Session::fill_frames(int tensor, std::byte* first, std::int64_t frames) const noexcept {
  const Placement& at = prepared_->tables_.placements[tensor];
  const std::size_t bytes = static_cast<std::size_t>(frames) * at.frame_bytes;
  if (at.dtype == DType::int16 && at.zero_point != 0) {
    const auto value = static_cast<std::int16_t>(at.zero_point);
    for (std::size_t i = 0; i + 1 < bytes; i += 2) std::memcpy(first + i, &value, 2);
  } else {
    std::memset(first, at.dtype == DType::float32 ? 0 : at.zero_point & 0xFF, bytes);
  }
}

// Overwrites the frames of a tensor's block that are not data with its zero point.
void Session::gate(int tensor) noexcept {
  const Placement& at = prepared_->tables_.placements[tensor];
  const FrameIndex& index = workspace_->index_[tensor];
  const streaming::Range data = streaming::data_range(index.first, index.length, at.frames);
  std::byte* const block = workspace_->data_[tensor];
  if (data.from > 0) fill_frames(tensor, block, data.from);
  if (data.to < at.frames)
    fill_frames(tensor, block + static_cast<std::size_t>(data.to) * at.frame_bytes, at.frames - data.to);
}

void Session::set_index() noexcept {
  const Header& state = header();
  const PreparedTables& tables = prepared_->tables_;
  const bool whole = tables.mode == RunMode::whole;
  const bool ended = state.length != kEndless;
  if (ended && !whole)
    prepared_->lengths(state.length,
                       {workspace_->lengths_, static_cast<std::size_t>(prepared_->tables_.tensor_count)});
  for (int t = 0; t < prepared_->tables_.tensor_count; ++t) {
    const Placement& at = prepared_->tables_.placements[t];
    if (at.time_axis < 0) continue;
    workspace_->index_[t] = whole ? FrameIndex{0, at.frames}
                                  : FrameIndex{state.block * tables.frames_in(at.frames, 1) - at.delay,
                                               ended ? workspace_->lengths_[t] : kEndless};
  }
}

bool Session::start(std::int64_t valid) noexcept {
  const Prepared& prepared = *prepared_;
  Header& state = header();
  begin();
  const bool streamed = prepared.tables_.mode == RunMode::stream;
  if (streamed && valid < prepared.tables_.block && state.length == kEndless)
    state.length = state.block * prepared.tables_.frames_in(prepared.tables_.block, 1) +
                   std::max<std::int64_t>(valid, 0);
  const bool gating = streamed && (state.length != kEndless || state.block < prepared.tables_.warm_blocks);
  if (gating || prepared.tables_.indexed) set_index();
  if (gating) {
    for (const std::int32_t input : prepared.tables_.inputs) {
      if (prepared.tables_.placements[input].fill) gate(input);
    }
  }
  return gating;
}

RunContext Session::context() const noexcept {
  return {workspace_->data_, workspace_->index_, workspace_->scratch_,
          state_ + prepared_->tables_.operator_state_offset};
}

void Session::finish() noexcept {
  Header& state = header();
  state.block += prepared_->tables_.units;
  state.further = static_cast<std::uint32_t>(prepared_->tables_.units - 1);
  state.begun = 0;
}

void Session::run(std::int64_t valid) noexcept { run_steps(valid, Unobserved()); }
void Session::run(std::int64_t valid, StepObserver& observer) noexcept {
  run_steps(valid, [&](int index) noexcept { observer.done(index); });
}

template <class Done>
void Session::run_steps(std::int64_t valid, const Done& done) noexcept {
  const Prepared& prepared = *prepared_;
  const bool gating = start(valid);
  const RunContext all = context();
  for (int i = 0; i < prepared.tables_.step_count; ++i) {
    const Prepared::Step& step = prepared.tables_.steps[i];
    if (step.direct.run != nullptr) {
      const DirectCall& call = step.direct;
      call.run(call.self, all.data[call.x] - call.x_back,
               call.addend < 0 ? nullptr : all.data[call.addend] - call.addend_back, all.data[call.y]);
    } else if (step.parts > 1 && workspace_->workers_ != nullptr) {
      if constexpr (std::is_same_v<Done, Unobserved>) {
        run_parts(&step, all);
        i += step.chain - 1;
      } else {  // one step after the other, so that each can be looked at and timed
        Prepared::Step alone = step;
        alone.chain = 1;
        run_parts(&alone, all);
      }
    } else {
      step.bound->run(*step.bound, all);
    }
    if (gating) {
      for (int g = 0; g < step.gates; ++g) gate(prepared.tables_.gates[step.first_gate + g]);
    }
    done(i);
  }
  finish();
}

OutputFrames Session::output(int position) const noexcept {
  return frames(prepared_->tables_.outputs[static_cast<std::size_t>(position)]);
}

OutputFrames Session::frames(int tensor) const noexcept {
  const Placement& at = prepared_->tables_.placements[tensor];
  OutputFrames out;
  out.block = out.data = workspace_->data_[tensor];
  if (prepared_->tables_.mode == RunMode::whole || at.time_axis < 0) {
    out.count = at.frames;
    return out;
  }
  const Header& state = header();
  const PreparedTables& tables = prepared_->tables_;
  const std::int64_t start = (state.block - tables.units) * tables.frames_in(at.frames, 1) - at.delay;
  std::int64_t length = kEndless;
  if (state.length != kEndless) {
    prepared_->lengths(state.length,
                       {workspace_->lengths_, static_cast<std::size_t>(prepared_->tables_.tensor_count)});
    length = workspace_->lengths_[tensor];
  }
  const streaming::Range data = streaming::data_range(start, length, at.frames);
  out.data += static_cast<std::size_t>(data.from) * at.frame_bytes;
  out.offset = data.from;
  out.first = start + data.from;
  out.count = data.count();
  return out;
}

std::span<const std::byte> Session::tensor(int index) const noexcept {
  return {workspace_->data_[index], prepared_->tables_.placements[index].bytes};
}

std::int64_t Session::flush_calls_left() const noexcept {
  const Header& state = header();
  if (state.length == kEndless || prepared_->tables_.mode == RunMode::whole) return 0;
  const std::span<std::int64_t> lengths(workspace_->lengths_,
                                        static_cast<std::size_t>(prepared_->tables_.tensor_count));
  const std::int64_t units = prepared_->tables_.units;
  const std::int64_t left = prepared_->calls(state.length, lengths) * units - state.block;
  return left <= 0 ? 0 : units == 1 ? left : ceil_div(left, units);
}

std::size_t Session::saved_bytes() const noexcept { return sizeof(SavedHeader) + prepared_->state_bytes(); }

Status Session::save(std::span<std::byte> to) const noexcept {
  if (to.size() < saved_bytes())
    return Status(Code::out_of_memory)
           << "saving a session needs " << saved_bytes() << " bytes, given " << to.size();
  const std::span<const std::byte> state(state_, prepared_->state_bytes());
  SavedHeader head{{kMagic[0], kMagic[1], kMagic[2], kMagic[3]},
                   kStateVersion,
                   prepared_->fingerprint(),
                   crc32c(state),
                   state.size()};
  std::memcpy(to.data(), &head, sizeof(head));
  std::memcpy(to.data() + sizeof(head), state.data(), state.size());
  return {};
}

Status Session::restore(std::span<const std::byte> from) noexcept {
  if (from.size() < saved_bytes())
    return Status(Code::invalid_data)
           << "a saved session of " << from.size() << " bytes, expected " << saved_bytes();
  SavedHeader head;
  std::memcpy(&head, from.data(), sizeof(head));
  if (std::memcmp(head.magic, kMagic, sizeof(kMagic)) != 0 || head.version != kStateVersion) {
    return Status(Code::invalid_data) << "not a saved session of version " << kStateVersion;
  }
  if (head.fingerprint != prepared_->fingerprint() || head.bytes != prepared_->state_bytes()) {
    return Status(Code::mismatch) << "the saved session belongs to another model or block size";
  }
  const std::span<const std::byte> state = from.subspan(sizeof(head), prepared_->state_bytes());
  if (crc32c(state) != head.crc32c)
    return Status(Code::invalid_data) << "the saved session is damaged: its checksum does not match";
  // A checksum is no proof: what could lead outside the state is checked as well.
  Header counters;
  std::memcpy(&counters, state.data(), sizeof(counters));
  // Frames are counted in 64 bits per tensor: none of these counts may come near the end of them. A length is
  // known once a block was not full, so it lies within the blocks that were run.
  std::int64_t most_frames = prepared_->tables_.block;
  for (int t = 0; t < prepared_->tables_.tensor_count; ++t)
    most_frames = std::max(most_frames, prepared_->tables_.placements[t].frames);
  const std::int64_t most_blocks = (std::int64_t{1} << 60) / std::max<std::int64_t>(most_frames, 1);
  const bool within =
      counters.block >= 0 && counters.block <= most_blocks && counters.begun <= 1 && counters.length >= 0 &&
      (counters.length == kEndless ||
       counters.length <= counters.block * prepared_->tables_.frames_in(prepared_->tables_.block, 1)) &&
      counters.further <= static_cast<std::uint64_t>(std::max<std::int64_t>(counters.block - 1, 0));
  if (!within) return Status(Code::invalid_data) << "the saved session has impossible counters";
  for (int i = 0; i < prepared_->tables_.ring_count; ++i) {
    const Prepared::RingMemory& at = prepared_->tables_.rings[i];
    std::int64_t cursor = 0;
    std::memcpy(
        &cursor,
        state.data() + prepared_->tables_.cursors_offset + static_cast<std::size_t>(i) * sizeof(cursor),
        sizeof(cursor));
    const bool used = counters.block > 0 || counters.begun != 0;
    // Of the last block, of whatever size, or the next one's.
    const std::int64_t frames = counters.begun != 0 ? at.ring.frames
                                                    : prepared_->tables_.frames_in(
                                                          at.ring.frames, std::int64_t{counters.further} + 1);
    if (used && (!at.ring.valid(cursor) || frames > at.ring.capacity - cursor)) {
      return Status(Code::invalid_data) << "the saved session has a history outside its memory";
    }
  }
  std::memcpy(state_, state.data(), state.size());
  workspace_->placed_state_ = nullptr;
  return {};
}

}  // namespace runnel
