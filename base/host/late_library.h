// Shared libraries that are opened when they are first used: a program starts without those that it does not
// need.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/version.h"

namespace runnel {

// A C library, by the name that the dynamic linker knows (libpng16.so.16); it stays open until the program
// ends. Functions that the program defines itself precede those of the library, as if it were linked.
class LateLibrary {
 public:
  // `purpose` completes "... is needed for".
  LateLibrary(const char* file, const char* purpose);

  // Sets `function` to the function of this name.
  template <class F>
  void find(const char* name, F*& function) {
    function = reinterpret_cast<F*>(address(name));
  }
  // not_found: the library cannot be opened, or it lacks a function.
  [[nodiscard]] const Status& status() const noexcept { return status_; }

 private:
  void* address(const char* name);

  std::string what_;
  Status status_;
};

// The functions of a library as members of a struct, each with the name and type that the library's header
// gives it:
//
//     #define RUNNEL_PNG(F) F(png_image_write_to_memory)
//     struct Png {
//       static constexpr const char* kFile = "libpng16.so.16";
//       static constexpr const char* kPurpose = "pictures";
//       RUNNEL_LATE_FUNCTIONS(RUNNEL_PNG)
//     };
#define RUNNEL_LATE_FUNCTIONS(LIST) \
  LIST(RUNNEL_LATE_MEMBER)          \
  void find_in(::runnel::LateLibrary& library) { LIST(RUNNEL_LATE_FIND) }
#define RUNNEL_LATE_MEMBER(name) decltype(&::name) name = nullptr;
#define RUNNEL_LATE_FIND(name) library.find(#name, name);

// The functions of such a struct; the first call opens the library. Thread-safe. Error: not_found.
template <class Functions>
const Result<Functions>& late() {
  static const Result<Functions> opened = []() -> Result<Functions> {
    LateLibrary library(Functions::kFile, Functions::kPurpose);
    Functions functions;
    functions.find_in(library);
    if (!library.status().ok()) return library.status();
    return functions;
  }();
  return opened;
}

// What program and module agree on: they exchange C++ objects, so both are of one version and one compiler.
constexpr std::array<char, 64> module_build() {
  std::array<char, 64> text{};
  std::size_t at = 0;
  for (const std::string_view part : {kVersion, std::string_view(" by "), std::string_view(__VERSION__)}) {
    for (const char letter : part) {
      if (at + 1 < text.size()) text[at++] = letter;
    }
  }
  return text;
}

// A part of runnel that needs such a library and lies in a shared object of its own, which runnel_module() in
// cmake/RunnelModule.cmake makes. It exports one constant, runnel_module.
template <class Function>
struct Module {
  std::array<char, 64> build = module_build();
  Function* function = nullptr;
};

// Defines that constant, in the file of a module, for a function.
#define RUNNEL_MODULE(function)                                                                           \
  extern "C" {                                                                                            \
  __attribute__((visibility("default"))) extern const ::runnel::Module<decltype(function)> runnel_module; \
  const ::runnel::Module<decltype(function)> runnel_module{::runnel::module_build(), &(function)};        \
  }

// Opens NAME.so in lib/runnel/ next to the folder of the program or of the shared object that has this code,
// or where this runnel was installed; it is never closed. Gives the address of its constant. Thread-safe.
// Errors: not_found, with the file, the purpose and the system's reason; mismatch for a module of another
// build. `purpose` completes "... is needed for".
Result<const void*> open_module(std::string_view name, std::string_view purpose);

template <class Function>
Result<const Module<Function>*> open_module(std::string_view name, std::string_view purpose) {
  RUNNEL_ASSIGN(const void* const module, open_module(name, purpose));
  return static_cast<const Module<Function>*>(module);
}

}  // namespace runnel
