// A stranger's program: one small use of each library, printed line by line; expected.txt says what must come
// out.
#include <cstdio>
#include <span>
#include <string_view>

#include "base/crc32c.h"
#include "base/status.h"
#include "base/version.h"

namespace {

runnel::Status refuse(int rank) {
  return runnel::Status(runnel::Code::invalid_data) << "tensor 3: rank " << rank << ", expected at most 6";
}

void use_base() {
  const std::string_view digits = "123456789";
  std::printf("base: version %s\n", runnel::kVersion.data());
  std::printf("base: crc32c %08x\n", static_cast<unsigned>(runnel::crc32c(std::as_bytes(std::span(digits)))));
  const runnel::Status status = refuse(9);
  std::printf("base: %s: %s\n", runnel::name_of(status.code()).data(), status.text().data());
}

}  // namespace

int main() { use_base(); }
