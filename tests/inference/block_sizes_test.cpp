// One stream in blocks of several sizes over one state: the bits of blocks of one size, whatever the order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "base/host/heap_memory.h"
#include "inference/host/engine.h"
#include "inference/session_group.h"
#include "tests/inference/random_graph.h"

namespace runnel {
namespace {

using Bytes = std::vector<std::byte>;

// The output of a recording, block by block, in sessions over one state: the first has the smallest blocks.
class Recording {
 public:
  Recording(const Prepared& prepared, std::mt19937& random, std::int64_t frames)
      : frame_bytes_(prepared.placement(prepared.model().inputs()[0]).frame_bytes), frames_(frames) {
    x_.resize(static_cast<std::size_t>(frames) * frame_bytes_);
    if (prepared.placement(prepared.model().inputs()[0]).dtype == DType::float32) {
      for (std::size_t i = 0; i + 3 < x_.size(); i += 4) {
        const float value = static_cast<float>(random() % 2001) / 1000 - 1;
        std::memcpy(x_.data() + i, &value, 4);
      }
    } else {
      for (std::byte& b : x_) b = static_cast<std::byte>(random());
    }
  }
  // `choose` returns which session takes the next block: one whose block fits.
  template <class Choose>
  Bytes run(std::span<Session* const> sessions, const Choose& choose) const {
    Bytes y;
    std::int64_t at = 0;
    bool ended = false;
    while (!ended || sessions[0]->flush_calls_left() > 0) {
      Session& session = ended ? *sessions[0] : *choose(frames_ - at);
      const std::int64_t valid = std::min(session.prepared().block(), frames_ - at);
      if (valid > 0)
        std::memcpy(session.input(0).data(), x_.data() + static_cast<std::size_t>(at) * frame_bytes_,
                    static_cast<std::size_t>(valid) * frame_bytes_);
      ended = ended || valid < session.prepared().block();
      session.run(valid);
      at += valid;
      const OutputFrames out = session.output(0);
      const std::size_t bytes =
          session.prepared().placement(session.prepared().model().outputs()[0]).frame_bytes;
      y.insert(y.end(), out.data, out.data + static_cast<std::size_t>(out.count) * bytes);
    }
    return y;
  }

