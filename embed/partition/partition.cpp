// Preparing a node with the model of a partition. The memory of the options holds, in this order: the
// program with its model and labels, a copy of the model where it cannot be used in place, and the node.
#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

#include "embed/node.h"
#include "embed/partition/image_header.h"
#include "embed/partition/profile.h"
#include "inference/model/file_enums.h"
#include "inference/operator.h"

using namespace runnel;
using namespace runnel::embed;

namespace {

constexpr std::uint32_t kPage = 512;  // read at once: a sector of a card
// An encrypted model (docs/model-file.md): associated data with the nonce, the tag, and the ciphertext.
constexpr std::size_t kSecretHeader = 48, kAssociated = 32, kNonce = 16;

// The program of a node, which is also the loader of its only model.
class PartitionProgram final : public runnel_program, public ModelLoader {
 public:
  PartitionProgram(const runnel_program& profile, const Model& from) noexcept
      : runnel_program(profile), opened_(from) {
    const std::span<const std::byte> bytes = from.bytes();
    model = {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()};
    make_loader = [](Memory&, const runnel_program& program) noexcept -> ModelLoader* {
      return const_cast<PartitionProgram*>(static_cast<const PartitionProgram*>(&program));
    };
    if (infer == nullptr || infer->sum_of == nullptr) return;
    link_ = *infer;
    link_.model_sum = infer->sum_of(opened_);
    infer = &link_;
  }
  Result<const Model*> load(std::string_view) noexcept override {
    return static_cast<const Model*>(&opened_);
  }

 private:
  Model opened_;
  InferLink link_;  // of a program with counters
};

Status check_partition(const runnel_partition* partition) noexcept {
  if (partition == nullptr || (partition->address == nullptr && partition->read == nullptr))
    return Status(Code::invalid_argument,
                  "a null pointer instead of the partition, or of its address and read");
  if (partition->bytes < kImageHeaderBytes)
    return Status(Code::invalid_data)
           << "a partition of " << partition->bytes << " bytes, expected more than " << kImageHeaderBytes;
  return {};
}

// Bytes of the image from `at` on, in pages.
Status read(const runnel_partition& from, std::uint32_t at, std::span<std::byte> to) noexcept {
  if (from.address != nullptr) {
    std::memcpy(to.data(), static_cast<const std::byte*>(from.address) + at, to.size());
    return {};
  }
  while (!to.empty()) {
    const std::size_t size = std::min<std::size_t>(to.size(), kPage - at % kPage);
    const std::uint32_t place = from.start + at;
    RUNNEL_TRY(
        call_back([&] { return from.read(from.user, place, to.data(), static_cast<std::uint32_t>(size)); },
                  "reading the partition", place));
    to = to.subspan(size);
    at += static_cast<std::uint32_t>(size);
  }
  return {};
}

Result<ImageHeader> header_of(const runnel_partition* partition) noexcept {
  RUNNEL_TRY(check_partition(partition));
  ImageHeaderBytes bytes;
  RUNNEL_TRY(read(*partition, 0, bytes));
  return read_image_header(bytes);
}

bool is_encrypted(std::span<const std::byte> model) noexcept {
  return model.size() >= kEncryptedMagic.size() &&
         std::memcmp(model.data(), kEncryptedMagic.data(), kEncryptedMagic.size()) == 0;
}

// In place; returns the plain model in `model`, from its start.
Status decrypt(const runnel_partition& with, std::span<std::byte>& model) noexcept {
  if (with.decrypt == nullptr)
    return Status(Code::unsupported,
                  "the model is encrypted, and the partition has no function to decrypt it");
  if (model.size() < kSecretHeader)
    return Status(Code::invalid_data)
           << "an encrypted model of " << model.size() << " bytes, expected at least " << kSecretHeader;
  std::uint8_t head[kSecretHeader];
  std::memcpy(head, model.data(), kSecretHeader);
  std::uint64_t plain = 0;
  for (int i = 7; i >= 0; --i) plain = plain << 8 | head[8 + i];
  if (head[4] != 1 || head[5] != 0 || head[6] != 0 || head[7] != 0 || plain != model.size() - kSecretHeader)
    return Status(Code::invalid_data, "the header of the encrypted model is damaged");
  const std::span<std::byte> data = model.subspan(kSecretHeader);
  if (with.decrypt(with.user, head + kNonce, head, data.data(), data.size(), head + kAssociated) != 0) {
    std::fill(data.begin(), data.end(), std::byte{});
    return Status(Code::invalid_data, "the encrypted model: another key, or changed bytes");
  }
  // The model file must be aligned.
  std::memmove(model.data(), data.data(), data.size());
  model = model.first(data.size());
  return {};
}

// The model's bytes, aligned: in place where they can be used there.
Result<std::span<const std::byte>> model_of(const runnel_partition& from, const ImageHeader& header,
                                            Memory& memory) noexcept {
  if (from.address != nullptr) {
    const std::span<const std::byte> there(static_cast<const std::byte*>(from.address) + kImageHeaderBytes,
                                           header.length);
    if (!is_encrypted(there)) return there;
  }
  if (from.copy != nullptr && from.copy_bytes < header.length)
    return Status(Code::out_of_memory)
           << "the model has " << header.length << " bytes, there is room for a copy of " << from.copy_bytes;
  auto* const copy = from.copy != nullptr
                         ? static_cast<std::byte*>(from.copy)
                         : static_cast<std::byte*>(memory.allocate(header.length, RUNNEL_ALIGNMENT));
  if (copy == nullptr)
    return Status(Code::out_of_memory) << "no room for a copy of the model of " << header.length << " bytes";
  std::span<std::byte> bytes(copy, header.length);
  RUNNEL_TRY(read(from, kImageHeaderBytes, bytes));
  if (is_encrypted(bytes)) RUNNEL_TRY(decrypt(from, bytes));
  return std::span<const std::byte>(bytes);
}

// The texts of the model, which end with zeros there.
Status name_labels(const Model& model, Memory& memory, runnel_program& program) noexcept {
  const fb::Pipeline* const pipeline = model.pipeline();
  if (!program.labels.empty() || pipeline == nullptr || pipeline->labels() == nullptr) return {};
  const flatbuffers::uoffset_t count = pipeline->labels()->size();
  const char** const labels = memory.array<const char*>(count);
  if (labels == nullptr) return pipeline::out_of_memory("the labels");
  for (flatbuffers::uoffset_t i = 0; i < count; ++i) labels[i] = pipeline->labels()->Get(i)->c_str();
  program.labels = {labels, count};
  return {};
}

Result<PartitionProgram*> program_of(const runnel_profile& profile, const runnel_partition& partition,
                                     Memory& memory) noexcept {
  RUNNEL_ASSIGN(const ImageHeader header, header_of(&partition));
  RUNNEL_TRY(check_image(header, profile, partition.bytes));
  RUNNEL_ASSIGN(const std::span<const std::byte> bytes, model_of(partition, header, memory));
  RUNNEL_ASSIGN(const Model model, Model::open(bytes));
  RUNNEL_TRY(missing_operators(model, profile.program.operators));
  void* const at = memory.allocate(sizeof(PartitionProgram), alignof(PartitionProgram));
  if (at == nullptr) return pipeline::out_of_memory("the program");
  auto* const program = new (at) PartitionProgram(profile.program, model);
  RUNNEL_TRY(name_labels(model, memory, *program));
  return program;
}

runnel_code misaligned(const char* what, const void* address, std::uintptr_t alignment) noexcept {
  const Status status = Status(Code::invalid_argument)
                        << what << " starts " << reinterpret_cast<std::uintptr_t>(address) % alignment
                        << " bytes after a multiple of " << alignment;
  return fail(RUNNEL_MISALIGNED, status.text());
}

}  // namespace

