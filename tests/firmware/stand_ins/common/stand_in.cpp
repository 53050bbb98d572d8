#include "stand_in.h"

#include <array>
#include <charconv>
#include <cstdarg>
#include <cstring>
#include <string_view>

#include "firmware/startup/image.h"
#include "firmware/startup/semihosting.h"

namespace {

using namespace runnel::firmware;

constexpr int kHeader = 44;     // of a plain .wav file
HostFile* recording = nullptr;  // while the image runs: nothing is destroyed at its end

void print_number(long value) {
  std::array<char, 24> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  print(std::string_view(text.data(), static_cast<std::size_t>(end - text.data())));
}

}  // namespace

int stand_in_samples(int16_t* to, int count) {
  const std::size_t bytes = recording->read(to, static_cast<std::size_t>(count) * sizeof *to);
  return static_cast<int>(bytes / sizeof *to);
}

int stand_in_printf(const char* format, ...) {
  va_list values;
  va_start(values, format);
  for (const char* at = format; *at != '\0'; ++at) {
    if (*at != '%') {
      print(std::string_view(at, 1));
      continue;
    }
    const bool is_long = at[1] == 'l';
    at += is_long ? 2 : 1;
    if (*at == 's') print(va_arg(values, const char*));
    if (*at == '%') print("%");
    if (*at == 'd' || *at == 'u')
      print_number(is_long      ? va_arg(values, long)
                   : *at == 'd' ? va_arg(values, int)
                                : static_cast<long>(va_arg(values, unsigned)));
  }
  va_end(values);
  return 0;
}

int runnel::firmware::image_main() noexcept {
  static std::array<char, 512> buffer;
  std::array<const char*, 2> words{};
  std::array<char, kHeader> header{};
  HostFile file;
  recording = &file;
  if (command_line(buffer, words) < 2 || !file.open_to_read(words[1]) ||
      file.read(header.data(), header.size()) != header.size()) {
    print("no recording\n");
    return 1;
  }
  stand_in_main();
  return 0;
}
