// A profile with two models, and nodes of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apart.h"
#include "base/crc32c.h"
#include "base/sha256.h"
#include "embed/partition/image_header.h"
#include "embed/partition/profile.h"
#include "tests/support/data.h"

namespace runnel::test {

using Bytes = std::vector<std::byte>;

inline constexpr std::size_t kRoom = std::size_t{512} << 10;  // hosts pack weights for their vector units

struct Aligned {
  alignas(64) unsigned char bytes[kRoom];
};

// The images of this build: of the digits model, and of another one.
inline Bytes image(const std::string& name) {
  return read_file(std::string(PARTITION_IMAGES) + "/" + name + ".rnli");
}

// The same image with another header.
template <class Change>
Bytes with_header(Bytes image, Change change) {
  auto header = embed::read_image_header(
      std::span<const std::byte, embed::kImageHeaderBytes>(image.data(), embed::kImageHeaderBytes));
  EXPECT_TRUE(header.ok());
  change(*header);
  const embed::ImageHeaderBytes bytes = embed::write_image_header(*header);
  std::copy(bytes.begin(), bytes.end(), image.begin());
  return image;
}
inline Bytes of_version(const std::string& name, std::uint32_t version) {
  return with_header(image(name), [&](embed::ImageHeader& header) { header.version = version; });
}
// A model file as an image of the profile.
inline Bytes image_of_model(const Bytes& model) {
  Bytes out = image("digits");
  out.resize(embed::kImageHeaderBytes);
  out.insert(out.end(), model.begin(), model.end());
  return with_header(out, [&](embed::ImageHeader& header) {
    header.length = static_cast<std::uint32_t>(model.size());
    header.digest = sha256(model);
  });
}

// Mapped memory is aligned as flash is.
class Mapped {
 public:
  explicit Mapped(const Bytes& bytes) : words_((bytes.size() + 63) / 64 + 1), size_(bytes.size()) {
    std::memcpy(words_.data(), bytes.data(), bytes.size());
  }
  [[nodiscard]] runnel_partition partition() const {
    runnel_partition out = {};
    out.address = words_.data();
    out.bytes = static_cast<std::uint32_t>(size_);
    return out;
  }
  std::byte* data() { return reinterpret_cast<std::byte*>(words_.data()); }

 private:
  struct alignas(64) Word {
    std::byte bytes[64];
  };
  std::vector<Word> words_;
  std::size_t size_;
};

// The model's output frames.
struct Tail {
  std::vector<unsigned char> bytes;
  static void keep(void* user, runnel_stage stage, const void* frames, std::size_t count,
                   std::size_t frame_bytes, std::int64_t) {
    if (stage != RUNNEL_OUTPUT) return;
    auto& out = *static_cast<Tail*>(user);
    const auto* from = static_cast<const unsigned char*>(frames);
    out.bytes.insert(out.bytes.end(), from, from + count * frame_bytes);
  }
};

// Of a node that observes with `tail`, for a short sound: it tells models apart.
inline std::vector<unsigned char> output_of(runnel_node* node, Tail& tail) {
  tail.bytes.clear();
  std::vector<std::int16_t> samples(RUNNEL_APART_HOP * 8);
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] = static_cast<std::int16_t>((i * 7919) % 6000 - 3000);
  EXPECT_EQ(runnel_push_int16(node, samples.data(), samples.size()), RUNNEL_OK) << runnel_last_failure();
  EXPECT_EQ(runnel_end(node), RUNNEL_OK);
  return tail.bytes;
}

}  // namespace runnel::test
