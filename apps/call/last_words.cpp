#include "apps/call/last_words.h"

#include <unistd.h>

#include <csignal>
#include <cstring>
#include <exception>
#include <new>

#include "base/host/output_file.h"

namespace runnel::apps {
namespace {

// Without the heap and the streams, which may be what failed.
void write_words(const char* text) noexcept {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
}

[[noreturn]] void end() noexcept {
  remove_unfinished_files();
  write_words("runnel: ");
  const char* reason = "the program cannot go on";
  if (const std::exception_ptr thrown = std::current_exception(); thrown != nullptr) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      reason = "more memory is needed than there is";
    } catch (const std::exception& error) {
      write_words(error.what());
      write_words(": ");
    } catch (...) {  // not of this program
    }
  }
  write_words(reason);
  write_words("\n");
  ::_exit(1);
}

extern "C" void end_by_signal(int number) {
  remove_unfinished_files();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

// Before main(): what is made there may need memory, too.
[[gnu::constructor(101)]] void begin() { std::set_terminate(end); }

}  // namespace

void prepare_last_words() noexcept {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction now {};
    // Who started the program may want it to go on, as nohup does.
    if (::sigaction(number, nullptr, &now) != 0 || now.sa_handler == SIG_IGN) continue;
    now.sa_handler = end_by_signal;
    now.sa_flags = 0;
    ::sigemptyset(&now.sa_mask);
    ::sigaction(number, &now, nullptr);
  }
}

}  // namespace runnel::apps