namespace runnel::embed {

Status check_image(const ImageHeader& header, const runnel_profile& profile, std::size_t room) noexcept {
  if (header.length == 0 || header.length > room - kImageHeaderBytes)
    return Status(Code::invalid_data) << "a model of " << header.length
                                      << " bytes, the partition has room for " << room - kImageHeaderBytes;
  if (header.profile != profile.id)
    return Status(Code::mismatch) << "the model \"" << header.name.data()
                                  << "\" is made for another profile than " << profile.program.name;
  const std::size_t has[] = {profile.program.memory_bytes, profile.program.fast_bytes};
  const std::uint32_t needs[] = {header.memory_bytes, header.fast_bytes};
  for (std::size_t i = 0; i < 2; ++i) {
    if (needs[i] > has[i])
      return Status(Code::out_of_memory)
             << "the model \"" << header.name.data() << "\" needs " << needs[i] << " bytes of "
             << (i == 0 ? "" : "fast ") << "memory, the profile has " << has[i];
  }
  return {};
}

}  // namespace runnel::embed

runnel_code runnel_image_facts_of(const runnel_partition* partition, runnel_image_facts* out) {
  if (out == nullptr) return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of the facts");
  const auto header = header_of(partition);
  if (!header.ok()) return fail(header.status());
  *out = {};
  std::copy(header->name.begin(), header->name.end(), out->name);
  out->version = header->version;
  out->model_bytes = header->length;
  out->memory_bytes = header->memory_bytes;
  out->fast_bytes = header->fast_bytes;
  out->is_signed = header->is_signed ? 1 : 0;
  std::byte start[4] = {};
  if (header->length >= sizeof start && partition->bytes >= kImageHeaderBytes + sizeof start) {
    if (const Status status = read(*partition, kImageHeaderBytes, start); !status.ok()) return fail(status);
  }
  out->encrypted = is_encrypted(start) ? 1 : 0;
  return RUNNEL_OK;
}

runnel_code runnel_prepare_partition(const runnel_profile* profile, const runnel_partition* partition,
                                     const runnel_options* options, runnel_node** node) {
  if (node == nullptr || profile == nullptr)
    return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of the node or the profile");
  *node = nullptr;
  if (profile->version != kProfileVersion)
    return fail(RUNNEL_WRONG_VERSION, "a profile of another version: run runnel embed again");
  if (const runnel_code code = check(&profile->program, options); code != RUNNEL_OK) return code;
  if (const Status status = check_partition(partition); !status.ok()) return fail(status);
  if (reinterpret_cast<std::uintptr_t>(partition->address) % 16 != 0)
    return misaligned("the partition", partition->address, 16);
  if (reinterpret_cast<std::uintptr_t>(partition->copy) % RUNNEL_ALIGNMENT != 0)
    return misaligned("the memory for a copy", partition->copy, RUNNEL_ALIGNMENT);
  FixedMemory memory({static_cast<std::byte*>(options->memory), options->bytes});
  const auto program = program_of(*profile, *partition, memory);
  if (!program.ok()) return fail(program.status());
  if (memory.allocate(0, RUNNEL_ALIGNMENT) == nullptr) return fail(pipeline::out_of_memory("the node"));
  const std::size_t used = memory.used();
  runnel_options rest = *options;
  rest.memory = static_cast<std::byte*>(options->memory) + used;
  rest.bytes = options->bytes - used;
  return runnel_prepare(*program, &rest, node);
}

const runnel_program* runnel_program_of(const runnel_node* node) {
  return node == nullptr ? nullptr : node->program;
}
