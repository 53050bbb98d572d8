// Sessions stepped together give the bits that each gives alone.
#include "inference/session_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "inference/host/engine.h"
#include "tests/inference/random_graph.h"

namespace runnel {
namespace {

using Bytes = std::vector<std::byte>;

// One stream: its recording, and what it has brought so far.
struct Stream {
  Bytes x;
  std::int64_t frames = 0, at = 0;
  std::vector<Bytes> y;

  Stream(const Prepared& prepared, std::mt19937& random) {
    frames = static_cast<std::int64_t>(random() % 90);
    x.resize(static_cast<std::size_t>(frames) * prepared.placement(prepared.model().inputs()[0]).frame_bytes);
    for (std::byte& b : x) b = static_cast<std::byte>(random());
    y.resize(prepared.model().outputs().size());
  }
  // Puts the next block in; says how many frames of it are data.
  std::int64_t put(Session& session) {
    const std::size_t frame =
        session.prepared().placement(session.prepared().model().inputs()[0]).frame_bytes;
    const std::int64_t valid = std::min(session.prepared().block(), frames - at);
    if (valid > 0)
      std::memcpy(session.input(0).data(), x.data() + static_cast<std::size_t>(at) * frame,
                  static_cast<std::size_t>(valid) * frame);
    at += std::max<std::int64_t>(valid, 0);
    return std::max<std::int64_t>(valid, 0);
  }
  void get(const Session& session) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      const OutputFrames out = session.output(static_cast<int>(i));
      y[i].insert(
          y[i].end(), out.data,
          out.data + static_cast<std::size_t>(out.count) *
                         session.prepared().placement(session.prepared().model().outputs()[i]).frame_bytes);
    }
  }
};

// Everything of one stream, alone.
std::vector<Bytes> alone(const std::shared_ptr<const Engine>& engine, Stream stream) {
  const auto runner = Runner::make(engine);
  EXPECT_TRUE(runner.ok()) << runner.status().text();
  Session& session = (*runner)->session();
  bool ended = false;
  while (!ended || session.flush_calls_left() > 0) {
    const std::int64_t valid = stream.put(session);
    ended = valid < session.prepared().block();
    session.run(valid);
    stream.get(session);
  }
  return stream.y;
}

void expect_equal(const std::shared_ptr<const OwnedModel>& model, std::int64_t blocks, std::uint32_t seed) {
  std::mt19937 random(seed);
  PrepareOptions options;
  options.frames = model->model().plan()->block_multiple() * blocks;
  const auto engine = Engine::make(model, options);
  ASSERT_TRUE(engine.ok()) << engine.status().text();
  const Prepared& prepared = (*engine)->prepared();
  const std::size_t count = 1 + random() % 40;
  HeapMemory memory;
  auto group = SessionGroup::make(prepared, count, memory);
  ASSERT_TRUE(group.ok()) << group.status().text();
  // Streams come and go, each in the session that is free next, and now and then one has nothing to give.
  struct Slot {
    std::optional<Stream> stream;
    std::vector<Bytes> expected;
    bool ended = false;
  };
  std::vector<Slot> slots(count);
  int left = 60;
  std::vector<SessionGroup::Turn> turns;
  for (bool busy = true; busy;) {
    turns.clear();
    for (std::size_t i = 0; i < count; ++i) {
      Slot& slot = slots[i];
      if (!slot.stream && left > 0 && random() % 3 == 0) {
        slot.stream.emplace(prepared, random);
        slot.expected = alone(*engine, *slot.stream);
        slot.ended = false;
        group->session(i).reset();
        --left;
      }
      if (!slot.stream || random() % 4 == 0) continue;
      const std::int64_t valid = slot.stream->put(group->session(i));
      slot.ended = slot.ended || valid < prepared.block();
      turns.push_back({static_cast<std::uint32_t>(i), valid});
    }
    std::shuffle(turns.begin(), turns.end(), random);
    group->run(turns);
    for (const SessionGroup::Turn& turn : turns) {
      Slot& slot = slots[turn.session];
      slot.stream->get(group->session(turn.session));
      if (!slot.ended || group->session(turn.session).flush_calls_left() > 0) continue;
      ASSERT_EQ(slot.stream->y, slot.expected)
          << "session " << turn.session << " of " << count << ", blocks of " << prepared.block();
      slot.stream.reset();
    }
    busy = left > 0 ||
           std::any_of(slots.begin(), slots.end(), [](const Slot& slot) { return slot.stream.has_value(); });
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
    expect_equal(*model, 1 + seed % 3, seed);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(SessionGroup, RandomInt8GraphsEqualSingleSessions) { random_graphs(700001, 60, DType::int8); }
TEST(SessionGroup, RandomInt16GraphsEqualSingleSessions) { random_graphs(800001, 15, DType::int16); }

// Layers as wide as vectors, with a sum that is computed along: the kernels for rows.
TEST(SessionGroup, WideResidualGraphsEqualSingleSessions) {
  for (const int channels : {16, 64, 65, 128}) {
    test::GraphBuilder builder(static_cast<std::uint32_t>(channels));
    auto x = builder.input({1, 50, 40});
    x = builder.conv(x, channels, {.kernel = 5, .left = 4}, 1, true);
    for (const int dilation : {1, 3}) {
      auto y = builder.conv(x, channels, {.kernel = 3, .dilation = dilation, .left = 2 * dilation}, channels,
                            true);
      y = builder.conv(y, channels, {});
      x = builder.binary(OpCode::add, x, y, Arithmetic::espdl, true);
    }
    builder.output(builder.conv(x, 12, {}));
    const auto model = builder.build();
    ASSERT_TRUE(model.ok()) << model.status().text();
    for (const int blocks : {1, 4})
      expect_equal(*model, blocks, static_cast<std::uint32_t>(channels + blocks));
  }
}

TEST(SessionGroup, TooManySessionsAreAnError) {
  test::GraphBuilder builder(1);
  builder.output(builder.conv(builder.input({1, 50, 40}), 8, {.kernel = 5, .left = 4}));
  const auto model = builder.build();
  ASSERT_TRUE(model.ok());
  const auto engine = Engine::make(*model, {});
  ASSERT_TRUE(engine.ok());
  std::vector<std::byte> bytes(1 << 16);
  FixedMemory small(bytes);
  EXPECT_EQ(SessionGroup::make((*engine)->prepared(), 1000, small).status().code(), Code::out_of_memory);
  HeapMemory memory;
  EXPECT_FALSE(SessionGroup::make((*engine)->prepared(), static_cast<std::size_t>(-1) / 8, memory).ok());
}

}  // namespace
}  // namespace runnel
