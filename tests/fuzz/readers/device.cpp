// What firmware reads: model files, saved sessions, images of models in partitions and slots. It needs device
// libraries alone, so that it can be built for 32 bits, too
// (scripts/fuzz_device32.sh).
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "base/crc32c.h"
#include "base/sha256.h"
#include "embed/partition/image_header.h"
#include "embed/partition/profile.h"
#include "embed/partition/runnel_slots.h"
#include "embed/program.h"
#include "firmware/slots/simulated_flash.h"
#include "inference/model/model.h"
#include "inference/operator_table.h"
#include "inference/prepared.h"
#include "inference/session.h"
#include "pipeline/nodes/model/infer.h"
#include "tests/fuzz/readers/blocks.h"
#include "tests/fuzz/readers/reader.h"

namespace runnel::fuzz {
namespace {

using Bytes = std::vector<std::byte>;

void fill(std::span<std::byte> bytes) {
  unsigned value = 1;
  for (std::byte& byte : bytes) byte = static_cast<std::byte>((value = value * 1664525u + 1013904223u) >> 24);
}

unsigned outputs_of(const Session& session) {
  unsigned sum = 0;
  const Model& model = session.prepared().model();
  for (std::size_t i = 0; i < model.outputs().size(); ++i) {
    const OutputFrames out = session.output(static_cast<int>(i));
    const Placement& at = session.prepared().placement(model.outputs()[i]);
    if (out.count > 0)
      sum += std::to_integer<unsigned>(out.block[0]) + std::to_integer<unsigned>(out.block[at.bytes - 1]);
  }
  return sum;
}

void step(Session& session, std::int64_t valid) {
  for (std::size_t i = 0; i < session.prepared().model().inputs().size(); ++i)
    fill(session.input(static_cast<int>(i)));
  session.run(valid);
  static volatile unsigned sink;
  sink = outputs_of(session);
  static_cast<void>(sink);
}

// A model with a session in memory of its own.
struct Running {
  Blocks memory{kMost};
  const Prepared* prepared = nullptr;
  std::optional<Session> session;

