// Saves and restores the whole state of a node.
//
// It is a copy of the memory, pointers included: valid for the same image with the same buffers, as after a
// machine was switched off.
#include <cstring>

#include "base/crc32c.h"
#include "embed/node.h"

using namespace runnel;
using namespace runnel::embed;

namespace {

constexpr std::uint32_t kMagic = 0x314E5352;  // "RSN1"

struct Header {
  std::uint32_t magic = kMagic;
  std::uint32_t identity = 0;  // program, image and addresses
  std::uint64_t bytes = 0, fast_bytes = 0;
  std::uint32_t crc = 0;  // of the following bytes
  std::uint32_t reserved = 0;
};

std::span<const std::byte> kept(const runnel_node& node) noexcept {
  return {reinterpret_cast<const std::byte*>(&node), node.memory.used()};
}
std::span<const std::byte> kept_fast(const runnel_node& node) noexcept {
  return {node.fast_start, node.fast.used()};
}

std::uint32_t identity_of(const runnel_node& node) noexcept {
  const std::uintptr_t places[] = {
      reinterpret_cast<std::uintptr_t>(&node), reinterpret_cast<std::uintptr_t>(node.fast_start),
      reinterpret_cast<std::uintptr_t>(node.program), reinterpret_cast<std::uintptr_t>(&runnel_prepare),
      reinterpret_cast<std::uintptr_t>(node.program->make_nodes)};
  std::uint32_t sum = crc32c(node.program->model.bytes(), crc32c(std::as_bytes(std::span(places))));
  for (const NamedModel& one : node.program->models) sum = crc32c(one.file.bytes(), sum);
  return sum;
}

Header header_of(const runnel_node& node) noexcept {
  Header header;
  header.identity = identity_of(node);
  header.bytes = node.memory.used();
  header.fast_bytes = node.fast.used();
  return header;
}

}  // namespace

size_t runnel_saved_bytes(const runnel_node* node) {
  return node == nullptr ? 0 : sizeof(Header) + node->memory.used() + node->fast.used();
}

runnel_code runnel_save(const runnel_node* node, void* to, size_t bytes) {
  if (node == nullptr || to == nullptr)
    return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of node or bytes");
  if (bytes < runnel_saved_bytes(node))
    return fail(RUNNEL_OUT_OF_MEMORY, "less room than runnel_saved_bytes()");
  Header header = header_of(*node);
  auto* at = static_cast<std::byte*>(to) + sizeof header;
  for (const auto part : {kept(*node), kept_fast(*node)}) {
    if (!part.empty()) std::memcpy(at, part.data(), part.size());
    header.crc = crc32c(part, header.crc);
    at += part.size();
  }
  std::memcpy(to, &header, sizeof header);
  return RUNNEL_OK;
}

runnel_code runnel_restore(runnel_node* node, const void* from, size_t bytes) {
  if (node == nullptr || from == nullptr)
    return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of node or bytes");
  Header header;
  const Header expected = header_of(*node);
  if (bytes != runnel_saved_bytes(node)) return fail(RUNNEL_MISMATCH, "saved bytes of another size");
  std::memcpy(&header, from, sizeof header);
  if (header.magic != kMagic) return fail(RUNNEL_INVALID_DATA, "bytes that runnel_save() did not write");
  if (header.identity != expected.identity || header.bytes != expected.bytes ||
      header.fast_bytes != expected.fast_bytes)
    return fail(RUNNEL_MISMATCH, "saved by another image, program or at another address");
  const auto* body = static_cast<const std::byte*>(from) + sizeof header;
  if (crc32c({body, bytes - sizeof header}) != header.crc)
    return fail(RUNNEL_INVALID_DATA, "saved bytes are damaged: their checksum differs");
  std::memcpy(static_cast<void*>(node), body, static_cast<std::size_t>(expected.bytes));
  if (expected.fast_bytes > 0)
    std::memcpy(node->fast_start, body + expected.bytes, static_cast<std::size_t>(expected.fast_bytes));
  return RUNNEL_OK;
}
