// Recordings. The file lives in memory and is opened by its name there.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/fuzz/fuzzer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = memfd_create("recording", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  runnel::test::insist_on_a_sentence(runnel::test::feed_recording(path));
  runnel::test::insist_on_a_sentence(runnel::test::feed_recording(path, "truncated=accept nan=zero"));
  return 0;
}