  Status start(const Model& model, RunMode mode) {
    PrepareOptions options;
    options.mode = mode;
    RUNNEL_ASSIGN(prepared, Prepared::make(model, all_operators(), options, memory));
    RUNNEL_ASSIGN(Workspace* const workspace, Workspace::make(*prepared, memory));
    auto* const state = static_cast<std::byte*>(memory.allocate(prepared->state_bytes(), 64));
    if (state == nullptr) return Status(Code::out_of_memory, "a session");
    RUNNEL_ASSIGN(Session made, Session::make(*prepared, *workspace, {state, prepared->state_bytes()}));
    session.emplace(std::move(made));
    return {};
  }
};

// Without checksums: nobody would get far otherwise.
Status feed_device_model(std::span<const std::byte> bytes) {
  Blocks memory(bytes.size() + 64);
  RUNNEL_ASSIGN(const Model model, Model::open(copied(memory, bytes), ModelOptions{.check_crc = false}));
  Running stream, whole;
  const Status streamed = stream.start(model, RunMode::stream);
  if (streamed.ok()) {
    for (int i = 0; i < 3; ++i) step(*stream.session, stream.prepared->block());
    step(*stream.session, stream.prepared->block() - 1);
    for (int i = 0; i < 4 && stream.session->flush_calls_left() > 0; ++i) step(*stream.session, 0);
  }
  RUNNEL_TRY(whole.start(model, RunMode::whole));
  step(*whole.session, whole.prepared->block());
  return streamed;
}

Bytes bytes_in(const std::string& text) {
  const auto bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}
const Bytes& tiny_file() {
  static const Bytes bytes = bytes_in(corpus_file("model/tiny.rnl"));
  return bytes;
}

const Model& tiny_model() {
  static Blocks memory(kMost);
  static const auto model = Model::open(copied(memory, tiny_file()));
  insist(model.ok(), "a model that does not open");
  return *model;
}

struct Kept {
  Running running;
  Kept() { insist(running.start(tiny_model(), RunMode::stream).ok(), "a model that does not run"); }
};

constexpr std::size_t kSessionHeader = 24, kSessionSum = 12;

// A saved session, whose checksum is made right here: what it says is checked as well.
Status feed_session(std::span<const std::byte> bytes) {
  static Kept kept;
  Session& session = *kept.running.session;
  Bytes saved(bytes.begin(), bytes.end());
  if (saved.size() > kSessionHeader) {
    const std::uint32_t sum = crc32c(std::span<const std::byte>(saved).subspan(kSessionHeader));
    std::memcpy(saved.data() + kSessionSum, &sum, sizeof sum);
  }
  session.reset();
  RUNNEL_TRY(session.restore(saved));
  step(session, kept.running.prepared->block());
  step(session, 0);
  for (int i = 0; i < 100 && session.flush_calls_left() > 0; ++i) step(session, 0);
  return {};
}

std::string session_seed() {
  Kept kept;
  for (int i = 0; i < 3; ++i) step(*kept.running.session, kept.running.prepared->block());
  Bytes saved(kept.running.session->saved_bytes());
  insist(kept.running.session->save(saved).ok(), "a session that is not saved");
  return std::string(text_of(saved));
}

// A program that runs the model of a partition on pushed samples of two channels.
bool make_nodes(Memory& memory, std::span<pipeline::Stage> stages) noexcept {
  auto* const infer = embed::place<pipeline::Infer>(memory);
  if (infer == nullptr) return false;
  infer->model = "model";
  stages[0] = {infer, &pipeline::Infer::type, "infer", 0};
  return true;
}
constexpr std::size_t kRoom = std::size_t{256} << 10;

const runnel_profile& profile() {
  static const runnel_profile made = [] {
    runnel_profile out;
    out.program.name = "bytes";
    out.program.operators = all_operators();
    out.program.samples = DType::float32;
    out.program.input.kind = pipeline::Kind::audio;
    out.program.input.dtype = DType::float32;
    out.program.input.channels = 2;
    out.program.input.clock.sample_rate = 100;
    out.program.hop = 4;
    out.program.make_nodes = make_nodes;
    out.program.stages = 1;
    out.program.output_stage = 0;
    out.program.memory_bytes = kRoom;
    return out;
  }();
  return made;
}

struct alignas(64) Room {
  unsigned char bytes[kRoom];
};

void push_some(runnel_node* node) {
  const std::array<float, 32> samples = {0.5F, -0.25F, 1};
  static_cast<void>(runnel_push_float(node, samples.data(), samples.size() / 2));
  static_cast<void>(runnel_end(node));
}

Status said(runnel_code code) {
  if (code == RUNNEL_OK) return {};
  return Status(Code::invalid_data, runnel_last_failure());
}

// The image with its digest and checksum made right, if it is long enough: what they are of is checked, too.
Bytes with_sums(std::span<const std::byte> image) {
  Bytes out(image.begin(), image.end());
  if (out.size() <= embed::kImageHeaderBytes) return out;
  const Sha256Digest digest = sha256(std::span<const std::byte>(out).subspan(embed::kImageHeaderBytes));
  std::memcpy(out.data() + 96, digest.data(), digest.size());
  const std::uint32_t sum = crc32c(std::span<const std::byte>(out).first(252));
  std::memcpy(out.data() + 252, &sum, sizeof sum);
  return out;
}

std::string image_seed(std::uint32_t version = 1) {
  embed::ImageHeader header;
  header.length = static_cast<std::uint32_t>(tiny_file().size());
  header.version = version;
  header.memory_bytes = 1000;
  std::copy_n("tiny", 5, header.name.begin());
  header.digest = sha256(tiny_file());
  const embed::ImageHeaderBytes bytes = embed::write_image_header(header);
  return std::string(text_of(bytes)) + std::string(text_of(tiny_file()));
}

struct Card {
  std::span<const std::byte> bytes;
  static int read(void* user, std::uint32_t at, void* to, std::uint32_t count) {
    const std::span<const std::byte> all = static_cast<Card*>(user)->bytes;
    if (at > all.size() || count > all.size() - at) return -1;
    std::memcpy(to, all.data() + at, count);
    return 0;
  }
};

// An image in a partition, read from a card or in place. Bits of the first byte: from a card; sums as they
// are.
Status feed_image(std::span<const std::byte> bytes) {
  if (bytes.empty()) return Status(Code::invalid_data, "nothing");
  const auto how = std::to_integer<unsigned>(bytes.front());
  const Bytes image = (how & 2) != 0 ? Bytes(bytes.begin() + 1, bytes.end()) : with_sums(bytes.subspan(1));
  Blocks memory(kMost);
  Card card{copied(memory, image)};
  runnel_partition partition = {};
  partition.bytes = static_cast<std::uint32_t>(image.size());
  partition.address = (how & 1) != 0 ? nullptr : card.bytes.data();
  partition.read = Card::read;
  partition.user = &card;
  static const std::unique_ptr<Room> room(new Room);
  const runnel_options options = {room->bytes, kRoom, nullptr, 0, nullptr, nullptr};
  runnel_image_facts facts;
  const runnel_code code = runnel_image_facts_of(&partition, &facts);
  if (code == RUNNEL_OK)
    insist(std::memchr(facts.name, 0, sizeof facts.name) != nullptr, "a name without end");
  runnel_node* node = nullptr;
  RUNNEL_TRY(said(runnel_prepare_partition(&profile(), &partition, &options, &node)));
  push_some(node);
  return {};
}

constexpr std::uint32_t kBlock = 512, kSlot = 8 * kBlock, kFlash = 2 * kBlock + 2 * kSlot;

// Flash as a strange device may have it: the journal's two blocks and both slots from the input; then an
// update of what is left of it, which is confirmed or taken back. Sums of images are made right.
Status feed_slots(std::span<const std::byte> bytes) {
  if (bytes.empty()) return Status(Code::invalid_data, "nothing");
  const auto how = std::to_integer<unsigned>(bytes.front());
  bytes = bytes.subspan(1);
  Blocks memory(kMost);
  const std::size_t there = std::min<std::size_t>(bytes.size(), kFlash);
  std::span<std::byte> flash = copied(memory, Bytes(kFlash, std::byte{0xFF}));
  std::copy_n(bytes.begin(), there, flash.begin());
  Bytes update(bytes.begin() + static_cast<std::ptrdiff_t>(there), bytes.end());
  if ((how & 2) == 0) update = with_sums(update);
  firmware::SimulatedFlash simulated;
  simulated.bytes = flash;
  simulated.erase_bytes = kBlock;
  simulated.program_bytes = 8;
  runnel_slots_settings settings = {};
  settings.flash = simulated.callbacks((how & 1) == 0);
  settings.slot[0] = 2 * kBlock;
  settings.slot[1] = settings.slot[0] + kSlot;
  settings.slot_bytes = kSlot;
  settings.check_at_start = (how & 4) != 0 ? 1 : 0;
  settings.trial_starts = how >> 6;
  static runnel_slots slots;
  slots = {};
  static const std::unique_ptr<Room> room(new Room);
  const runnel_options options = {room->bytes, kRoom, nullptr, 0, nullptr, nullptr};
  const runnel_code opened = runnel_slots_open(&slots, &settings, &profile());
  if (opened != RUNNEL_OK && opened != RUNNEL_NOT_FOUND) return said(opened);
  runnel_node* node = nullptr;
  const auto start = [&] {
    node = nullptr;
    const runnel_code code = runnel_slots_start(&slots, &options, &node);
    insist((node != nullptr) == (code == RUNNEL_OK), "a start that is none");
    if (node != nullptr) push_some(node);
    return code;
  };
  runnel_code code = start();
  if (!update.empty() && runnel_slots_begin(&slots) == RUNNEL_OK) {
    const std::size_t piece = 1 + how % 200;
    code = RUNNEL_OK;
    for (std::size_t at = 0; code == RUNNEL_OK && at < update.size(); at += piece)
      code = runnel_slots_write(&slots, update.data() + at, std::min(piece, update.size() - at));
    if (code == RUNNEL_OK) code = runnel_slots_finish(&slots);
    if (code == RUNNEL_OK) code = start();
    static_cast<void>((how & 8) != 0 ? runnel_slots_confirm(&slots) : runnel_slots_rollback(&slots));
    static_cast<void>(start());
  }
  insist(simulated.violations == 0, "flash that was used against its rules");
  const runnel_slots_state state = runnel_slots_state_of(&slots);
  insist(state.running >= -1 && state.running <= 1, "a slot that there is not");
  return said(code);
}

// With an image in slot A, as a factory programs it, and one as an update.
std::string slots_seed(char how) {
  std::string flash(kFlash, '\xFF');
  const std::string image = image_seed();
  flash.replace(2 * kBlock, image.size(), image);
  return how + flash + image_seed(2);
}

}  // namespace

std::vector<Reader> device_readers() {
  return {
      {"device_model", feed_device_model, {corpus_file("model/tiny.rnl")}},
      {"session", feed_session, {session_seed()}},
      {"image", feed_image, {std::string("\0", 1) + image_seed(), "\1" + image_seed()}},
      {"slots", feed_slots, {slots_seed('\x08'), slots_seed('\x4D'), slots_seed('\x02')}},
  };
}

}  // namespace runnel::fuzz
