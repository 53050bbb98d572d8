// Payloads, decoding and judging: every possible fault, by name.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>

#include "npu/decoder.h"
#include "npu/host/disassemble.h"
#include "npu/host/simulator/simulator.h"
#include "npu/host/weights.h"
#include "npu/validate.h"
#include "tests/npu/stream_maker.h"

namespace runnel::test {
namespace {

using npu::Long;
using npu::OpCode;
using npu::Short;
using Words = std::vector<std::uint32_t>;

std::vector<std::byte> bytes_of(const Words& words) {
  std::vector<std::byte> bytes(4 * words.size());
  if (!words.empty()) std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}
constexpr std::uint32_t kCop1 = 0x31504f43, kU55 = 0x1807;

std::string payload_refusal(const Words& words) {
  const auto read = npu::read_payload(bytes_of(words));
  EXPECT_FALSE(read.ok()) << "taken";
  return read.ok() ? "" : std::string(read.status().text());
}

TEST(Payload, IsRead) {
  const auto bytes = bytes_of({kCop1, 1, kU55, 7, 5, 5, 2 | 1u << 16, 0xffff0000});
  const auto payload = npu::read_payload(bytes);
  ASSERT_TRUE(payload.ok()) << payload.status().text();
  EXPECT_EQ(payload->config, kU55);
  EXPECT_EQ(payload->id, 7u);
  EXPECT_EQ(payload->first_command, 7u);
  ASSERT_EQ(payload->commands.size(), 1u);
  EXPECT_EQ(payload->commands[0], 0xffff0000u);
}
TEST(Payload, LengthHasAHighPart) {
  Words words{kCop1, 1, kU55, 7, 2 | 1u << 8 | 2u << 16};
  words.resize(words.size() + 65538, 5);
  const auto bytes = bytes_of(words);
  const auto payload = npu::read_payload(bytes);
  ASSERT_TRUE(payload.ok()) << payload.status().text();
  EXPECT_EQ(payload->commands.size(), 65538u);
}
TEST(Payload, IsRefused) {
  EXPECT_EQ(payload_refusal({}), "payload: 0 bytes, expected words of 4 bytes");
  EXPECT_EQ(payload_refusal({0x31504f44}), "payload, word 0: 827346756, expected COP1 or COP2");
  EXPECT_EQ(payload_refusal({kCop1}), "payload: no configuration");
  EXPECT_EQ(payload_refusal({kCop1, 1, kU55, 7}), "payload: no command stream");
  EXPECT_EQ(payload_refusal({kCop1, 1, kU55}),
            "payload, word 1: 1 words left, expected 2 for the configuration");
  EXPECT_EQ(payload_refusal({kCop1, 2 | 2u << 16, 0}),
            "payload, word 1: a command stream of 2 words, but 1 are left");
  EXPECT_EQ(payload_refusal({kCop1, 9}),
            "payload, word 1: action 9, expected 1 (configuration), 2 (command stream) or 5 (nothing)");
  EXPECT_EQ(payload_refusal({kCop1, 1, kU55, 7, 1, kU55, 7}), "payload, word 4: a second configuration");
  EXPECT_EQ(payload_refusal({kCop1, 2, 2}), "payload, word 2: a second command stream");
}

// A head, an entry with its length, metadata with their length and filler, two words of commands.
const Words kSecondKind{0x32504f43, 1,          56,         0, 1, 48, 36,         0x4d554556, 1,
                        20,         0x20000118, 0x20007000, 2, 0, 0,  0xffffffff, 0x00000001, 0xffff0000};
TEST(Payload, SecondKindIsRead) {
  const auto bytes = bytes_of(kSecondKind);
  const auto payload = npu::read_payload(bytes);
  ASSERT_TRUE(payload.ok()) << payload.status().text();
  EXPECT_EQ(payload->config, 0x20000118u);
  EXPECT_EQ(payload->id, 0x20007000u);
  EXPECT_EQ(payload->first_command, 16u);
  ASSERT_EQ(payload->commands.size(), 2u);
  EXPECT_EQ(payload->commands[1], 0xffff0000u);
}
TEST(Payload, SecondKindIsRefused) {
  const auto changed = [](std::size_t word, std::uint32_t value) {
    Words words = kSecondKind;
    words[word] = value;
    return payload_refusal(words);
  };
  EXPECT_EQ(payload_refusal({0x32504f43}), "payload: 4 bytes, expected at least 60");
  EXPECT_EQ(changed(1, 0x10002), "payload, word 1: COP2 of version 2.1, expected 1.0");
  EXPECT_EQ(changed(2, 57), "payload, word 2: 57 bytes follow, expected 56");
  EXPECT_NE(changed(3, 1).find("payload, word 2: "), std::string::npos);
  EXPECT_EQ(changed(4, 2), "payload, word 4: an entry of type 2, expected 1");
  EXPECT_EQ(changed(5, 44), "payload, word 5: an entry of 44 bytes, expected 48");
  EXPECT_EQ(changed(6, 0xfffffffc),
            "payload, word 6: metadata of 4294967292 bytes, expected a multiple of 4 from 32 to 44");
  EXPECT_EQ(changed(7, 1), "payload, word 7: 1, expected VEUM");
  EXPECT_EQ(changed(8, 2), "payload, word 8: metadata of another version than 1.0");
  for (std::size_t size = 0; size < kSecondKind.size(); ++size)
    EXPECT_NE(
        payload_refusal(Words(kSecondKind.begin(), kSecondKind.begin() + static_cast<std::ptrdiff_t>(size))),
        "");
}

TEST(Accelerators, AreFoundByWordAndName) {
  for (const auto& [config, name] : {std::pair{0x1005u, "ethos-u55-32"},
                                     {0x1006u, "ethos-u55-64"},
                                     {0x1807u, "ethos-u55-128"},
                                     {0x3008u, "ethos-u55-256"},
                                     {0x10003008u, "ethos-u65-256"},
                                     {0x10006009u, "ethos-u65-512"},
                                     {0x20000117u, "ethos-u85-128"},
                                     {0x20000118u, "ethos-u85-256"},
                                     {0x20001119u, "ethos-u85-512"},
                                     {0x2000251au, "ethos-u85-1024"},
                                     {0x2000261bu, "ethos-u85-2048"}}) {
    const auto found = npu::find_accelerator(config);
    ASSERT_TRUE(found.ok()) << found.status().text();
    EXPECT_EQ((*found)->name, name);
    EXPECT_EQ(*npu::find_accelerator(std::string_view(name)), *found);
  }
  EXPECT_EQ(npu::find_accelerator(0x1808u).status().code(), Code::unsupported);
  EXPECT_EQ(npu::find_accelerator(0x20001118u).status().text(),
            "configuration word 536875288: ethos-u85-256 with 2 weight decoders, expected 1");
  EXPECT_NE(
      npu::find_accelerator(std::string_view("ethos-u99")).status().text().find("known are ethos-u55-32, "),
      std::string::npos);
}

// ---- decoding

std::string decode_all(const Words& words, std::uint32_t config = kU55) {
  const auto bytes = bytes_of(words);
  npu::Decoder decoder(npu::Words(bytes), **npu::find_accelerator(config));
  for (npu::Operation op;;) {
    const auto more = decoder.next(op);
    if (!more.ok()) return std::string(more.status().text());
    if (!*more) return "";
  }
}

TEST(Decoder, RefusesWhatItCannotRead) {
  EXPECT_EQ(decode_all({0xffff0000}), "");
  EXPECT_EQ(decode_all({}), "command stream, word 0: the end without STOP");
  EXPECT_EQ(decode_all({0x0000012f}), "command stream, word 1: the end without STOP");
  EXPECT_EQ(decode_all({0xffff0000, 5}), "command stream, word 0: STOP, and 1 words after it");
  EXPECT_EQ(decode_all({0x00000004}), "command stream, word 0: command 4 is not known");
  EXPECT_EQ(decode_all({0x00004007, 0}), "command stream, word 0: command 7 of two words is not known");
  EXPECT_EQ(decode_all({0x00004020}), "command stream, word 0: WEIGHT_BASE without its second word");
  EXPECT_EQ(decode_all({0x00008000}), "command stream, word 0: command 32768 is not known");
  EXPECT_EQ(decode_all({0x00000002}),
            "command stream, word 0: operation 0, CONV: reads OFM_PRECISION, which was never set");
  EXPECT_EQ(decode_all({0x00000134, 0xffff0000}), "command stream, word 0: command 308 is not known");
  EXPECT_EQ(decode_all({0x00000134, 0xffff0000}, 0x20000118), "");  // U85 has that register
}

// A valid pooling of 4 x 4 x 16, which the tests below change.
StreamMaker in_order(const std::function<void(StreamMaker&)>& change = {}, std::uint32_t config = kU55) {
  StreamMaker maker(config);
  maker.ifm({4, 4, 16, 1, true, true, 0, 0}).ofm({4, 4, 16, 1, true, true, 0, 512}).kernel({});
  if (change) change(maker);
  return maker.op(OpCode::pool, 0);
}
std::string decode_refusal(const std::function<void(StreamMaker&)>& change) {
  return decode_all(in_order(change).words());
}

TEST(Decoder, RefusesValuesThatMeanNothing) {
  EXPECT_EQ(decode_refusal({}), "");
  const auto refused = [](const std::function<void(StreamMaker&)>& change, const char* why) {
    EXPECT_NE(decode_refusal(change).find(why), std::string::npos) << decode_refusal(change);
  };
  refused([](auto& m) { m.set(Short::ifm_precision, 0x81); }, "format 2, expected 0 or 1");
  refused([](auto& m) { m.set(Short::ifm_precision, 0x0d); }, "elements of 64 bits");
  refused([](auto& m) { m.set(Short::ofm_precision, 0xc041); }, "rounding 3, expected 0 to 2");
  refused([](auto& m) { m.set(Short::ifm_upscale, 3); }, "upscaling 3, expected 0 to 2");
  refused([](auto& m) { m.set(Short::activation, 5); }, "activation 5, expected 0, 3, 4 or 16 to 23");
  refused([](auto& m) { m.set(Short::activation, 1 << 12); }, "clip range 1, expected 0, 2, 3 or 5");
  refused([](auto& m) { m.set(Short::ifm_pad_top, 100); }, "IFM of -96 x 4 x 16, expected 1 to 65536 each");
  refused([](auto& m) { m.set(Short::ifm_depth_m1, 7); },
          "IFM of 8 channels, expected at least those of the OFM, 16");
  refused([](auto& m) { m.op(OpCode::pool, 3); }, "pooling 3, expected 0 to 2");
  refused([](auto& m) { m.op(OpCode::elementwise, 10); }, "element-wise operation 10, expected 0 to 9");
  // A tile that is reached needs its base.
  refused([](auto& m) { m.set(Short::ifm_height0_m1, 1); }, "reads IFM_BASE2, which was never set");
}

TEST(Decoder, ListsOperations) {
  const auto bytes = bytes_of(in_order().words());
  npu::Decoder decoder(npu::Words(bytes), **npu::find_accelerator(kU55));
  npu::Operation op;
  ASSERT_TRUE(*decoder.next(op));
  EXPECT_NE(npu::to_text(op).find("MAX_POOL      ifm 4x4x16 int8 nhcwb16 r1+0x0 stride 64,64  ofm 4x4x16 "
                                  "int8 nhcwb16 r1+0x200 stride 64,64  kernel 1x1 stride 1x1"),
            std::string::npos)
      << npu::to_text(op);
  EXPECT_NE(
      npu::to_json(op).find(
          R"("operation":"MAX_POOL","ifm":{"shape":[4,4,16],"type":"int8","layout":"nhcwb16","region":1)"),
      std::string::npos)
      << npu::to_json(op);
  ASSERT_TRUE(*decoder.next(op));
  EXPECT_EQ(op.kind, npu::OperationKind::stop);
  EXPECT_FALSE(*decoder.next(op));
}

// ---- judging

class Rules final : public npu::ViolationSink {
 public:
  void report(const npu::Operation&, std::string_view rule, std::string_view what) noexcept override {
    rules.insert(std::string(rule));
    text += std::string(what) + "\n";
  }
  std::set<std::string> rules;
  std::string text;
};
std::set<std::string> rules_broken(const std::function<void(StreamMaker&)>& change,
                                   std::uint32_t config = kU55, std::uint64_t work = 1u << 20) {
  Rules rules;
  const std::uint64_t regions[] = {1024, 1024, 0};
  npu::ValidatorLimits limits;
  limits.regions = regions;
  limits.work = work;
  const npu::Accelerator& accelerator = **npu::find_accelerator(config);
  npu::Validator validator(accelerator, limits, rules);
  const auto bytes = bytes_of(in_order(change, config).words());
  npu::Decoder decoder(npu::Words(bytes), accelerator);
  for (npu::Operation op;;) {
    const auto more = decoder.next(op);
    EXPECT_TRUE(more.ok()) << more.status().text();
    if (!more.ok() || !*more) break;
    validator.check(op);
  }
  return rules.rules;
}
using Set = std::set<std::string>;

TEST(Validator, NamesTheRule) {
  EXPECT_EQ(rules_broken({}), Set{});
  EXPECT_EQ(rules_broken([](auto& m) { m.set(Long::ifm_base0, 8); }), Set{"alignment"});
  EXPECT_EQ(rules_broken([](auto& m) { m.set(Long::ifm_stride_y, 72); }), Set{"alignment"});
  EXPECT_EQ(rules_broken([](auto& m) { m.set(Long::ofm_base0, 784); }), Set{"region"});
  EXPECT_EQ(rules_broken([](auto& m) { m.set(Long::ofm_stride_y, -256); }), Set{"region"});
  EXPECT_EQ(rules_broken([](auto& m) { m.set(Short::ofm_region, 3); }), Set{"region"});
  EXPECT_EQ(rules_broken([](auto& m) { m.set(Long::ifm_base0, std::int64_t{1} << 33); }),
            (Set{"address", "region"}));
  EXPECT_EQ(rules_broken([](auto& m) { m.set(Long::ifm_base0, std::int64_t{1} << 33); }, 0x10003008),
            (Set{"region", "shram"}));  // banks are those of U55-128
  EXPECT_EQ(rules_broken([](auto& m) { m.set(Short::ofm_block_width_m1, 2); }), Set{"block"});
  EXPECT_EQ(rules_broken([](auto& m) { m.set(Short::ofm_block_depth_m1, 135); }), Set{"block"});
  EXPECT_EQ(rules_broken([](auto& m) { m.set(Short::block_dependency, 4); }), Set{"block"});
  EXPECT_EQ(rules_broken([](auto& m) { m.set(Short::ifm_ib_end, 3); }), Set{"shram"});
  EXPECT_EQ(rules_broken([](auto& m) { m.set(Short::ab_start, 4); }), Set{"shram"});
  EXPECT_EQ(rules_broken([](auto& m) { m.set(Short::ab_start, 20); }), Set{"shram"});
  EXPECT_EQ(rules_broken([](auto& m) { m.op(OpCode::kernel_wait, 3); }), Set{"wait"});
  EXPECT_EQ(rules_broken([](auto& m) { m.op(OpCode::dma_wait, 2); }), Set{"wait"});
  EXPECT_EQ(rules_broken({}, kU55, 100), Set{"work"});
}

// ---- weights

TEST(Weights, PlainStreamsComeBack) {
  for (const std::size_t count : {1u, 7u, 8u, 9u, 1000u, 40000u}) {
    std::vector<std::int16_t> weights(count);
    for (std::size_t i = 0; i < count; ++i)
      weights[i] = static_cast<std::int16_t>(static_cast<int>(i * 37 % 511) - 255);
    const auto decoded = npu::decode_weights(plain_weights(weights), count);
    ASSERT_TRUE(decoded.ok()) << decoded.status().text();
    EXPECT_EQ(*decoded, weights);
    EXPECT_FALSE(npu::decode_weights(plain_weights(weights), count - 1).ok());
  }
}

// Bits in the order of writing, least significant first.
std::vector<std::byte> bits(const std::vector<std::pair<unsigned, int>>& fields) {
  std::vector<std::byte> out;
  std::size_t bit = 0;
  for (const auto& [value, count] : fields) {
    for (int i = 0; i < count; ++i, ++bit) {
      if (bit % 8 == 0) out.push_back(std::byte{0});
      if ((value >> i & 1) != 0) out.back() |= std::byte{1} << bit % 8;
    }
  }
  return out;
}

// Three weights in one chunk, a palette of two (codes 2 and 5: +1 and -2), the third one direct, with divisor
// 1; runs of zeros of divisor 0.
TEST(Weights, PaletteAndZeroRuns) {
  const auto stream = bits({{0, 3},
                            {2, 15},
                            {1, 3},
                            {0, 1},
                            {1, 1},  // ZDIV 0, 3 weights, WDIV 1, a new palette
                            {4, 5},
                            {1, 5},
                            {1, 3},
                            {2, 3},
                            {5, 3},       // direct values from 4 on, 2 entries of 3 bits
                            {0b100, 12},  // of the indices 0, 1, 3 only the last has a quotient
                            // Runs 1, 0, 2, 0: 10 0 110 0, filled up.
                            {0b0011001, 7},
                            {0, 5},
                            {0, 1},  // the third quotient ends at 1
                            {0, 1},
                            {1, 1},
                            {1, 1},  // remainders 0, 1, 1
                            {7, 3}});
  const auto decoded = npu::decode_weights(stream, 100);
  ASSERT_TRUE(decoded.ok()) << decoded.status().text();
  // Index 3 is direct: 3 - 2 + 4 = code 5, which is -2.
  EXPECT_EQ(*decoded, (std::vector<std::int16_t>{0, 1, -2, 0, 0, -2}));
}

TEST(Weights, AreRefused) {
  const auto refusal = [](const std::vector<std::byte>& stream) {
    const auto decoded = npu::decode_weights(stream, 100);
    EXPECT_FALSE(decoded.ok()) << "taken";
    return decoded.ok() ? "" : std::string(decoded.status().text());
  };
  EXPECT_NE(refusal({}).find("a first slice without palette"), std::string::npos);
  EXPECT_NE(refusal(bits({{6, 3}, {2, 15}, {7, 3}, {0, 1}, {1, 1}, {0, 5}, {0, 5}, {6, 3}}))
                .find("the end inside a slice"),
            std::string::npos);
  EXPECT_NE(refusal(bits({{4, 3}, {2, 15}, {7, 3}, {0, 1}, {1, 1}})).find("zero runs of divisor 4"),
            std::string::npos);
  EXPECT_NE(refusal(bits({{6, 3}, {2, 15}, {6, 3}, {0, 1}, {1, 1}, {0, 5}, {0, 5}, {6, 3}}))
                .find("weights of divisor 6"),
            std::string::npos);
}

TEST(Scales, RecordsAreRead) {
  std::vector<std::byte> bytes;
  append_scale_record(bytes, -(std::int64_t{1} << 39), 0xfedcba98, 63);
  ASSERT_EQ(bytes.size(), 10u);
  const npu::ScaleRecord record = npu::read_scale_record(bytes.data());
  EXPECT_EQ(record.bias, -(std::int64_t{1} << 39));
  EXPECT_EQ(record.multiplier, 0xfedcba98u);
  EXPECT_EQ(record.shift, 63);
}

// ---- the simulator's own bounds

TEST(Simulator, ConstantsAreNotWritten) {
  const auto payload = in_order([](auto& m) { m.set(Short::ofm_region, 0); }).payload();
  const std::vector<std::byte> constants(1024);
  const auto segment = segment_of(payload, constants, 1024);
  ASSERT_TRUE(segment.ok());
  EXPECT_EQ(npu::Simulator::make(*segment).status().text(),
            "operation 0 (word 52), MAX_POOL: writes into region 0, the constants");
}
TEST(Simulator, WorkIsBounded) {
  const auto payload = in_order().payload();
  const auto segment = segment_of(payload, {}, 1024);
  ASSERT_TRUE(segment.ok());
  EXPECT_NE(npu::Simulator::make(*segment, {100}).status().text().find("expected at most 100"),
            std::string_view::npos);
}
TEST(Simulator, MapsOutsideAreRefused) {
  const auto payload = in_order().payload();
  const auto segment = segment_of(payload, {}, 767);
  ASSERT_TRUE(segment.ok());
  EXPECT_NE(npu::Simulator::make(*segment).status().text().find(
                "OFM reaches bytes 512 to 768 of region 1, which has 767"),
            std::string_view::npos)
      << npu::Simulator::make(*segment).status().text();
}

}  // namespace
}  // namespace runnel::test
