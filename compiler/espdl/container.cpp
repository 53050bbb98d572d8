#include "compiler/espdl/container.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/host/crypto.h"
#include "compiler/copy_budget.h"
#include "compiler/espdl/espdl_generated.h"
#include "compiler/espdl/little_endian.h"
#include "compiler/espdl/package.h"
#include "inference/model/table_lists.h"

namespace runnel::compiler {
namespace {

// 0x10, 0x11, .. 0x1F
crypto::Counter first_counter() {
  crypto::Counter counter{};
  for (std::size_t i = 0; i < counter.size(); ++i) counter[i] = static_cast<std::byte>(0x10 + i);
  return counter;
}

using Texts = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

// Whether nodes lead to no more texts than an honest file does, before FlatBuffers' verifier has seen them:
// it looks at every text of a list again for each node that names the list, and counts tables only. What is
// damaged is left to the verifier, which ends where this ends.
Status check_lists_of_nodes(std::span<const std::uint8_t> payload) {
  flatbuffers::Verifier verifier(payload.data(), payload.size());
  const flatbuffers::uoffset_t root = verifier.VerifyOffset(std::size_t{0});
  if (root == 0) return {};
  const auto& model = *reinterpret_cast<const flatbuffers::Table*>(payload.data() + root);
  if (!model.VerifyTableStart(verifier) || !model.VerifyOffset(verifier, espdl::Model::VT_GRAPH)) return {};
  const auto* const graph = model.GetPointer<const flatbuffers::Table*>(espdl::Model::VT_GRAPH);
  const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>>* nodes = nullptr;
  if (graph == nullptr || !graph->VerifyTableStart(verifier) ||
      !list_at(*graph, espdl::Graph::VT_NODE, verifier, nodes)) {
    return {};
  }
  CopyBudget budget(payload.size());
  for (flatbuffers::uoffset_t i = 0; nodes != nullptr && i < nodes->size(); ++i) {
    const flatbuffers::Table& node = *nodes->Get(i);
    if (!node.VerifyTableStart(verifier)) return {};
    for (const flatbuffers::voffset_t field : {espdl::Node::VT_INPUT, espdl::Node::VT_OUTPUT}) {
      const Texts* texts = nullptr;
      if (!list_at(node, field, verifier, texts)) return {};
      if (texts != nullptr) budget.spend(texts->size() * sizeof(flatbuffers::uoffset_t));
    }
    RUNNEL_TRY(budget.status());
    verifier.EndTable();
  }
  return {};
}

}  // namespace

Result<EspdlHeader> EspdlHeader::read(std::span<const std::byte> file) {
  if (file.size() < 4)
    return Status(Code::invalid_data)
           << "file of " << file.size() << " bytes, expected at least 12 for a header";
  EspdlHeader header;
  header.magic = std::string_view(reinterpret_cast<const char*>(file.data()), 4);
  if (header.magic != "EDL1" && header.magic != "EDL2")
    return Status(Code::invalid_data, "offset 0: not an .espdl file, expected the magic EDL1 or EDL2");
  header.bytes = header.magic == "EDL1" ? 12 : 16;
  if (file.size() < header.bytes) {
    return Status(Code::invalid_data) << "file of " << file.size() << " bytes, expected at least "
                                      << header.bytes << " for the header of " << header.magic;
  }
  const std::uint32_t mode = read_u32(file, 4);
  if (mode > 1)
    return Status(Code::invalid_data) << "offset 4: mode " << mode << ", expected 0 (plain) or 1 (encrypted)";
  header.encrypted = mode == 1;
  header.length = read_u32(file, 8);
  if (header.length > file.size() - header.bytes) {
    return Status(Code::invalid_data)
           << "offset 8: payload of " << header.length << " bytes announced, the file has "
           << file.size() - header.bytes << " after the header";
  }
  constexpr std::uint32_t kLargest = std::numeric_limits<std::int32_t>::max();  // FlatBuffers' own limit
  if (header.length < 8 || header.length > kLargest) {
    return Status(Code::invalid_data)
           << "offset 8: payload of " << header.length << " bytes, expected 8 to " << kLargest;
  }
  return header;
}

Result<EspdlPayload> EspdlPayload::open(std::span<const std::byte> file, const crypto::Key* key) {
  if (is_espdl_package(file))
    return Status(Code::unsupported,
                  "a package of several models, expected one model (EDL1 or EDL2): choose a member");
  RUNNEL_ASSIGN(const EspdlHeader header, EspdlHeader::read(file));
  if (header.encrypted && key == nullptr) {
    return Status(Code::invalid_argument,
                  "offset 4: the model is encrypted (mode 1), and there is no key: give one in a file or in "
                  "the environment");
  }
  EspdlPayload payload;
  payload.blocks_.resize((header.length + sizeof(Block) - 1) / sizeof(Block));
  std::memcpy(payload.blocks_.data(), file.data() + header.bytes, header.length);
  if (header.encrypted) {
    RUNNEL_TRY(crypto::aes_ctr(*key, first_counter(),
                               std::as_writable_bytes(std::span(payload.blocks_)).first(header.length))
                   .at("the model is encrypted (mode 1)"));
  }
  const auto* const start = reinterpret_cast<const std::uint8_t*>(payload.blocks_.data());
  if (!header.encrypted) RUNNEL_TRY(check_lists_of_nodes({start, header.length}));
  flatbuffers::Verifier verifier(start, header.length);
  const bool whole = verifier.VerifyBuffer<espdl::Model>(nullptr);
  if (!whole && !header.encrypted) {
    return Status(Code::invalid_data)
           << "offset " << header.bytes << ": the payload is not a well-formed FlatBuffer of an .espdl model";
  }
  // Random bytes pass the verifier now and then, as a table without fields.
  if (header.encrypted && (!whole || payload.model().graph() == nullptr)) {
    return Status(Code::invalid_data)
           << "offset " << header.bytes
           << ": wrong key, or a damaged file: what was decrypted is not an .espdl model";
  }
  return payload;
}

Result<std::vector<std::byte>> wrap_payload(std::span<const std::byte> payload, const crypto::Key* key) {
  constexpr std::size_t kHeader = 16;
  std::vector<std::byte> file(kHeader + payload.size());
  std::memcpy(file.data(), "EDL2", 4);
  write_u32(file, 4, key != nullptr ? 1 : 0);
  write_u32(file, 8, payload.size());
  std::copy(payload.begin(), payload.end(), file.begin() + kHeader);
  if (key != nullptr) RUNNEL_TRY(crypto::aes_ctr(*key, first_counter(), std::span(file).subspan(kHeader)));
  return file;
}

const espdl::Model& EspdlPayload::model() const {
  return *flatbuffers::GetRoot<espdl::Model>(blocks_.data());
}

}  // namespace runnel::compiler
