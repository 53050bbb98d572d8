// Models in partitions: in place, copied, encrypted, and everything that is no model of the profile.
#include <algorithm>
#include <random>

#include "base/host/crypto.h"
#include "digits.h"
#include "embed/partition/runnel_partition.h"
#include "inference/host/encrypted_model.h"
#include "tests/embed/partition/support.h"
#include "tests/support/wav.h"

namespace runnel::test {
namespace {

class Partition : public testing::Test {
 protected:
  runnel_code prepare(const runnel_partition& partition, const runnel_profile& profile = runnel_apart,
                      std::size_t bytes = kRoom) {
    const runnel_options options = {memory_->bytes, bytes, nullptr, 0, Tail::keep, &tail_};
    node_ = nullptr;
    const runnel_code code = runnel_prepare_partition(&profile, &partition, &options, &node_);
    EXPECT_EQ(node_ != nullptr, code == RUNNEL_OK);
    return code;
  }
  // The code for an image in a partition of its size.
  runnel_code code_of(const Bytes& bytes) {
    mapped_ = std::make_unique<Mapped>(bytes);
    return prepare(mapped_->partition());
  }
  static std::string said() { return runnel_last_failure(); }

  std::unique_ptr<Aligned> memory_ = std::make_unique<Aligned>();
  std::unique_ptr<Mapped> mapped_;  // what the node of code_of() reads
  std::vector<unsigned char> output() { return output_of(node_, tail_); }

