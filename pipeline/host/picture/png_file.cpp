#include "pipeline/host/picture/png_file.h"

#include <png.h>

#include "base/host/late_library.h"

namespace runnel::pipeline {
namespace {

#define RUNNEL_PNG(F) F(png_image_write_to_memory)
struct Png {
  static constexpr const char* kFile = RUNNEL_PNG_FILE;
  static constexpr const char* kPurpose = "pictures";
  RUNNEL_LATE_FUNCTIONS(RUNNEL_PNG)
};

}  // namespace

bool has_png() noexcept { return true; }

Result<std::vector<std::byte>> encode_png(const Picture& picture) {
  const Result<Png>& png = late<Png>();
  if (!png.ok()) return png.status();
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width());
  image.height = static_cast<png_uint_32>(picture.height());
  image.format = PNG_FORMAT_RGB;
  std::vector<std::byte> bytes(PNG_IMAGE_PNG_SIZE_MAX(image));
  png_alloc_size_t size = bytes.size();
  if (png->png_image_write_to_memory(&image, bytes.data(), &size, 0, picture.bytes(), 0, nullptr) == 0) {
    return Status(Code::io_error) << "the picture cannot be encoded: "
                                  << static_cast<const char*>(image.message);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace runnel::pipeline