 private:
  std::size_t frame_bytes_;
  std::int64_t frames_;
  Bytes x_;
};

const Prepared* prepare(const Model& model, std::int64_t frames, std::int64_t least, std::int64_t most,
                        HeapMemory& memory, bool slack) {
  PrepareOptions options;
  options.frames = frames;
  options.least = least;
  options.most = most;
  options.slack = slack;
  const auto prepared = Prepared::make(model, all_operators(), options, memory);
  EXPECT_TRUE(prepared.ok()) << prepared.status().text();
  return prepared.ok() ? *prepared : nullptr;
}

void expect_equal(const Model& model, std::uint32_t seed, bool slack = true) {
  std::mt19937 random(seed);
  const std::int64_t multiple = model.plan()->block_multiple(), least = multiple * (1 + seed % 2);
  HeapMemory memory;
  const Prepared* const alone = prepare(model, least, 0, 0, memory, slack);
  std::vector<const Prepared*> sizes;
  for (const std::int64_t times : {1, 2, 8})
    sizes.push_back(prepare(model, least * times, least, least * 8, memory, slack));
  ASSERT_TRUE(alone != nullptr && std::count(sizes.begin(), sizes.end(), nullptr) == 0);
  const auto session_of = [&](const Prepared& prepared, const Session* states) {
    Workspace* const workspace = Workspace::make(prepared, memory).value();
    if (states != nullptr) return Session::make(prepared, *workspace, *states).value();
    auto* const state = static_cast<std::byte*>(memory.allocate(prepared.state_bytes(), 64));
    return Session::make(prepared, *workspace, {state, prepared.state_bytes()}).value();
  };
  Session single = session_of(*alone, nullptr);
  std::vector<Session> sessions = {session_of(*sizes[0], nullptr)};
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    ASSERT_TRUE(sizes[0]->shares_states_with(*sizes[i]));
    sessions.push_back(session_of(*sizes[i], &sessions[0]));
  }
  EXPECT_FALSE(alone->shares_states_with(*sizes[2])) << "its histories have no room for the largest blocks";
  Session* all[3] = {&sessions[0], &sessions[1], &sessions[2]};
  Session* only[1] = {&single};
  for (int recording = 0; recording < 3; ++recording) {
    const Recording sound(*alone, random, static_cast<std::int64_t>(random() % 150));
    const Bytes expected = sound.run(only, [&](std::int64_t) { return only[0]; });
    const Bytes mixed = sound.run(all, [&](std::int64_t left) {
      std::size_t size = random() % 3;
      while (size > 0 && all[size]->prepared().block() > left) --size;
      return all[size];
    });
    ASSERT_EQ(mixed, expected) << "recording " << recording << ", smallest blocks of " << least;
    single.reset();
    all[random() % 3]->reset();
  }
}

void random_graphs(std::uint32_t first, int graphs, DType dtype) {
  int done = 0;
  for (std::uint32_t seed = first; done < graphs; ++seed) {
    test::RandomGraph random(seed, dtype);
    if (!random.legal()) continue;
    std::vector<std::string> refusals;
    const auto model = random.builder().build(&refusals);
    ASSERT_TRUE(model.ok()) << model.status().text();
    if (!refusals.empty()) continue;
    ++done;
    SCOPED_TRACE("seed " + std::to_string(seed) + ":" + random.story());
    expect_equal((*model)->model(), seed, seed % 5 != 0);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(BlockSizes, RandomInt8GraphsGiveTheSameInAnyOrder) { random_graphs(910001, 80, DType::int8); }
TEST(BlockSizes, RandomInt16GraphsGiveTheSameInAnyOrder) { random_graphs(920001, 20, DType::int16); }

TEST(BlockSizes, GroupsOfTwoSizesShareStates) {
  test::GraphBuilder builder(5);
  auto x = builder.conv(builder.input({1, 50, 40}), 16, {.kernel = 5, .left = 4}, 1, true);
  x = builder.conv(x, 16, {.kernel = 3, .dilation = 3, .left = 6}, 16, true);
  builder.output(builder.conv(x, 12, {}));
  const auto model = builder.build();
  ASSERT_TRUE(model.ok()) << model.status().text();
  HeapMemory memory;
  const Prepared* const alone = prepare((*model)->model(), 1, 0, 0, memory, true);
  const Prepared* const small = prepare((*model)->model(), 1, 1, 8, memory, true);
  const Prepared* const large = prepare((*model)->model(), 8, 1, 8, memory, true);
  constexpr std::size_t kSessions = 40, kSeats = 16;
  auto singles = SessionGroup::make(*alone, kSessions, memory);
  auto one = SessionGroup::make(*small, kSessions, kSeats, memory);
  ASSERT_TRUE(singles.ok() && one.ok());
  auto eight = SessionGroup::make(*large, kSessions, kSeats, memory, &*one);
  ASSERT_TRUE(eight.ok()) << eight.status().text();
  EXPECT_FALSE(SessionGroup::make(*large, kSessions, kSeats, memory, &*singles).ok());
  EXPECT_FALSE(SessionGroup::make(*large, kSessions + 1, kSeats, memory, &*one).ok());
  EXPECT_FALSE(SessionGroup::make(*small, kSessions, 0, memory).ok());
  std::mt19937 random(6);
  for (int round = 0; round < 60; ++round) {
    const bool is_large = random() % 2 != 0;
    SessionGroup& group = is_large ? *eight : *one;
    std::vector<std::uint32_t> who(kSessions);
    for (std::uint32_t i = 0; i < kSessions; ++i) who[i] = i;
    std::shuffle(who.begin(), who.end(), random);
    who.resize(1 + random() % kSeats);
    std::vector<SessionGroup::Turn> turns;
    std::vector<Bytes> expected;
    for (const std::uint32_t index : who) {
      Session& session = group.sit(index, turns.size());
      const std::span<std::byte> input = session.input(0);
      for (std::byte& value : input) value = static_cast<std::byte>(random());
      turns.push_back({index, group.session(index).prepared().block()});
      Bytes rows;
      const std::size_t frame = input.size() / static_cast<std::size_t>(turns.back().valid);
      for (std::int64_t f = 0; f < turns.back().valid; ++f) {
        Session& single = singles->session(index);
        std::copy_n(input.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(f) * frame), frame,
                    single.input(0).begin());
        single.run(1);
        const OutputFrames out = single.output(0);
        rows.insert(rows.end(), out.data, out.data + 12 * out.count);
      }
      expected.push_back(rows);
    }
    group.run(turns);
    for (std::size_t i = 0; i < who.size(); ++i) {
      const OutputFrames out = group.session(who[i]).output(0);
      EXPECT_EQ(Bytes(out.data, out.data + 12 * out.count), expected[i]) << "round " << round;
    }
  }
}

TEST(BlockSizes, SizesThatDoNotDivideEachOtherAreRefused) {
  test::GraphBuilder builder(1);
  builder.output(builder.conv(builder.input({1, 50, 40}), 8, {.kernel = 5, .left = 4}));
  const auto model = builder.build();
  ASSERT_TRUE(model.ok());
  HeapMemory memory;
  struct Sizes {
    std::int64_t frames, least, most;
  };
  for (const Sizes sizes : {Sizes{4, 3, 8}, {4, 8, 8}, {4, 2, 6}, {4, 2, 2}, {4, -1, 8}, {4, 2, -8}}) {
    PrepareOptions options;
    options.frames = sizes.frames;
    options.least = sizes.least;
    options.most = sizes.most;
    const auto prepared = Prepared::make((*model)->model(), all_operators(), options, memory);
    ASSERT_FALSE(prepared.ok()) << sizes.least << ' ' << sizes.most;
    EXPECT_EQ(prepared.status().code(), Code::invalid_argument) << prepared.status().text();
  }
}

// A state saved between blocks of other sizes goes on where it was; one that says what cannot be is refused.
TEST(BlockSizes, SavedStatesKeepTheSizeOfTheLastBlock) {
  test::GraphBuilder builder(2);
  builder.output(builder.conv(builder.input({1, 50, 4}), 8, {.kernel = 5, .left = 4}));
  const auto model = builder.build();
  ASSERT_TRUE(model.ok());
  HeapMemory memory;
  const Prepared* const small = prepare((*model)->model(), 1, 1, 8, memory, true);
  const Prepared* const large = prepare((*model)->model(), 8, 1, 8, memory, true);
  auto* const state = static_cast<std::byte*>(memory.allocate(small->state_bytes(), 64));
  Session one =
      Session::make(*small, *Workspace::make(*small, memory).value(), {state, small->state_bytes()}).value();
  Session eight = Session::make(*large, *Workspace::make(*large, memory).value(), one).value();
  const auto run = [](Session& session, int value) {
    for (std::byte& b : session.input(0)) b = static_cast<std::byte>(value);
    session.run(session.prepared().block());
    const OutputFrames out = session.output(0);
    return Bytes(out.data, out.data + 8 * out.count);
  };
  run(one, 3);
  run(eight, 5);
  Bytes saved(one.saved_bytes());
  ASSERT_TRUE(one.save(saved).ok());
  const Bytes expected = run(one, 7);
  run(eight, 9);
  ASSERT_TRUE(one.restore(saved).ok());
  EXPECT_EQ(run(one, 7), expected);
}

}  // namespace
}  // namespace runnel