  runnel_node* node_ = nullptr;
  Tail tail_;
};

// A node of the same model in a program.
struct InRom {
  std::unique_ptr<Aligned> memory = std::make_unique<Aligned>();
  Tail tail;
  runnel_node* node = nullptr;
  InRom() {
    const runnel_options options = {memory->bytes, kRoom, nullptr, 0, Tail::keep, &tail};
    EXPECT_EQ(runnel_prepare(&runnel_digits, &options, &node), RUNNEL_OK);
  }
};
const std::vector<unsigned char>& output_in_rom() {
  static const std::vector<unsigned char> output = [] {
    InRom rom;
    return output_of(rom.node, rom.tail);
  }();
  return output;
}

// Labels, scores and places of all decisions.
std::string decisions(runnel_node* node, const std::vector<std::int16_t>& samples) {
  std::string out;
  for (std::size_t at = 0; at < samples.size(); at += 1600) {
    EXPECT_EQ(runnel_push_int16(node, samples.data() + at, std::min<std::size_t>(1600, samples.size() - at)),
              RUNNEL_OK);
    for (runnel_event event; runnel_poll(node, &event) == 1;)
      out += std::string(event.label) + " " + std::to_string(event.label_index) + " " +
             std::to_string(event.begin) + " " + std::to_string(event.score) + "\n";
  }
  return out;
}

TEST_F(Partition, AModelInAPartitionDecidesAsOneInTheProgram) {
  RUNNEL_NEEDS_DATA();
  const Wav wav = read_wav(data_folder() / "digits/stitched_90s.wav");
  const Mapped flash(image("digits"));
  ASSERT_EQ(prepare(flash.partition()), RUNNEL_OK) << said();
  const std::string here = decisions(node_, wav.samples);
  InRom rom;
  EXPECT_EQ(here, decisions(rom.node, wav.samples));
  EXPECT_GT(std::count(here.begin(), here.end(), '\n'), 30);
}

TEST_F(Partition, AModelInAPartitionGivesTheBytesOfOneInTheProgram) {
  const Mapped flash(image("digits"));
  ASSERT_EQ(prepare(flash.partition()), RUNNEL_OK) << said();
  EXPECT_EQ(output(), output_in_rom());
  EXPECT_FALSE(output_in_rom().empty());
}

TEST_F(Partition, LabelsAndSizesAreThoseOfTheModel) {
  const Mapped flash(image("other"));
  ASSERT_EQ(prepare(flash.partition()), RUNNEL_OK) << said();
  const runnel_program* const program = runnel_program_of(node_);
  ASSERT_NE(program, nullptr);
  EXPECT_STREQ(runnel_label(program, 0), "new 0");
  EXPECT_EQ(runnel_facts_of(program).labels, runnel_facts_of(&runnel_digits).labels);
  EXPECT_GT(runnel_facts_of(program).model_bytes, 20000U);
  EXPECT_STREQ(runnel_facts_of(program).name, "apart");
  EXPECT_NE(output(), output_in_rom());
  runnel_image_facts facts;
  const runnel_partition partition = flash.partition();
  ASSERT_EQ(runnel_image_facts_of(&partition, &facts), RUNNEL_OK) << said();
  EXPECT_STREQ(facts.name, "other");
  EXPECT_EQ(facts.version, 1U);
  EXPECT_EQ(facts.encrypted, 0);
  EXPECT_EQ(facts.is_signed, 0);
  EXPECT_LE(facts.memory_bytes, static_cast<std::uint32_t>(RUNNEL_APART_MEMORY_BYTES));
}

// A card: read in sectors, which the callback checks.
struct Card {
  Bytes bytes;
  int reads = 0, busy = 0, waited = 0;
  bool whole_sectors = true;
  int fails_at = -1;
  static int read(void* user, std::uint32_t at, void* to, std::uint32_t count) {
    Card& card = *static_cast<Card*>(user);
    if (card.busy < 0 || card.waited++ < card.busy) return 1;
    card.waited = 0;
    if (card.reads++ == card.fails_at) return -7;
    if (at / 512 != (at + count - 1) / 512) card.whole_sectors = false;
    if (at + count > card.bytes.size()) return -2;
    std::memcpy(to, card.bytes.data() + at, count);
    return 0;
  }
  runnel_partition partition() {
    runnel_partition out = {};
    out.bytes = static_cast<std::uint32_t>(bytes.size() - 1024);
    out.read = read;
    out.start = 1024;
    out.user = this;
    return out;
  }
};
Card card_with(const Bytes& image) {
  Card card;
  card.bytes.resize(1024);
  card.bytes.insert(card.bytes.end(), image.begin(), image.end());
  return card;
}

TEST_F(Partition, AModelIsReadFromACard) {
  Card card = card_with(image("digits"));
  card.busy = 2;
  ASSERT_EQ(prepare(card.partition()), RUNNEL_OK) << said();
  EXPECT_TRUE(card.whole_sectors);
  EXPECT_EQ(output(), output_in_rom());
  // Into memory of its own, whose size is checked.
  const auto copy = std::make_unique<Aligned>();
  runnel_partition partition = card.partition();
  partition.copy = copy->bytes;
  partition.copy_bytes = kRoom;
  ASSERT_EQ(prepare(partition), RUNNEL_OK) << said();
  EXPECT_EQ(output(), output_in_rom());
  partition.copy_bytes = 1000;
  EXPECT_EQ(prepare(partition), RUNNEL_OUT_OF_MEMORY);
  EXPECT_NE(said().find("room for a copy of 1000"), std::string::npos) << said();
  partition.copy = copy->bytes + 8;
  EXPECT_EQ(prepare(partition), RUNNEL_MISALIGNED);
}

TEST_F(Partition, ACallbackThatFailsOrStallsIsNamed) {
  for (int at = 0; at < 8; ++at) {
    Card card = card_with(image("digits"));
    card.fails_at = at;
    EXPECT_EQ(prepare(card.partition()), RUNNEL_IO_ERROR) << at;
    EXPECT_NE(said().find("reading the partition at "), std::string::npos) << said();
    EXPECT_NE(said().find("failed with -7"), std::string::npos) << said();
  }
  Card card = card_with(image("digits"));
  card.busy = -1;
  EXPECT_EQ(prepare(card.partition()), RUNNEL_IO_ERROR);
  EXPECT_NE(said().find("not done after 1000000 calls"), std::string::npos) << said();
}

TEST_F(Partition, WhatIsNoModelOfTheProfileIsRefusedWithASentence) {
  const Bytes good = image("digits");
  struct Case {
    Bytes bytes;
    runnel_code code;
    std::string part;
  };
  Bytes foreign(4096, std::byte{0x5A}), cut = good;
  cut.resize(good.size() - 1);
  const std::vector<Case> cases = {
      {Bytes(4096, std::byte{0xFF}), RUNNEL_INVALID_DATA, "the memory is erased"},
      {foreign, RUNNEL_INVALID_DATA, "no model image"},
      {Bytes(100, std::byte{0}), RUNNEL_INVALID_DATA, "a partition of 100 bytes"},
      {cut, RUNNEL_INVALID_DATA, "the partition has room for " + std::to_string(good.size() - 257)},
      {with_header(good, [](auto& header) { header.length = 0; }), RUNNEL_INVALID_DATA, "a model of 0 bytes"},
      {with_header(good, [](auto& header) { header.length = 0xFFFFFFFF; }), RUNNEL_INVALID_DATA,
       "a model of 4294967295"},
      {with_header(good, [](auto& header) { header.profile[3] ^= 1; }), RUNNEL_MISMATCH,
       "\"digits\" is made for another profile than apart"},
      {with_header(good, [](auto& header) { header.memory_bytes = RUNNEL_APART_MEMORY_BYTES + 1; }),
       RUNNEL_OUT_OF_MEMORY,
       "needs " + std::to_string(RUNNEL_APART_MEMORY_BYTES + 1) + " bytes of memory, the profile has " +
           std::to_string(RUNNEL_APART_MEMORY_BYTES)},
      {with_header(good, [](auto& header) { header.fast_bytes = 512; }), RUNNEL_OUT_OF_MEMORY,
       "needs 512 bytes of fast memory, the profile has 0"},
      {image_of_model(Bytes(3000, std::byte{7})), RUNNEL_INVALID_DATA, ""},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(code_of(one.bytes), one.code) << one.part << ": " << said();
    EXPECT_NE(said().find(one.part), std::string::npos) << said() << ", expected " << one.part;
    EXPECT_FALSE(said().empty());
  }
  // Flags and reserved bytes of a later format, with a right checksum.
  for (const std::size_t at : {4, 7, 40, 80, 192, 251}) {
    Bytes changed = good;
    changed[at] ^= std::byte{2};
    embed::ImageHeaderBytes bytes;
    std::copy_n(changed.begin(), bytes.size(), bytes.begin());
    const std::uint32_t crc = crc32c(std::span(std::as_const(changed)).first(252));
    std::memcpy(changed.data() + 252, &crc, 4);
    EXPECT_NE(code_of(changed), RUNNEL_OK) << at;
  }
}

TEST_F(Partition, AModelWithOtherOperatorsIsRefusedByTheirNames) {
  runnel_profile poor = runnel_apart;
  poor.program.operators = runnel_apart.program.operators.first(1);
  EXPECT_EQ(prepare(Mapped(image("digits")).partition(), poor), RUNNEL_UNSUPPORTED);
  EXPECT_NE(said().find("operators that this build does not have: "), std::string::npos) << said();
  EXPECT_NE(said().find("version"), std::string::npos) << said();
}

TEST_F(Partition, WrongCallsHaveCodes) {
  const Mapped flash(image("digits"));
  runnel_partition partition = flash.partition();
  EXPECT_EQ(prepare({}), RUNNEL_INVALID_ARGUMENT);
  partition.address = static_cast<const char*>(partition.address) + 4;
  EXPECT_EQ(prepare(partition), RUNNEL_MISALIGNED);
  EXPECT_NE(said().find("4 bytes after a multiple of 16"), std::string::npos) << said();
  for (std::size_t bytes = 0; bytes < 3000; bytes += 130)
    EXPECT_EQ(prepare(flash.partition(), runnel_apart, bytes), RUNNEL_OUT_OF_MEMORY) << bytes;
  runnel_profile old = runnel_apart;
  old.version = 99;
  EXPECT_EQ(prepare(flash.partition(), old), RUNNEL_WRONG_VERSION);
  const runnel_options options = {memory_->bytes, kRoom, nullptr, 0, nullptr, nullptr};
  partition = flash.partition();
  EXPECT_EQ(runnel_prepare_partition(&runnel_apart, &partition, &options, nullptr), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_prepare_partition(nullptr, &partition, &options, &node_), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_prepare_partition(&runnel_apart, nullptr, &options, &node_), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_prepare_partition(&runnel_apart, &partition, nullptr, &node_), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_image_facts_of(&partition, nullptr), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_program_of(nullptr), nullptr);
}

int decrypt(void* user, const std::uint8_t* nonce, const std::uint8_t* associated, void* data,
            std::size_t bytes, const std::uint8_t* tag) {
  crypto::Nonce n;
  crypto::Tag t;
  std::memcpy(n.data(), nonce, n.size());
  std::memcpy(t.data(), tag, t.size());
  const std::span<const std::byte> about(reinterpret_cast<const std::byte*>(associated), 32);
  return crypto::gcm_decrypt(*static_cast<const crypto::Key*>(user), n, about,
                             {static_cast<std::byte*>(data), bytes}, t)
                 .ok()
             ? 0
             : -1;
}

TEST_F(Partition, EncryptedModelsAreDecryptedInMemory) {
  if (!crypto::available()) GTEST_SKIP() << "SKIPPED: this build has no mbedTLS";
  const Bytes plain = image("digits");
  crypto::Key key = *crypto::Key::from_hex("000102030405060708090a0b0c0d0e0f"),
              wrong = *crypto::Key::from_hex("000102030405060708090a0b0c0d0e0e");
  const auto secret = encrypt_model(std::span(plain).subspan(embed::kImageHeaderBytes), key);
  ASSERT_TRUE(secret.ok());
  const Mapped flash(image_of_model(*secret));
  runnel_partition partition = flash.partition();
  EXPECT_EQ(prepare(partition), RUNNEL_UNSUPPORTED);
  EXPECT_NE(said().find("the model is encrypted"), std::string::npos) << said();
  partition.decrypt = decrypt;
  partition.user = &wrong;
  EXPECT_EQ(prepare(partition), RUNNEL_INVALID_DATA);
  EXPECT_NE(said().find("another key"), std::string::npos) << said();
  partition.user = &key;
  ASSERT_EQ(prepare(partition), RUNNEL_OK) << said();
  EXPECT_EQ(output(), output_in_rom());
  runnel_image_facts facts;
  ASSERT_EQ(runnel_image_facts_of(&partition, &facts), RUNNEL_OK);
  EXPECT_EQ(facts.encrypted, 1);
  // Every part of the file is under the tag or its header is checked.
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    Bytes changed = *secret;
    changed[i < 48 ? static_cast<std::size_t>(i) : random() % changed.size()] ^=
        static_cast<std::byte>(1U << random() % 8);
    const Mapped damaged(image_of_model(changed));
    runnel_partition of = damaged.partition();
    of.decrypt = decrypt;
    of.user = &key;
    EXPECT_NE(prepare(of), RUNNEL_OK) << i;
  }
}

// Bits, bytes, lengths and pieces of an image, also with a header that fits: a code and a sentence, never a
// fault, and a node only where its bytes are those of the image.
TEST_F(Partition, MutatedImagesGiveACodeAndASentence) {
  const Bytes good = image("digits");
  std::mt19937 random(20);
  int ran = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes changed = good;
    const bool in_header = random() % 4 == 0;
    for (unsigned k = 0, times = 1 + random() % 4; k < times; ++k) {
      const std::size_t most = in_header ? embed::kImageHeaderBytes : changed.size(), at = random() % most;
      switch (random() % 4) {
        case 0:
          changed[at] ^= static_cast<std::byte>(1U << random() % 8);
          break;
        case 1:
          changed[at] = static_cast<std::byte>(random());
          break;
        case 2: {
          const std::size_t from = random() % changed.size();
          const std::size_t size = std::min<std::size_t>({random() % 64, most - at, changed.size() - from});
          std::memmove(changed.data() + at, changed.data() + from, size);
          break;
        }
        default:
          if (!in_header) changed.resize(std::max<std::size_t>(embed::kImageHeaderBytes, at));
      }
      if (changed.size() <= embed::kImageHeaderBytes) break;
    }
    if (in_header && random() % 2 == 0) {
      const std::uint32_t crc = crc32c(std::span(std::as_const(changed)).first(252));
      std::memcpy(changed.data() + 252, &crc, 4);
    }
    if (const runnel_code code = code_of(changed); code == RUNNEL_OK) {
      ++ran;
      // What the header's checksum covers, and padding between sections of the file, which only the digest
      // does.
      ASSERT_EQ(output(), output_in_rom()) << i;
    } else {
      ASSERT_FALSE(said().empty());
      ASSERT_LE(code, RUNNEL_MISALIGNED);
    }
  }
  EXPECT_GT(ran, 10);
}

}  // namespace
}  // namespace runnel::test
