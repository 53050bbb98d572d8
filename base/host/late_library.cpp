#include "base/host/late_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <vector>

namespace runnel {
namespace {

// The folders of the program and of the shared object that has this code: they differ where the program is
// another's, such as an interpreter.
std::vector<std::filesystem::path> own_folders() {
  std::error_code none;
  std::vector<std::filesystem::path> folders = {
      std::filesystem::read_symlink("/proc/self/exe", none).parent_path()};
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folders), &info) != 0 && info.dli_fname != nullptr)
    folders.push_back(std::filesystem::weakly_canonical(info.dli_fname, none).parent_path());
  return folders;
}

// Where a module can be; RUNNEL_MODULE_PLACES is relative to these folders, or absolute.
std::vector<std::filesystem::path> places_of(std::string_view name) {
  std::vector<std::filesystem::path> places;
  for (const std::filesystem::path& own : own_folders())
    for (const char* folder : {RUNNEL_MODULE_PLACES})
      places.push_back(own / folder / (std::string(name) + ".so"));
  return places;
}

std::string_view reason() {
  const char* const text = dlerror();
  return text == nullptr ? "the system gives no reason" : text;
}

}  // namespace

LateLibrary::LateLibrary(const char* file, const char* purpose)
    : what_(std::string(file) + ", which is needed for " + purpose) {
  if (dlopen(file, RTLD_LAZY | RTLD_GLOBAL) == nullptr)
    status_ = Status(Code::not_found) << what_ << ", cannot be opened: " << reason();
}

void* LateLibrary::address(const char* name) {
  if (!status_.ok()) return nullptr;
  void* const found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) status_ = Status(Code::not_found) << what_ << ", has no function " << name;
  return found;
}

Result<const void*> open_module(std::string_view name, std::string_view purpose) {
  const auto failed = [&](Code code) {
    return Status(code) << name << ".so, which is needed for " << purpose << ", ";
  };
  std::filesystem::path file;
  for (const std::filesystem::path& place : places_of(name)) {
    std::error_code none;
    if (file = place; std::filesystem::exists(file, none)) break;
  }
  void* const module = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (module == nullptr) return failed(Code::not_found) << "cannot be opened: " << reason();
  const void* const constant = dlsym(module, "runnel_module");
  if (constant == nullptr) return failed(Code::mismatch) << "is no module of runnel: " << file.string();
  if (const auto& build = *static_cast<const std::array<char, 64>*>(constant); build != module_build()) {
    return failed(Code::mismatch) << "is of another build: " << file.string() << ", expected runnel "
                                  << module_build().data() << ", found "
                                  << std::string(build.data(), build.size()).c_str();
  }
  return constant;
}

}  // namespace runnel
