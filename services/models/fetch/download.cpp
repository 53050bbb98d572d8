#include "services/models/fetch/download.h"

#include <curl/curl.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/host/late_library.h"
#include "base/version.h"

namespace runnel::models {
namespace {

namespace fs = std::filesystem;

// clang-format off
#define RUNNEL_CURL(F) \
  F(curl_easy_cleanup) F(curl_easy_getinfo) F(curl_easy_init) F(curl_easy_perform) F(curl_easy_setopt) \
  F(curl_easy_strerror) F(curl_global_init)
// clang-format on
struct Curl {
  static constexpr const char* kFile = RUNNEL_CURL_FILE;
  static constexpr const char* kPurpose = "fetching models";
  RUNNEL_LATE_FUNCTIONS(RUNNEL_CURL)
};

// Once can_download() has opened it.
const Curl& library() { return *late<Curl>(); }

struct Easy {
  Easy() : handle(library().curl_easy_init()) {}
  ~Easy() {
    if (handle != nullptr) library().curl_easy_cleanup(handle);
  }
  Easy(const Easy&) = delete;
  Easy& operator=(const Easy&) = delete;
  template <class Value>
  void set(CURLoption option, Value value) const {
    static_cast<void>(library().curl_easy_setopt(handle, option, value));
  }
  CURL* handle;
};

// One transfer into FILE.part, appended to what it holds.
struct Transfer {
  const Download& what;
  std::FILE* file = nullptr;
  std::uint64_t there = 0;  // bytes of FILE.part
  bool too_long = false, disk_failed = false, stopped = false;

  std::size_t take(const char* bytes, std::size_t count) {
    if (there + count > what.most_bytes) {
      too_long = true;
      return 0;
    }
    if (std::fwrite(bytes, 1, count, file) != count) {
      disk_failed = true;
      return 0;
    }
    there += count;
    return count;
  }
  static std::size_t write(char* bytes, std::size_t size, std::size_t count, void* self) {
    return static_cast<Transfer*>(self)->take(bytes, size * count);
  }
  static int progress(void* self, curl_off_t all, curl_off_t, curl_off_t, curl_off_t) {
    Transfer& transfer = *static_cast<Transfer*>(self);
    if (transfer.what.stop != nullptr && transfer.what.stop->load()) {
      transfer.stopped = true;
      return 1;
    }
    // `all` counts from where the transfer was resumed.
    if (transfer.what.progress)
      transfer.what.progress(transfer.there, all > 0 ? transfer.start + static_cast<std::uint64_t>(all) : 0);
    return 0;
  }
  std::uint64_t start = 0;  // bytes that were there before
};

enum class Next { done, again_from_the_start };

// Runs one transfer. `again_from_the_start`: the server cannot continue what is there.
Result<Next> transfer_once(const Download& what, const std::string& part) {
  std::error_code none;
  Transfer transfer{what};
  const auto size = fs::file_size(part, none);
  transfer.start = transfer.there = none ? 0 : size;
  const auto failed = [&](Code code) { return Status(code) << what.address << ": "; };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(part.c_str(), "ab"), &std::fclose);
  if (file == nullptr) return Status(Code::io_error) << part << ": cannot be written";
  transfer.file = file.get();
  const Easy easy;
  if (easy.handle == nullptr) return failed(Code::io_error) << "libcurl cannot start";
  std::array<char, CURL_ERROR_SIZE> detail{};
  const std::string agent = "runnel/" + std::string(kVersion);
  easy.set(CURLOPT_URL, what.address.c_str());
  easy.set(CURLOPT_PROTOCOLS_STR, "http,https");
  easy.set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  easy.set(CURLOPT_FOLLOWLOCATION, 1L);
  easy.set(CURLOPT_MAXREDIRS, 5L);
  easy.set(CURLOPT_FAILONERROR, 1L);
  easy.set(CURLOPT_NOSIGNAL, 1L);
  easy.set(CURLOPT_USERAGENT, agent.c_str());
  easy.set(CURLOPT_CONNECTTIMEOUT, 30L);
  easy.set(CURLOPT_LOW_SPEED_LIMIT, 1L);  // bytes per second, over the next number of seconds
  easy.set(CURLOPT_LOW_SPEED_TIME, 60L);
  easy.set(CURLOPT_ERRORBUFFER, detail.data());
  easy.set(CURLOPT_NOPROGRESS, 0L);
  easy.set(CURLOPT_XFERINFOFUNCTION, &Transfer::progress);
  easy.set(CURLOPT_XFERINFODATA, &transfer);
  easy.set(CURLOPT_WRITEFUNCTION, &Transfer::write);
  easy.set(CURLOPT_WRITEDATA, &transfer);
  easy.set(CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(transfer.start));
  const CURLcode code = library().curl_easy_perform(easy.handle);
  long answer = 0;
  static_cast<void>(library().curl_easy_getinfo(easy.handle, CURLINFO_RESPONSE_CODE, &answer));
  if (std::fflush(file.get()) != 0) transfer.disk_failed = true;
  if (transfer.disk_failed)
    return Status(Code::io_error) << part << ": cannot be written: the disk may be full";
  if (transfer.too_long)
    return failed(Code::invalid_data) << "more than " << what.most_bytes << " bytes, which is no model";
  if (transfer.stopped)
    return failed(Code::io_error) << "stopped after " << transfer.there
                                  << " bytes; the next call continues from there";
  constexpr long kNothingBehindTheEnd = 416;
  if (transfer.start > 0 && (code == CURLE_RANGE_ERROR || answer == kNothingBehindTheEnd))
    return Next::again_from_the_start;
  if (code == CURLE_HTTP_RETURNED_ERROR)
    return failed(answer == 404 || answer == 410 ? Code::not_found : Code::io_error)
           << "the server answers " << answer << ", expected the file";
  if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT ||
      code == CURLE_COULDNT_RESOLVE_PROXY)
    return failed(Code::io_error) << "there is no way to the server: " << detail.data()
                                  << "; without a network, copy the model file to this machine and import it";
  if (code != CURLE_OK) {
    return failed(Code::io_error) << (detail[0] != '\0' ? detail.data() : library().curl_easy_strerror(code))
                                  << "; " << transfer.there
                                  << " bytes are kept, the next call continues from there";
  }
  return Next::done;
}

// The checksum of a file that is complete.
Status verify(const Download& what, const std::string& file) {
  if (what.sha256.empty()) return {};
  RUNNEL_ASSIGN(const std::string found, sha256_of_file(file));
  if (found == what.sha256) return {};
  return Status(Code::mismatch) << what.address << ": the file has the SHA-256 " << found << ", expected "
                                << what.sha256;
}

}  // namespace

Status can_download() {
  const Result<Curl>& curl = late<Curl>();
  if (!curl.ok()) return curl.status();
  static const CURLcode started = curl->curl_global_init(CURL_GLOBAL_DEFAULT);
  return started == CURLE_OK ? Status() : Status(Code::io_error, "libcurl cannot start");
}

Status download(const Download& what) {
  if (!what.address.starts_with("http://") && !what.address.starts_with("https://"))
    return Status(Code::invalid_argument) << what.address << ": expected an address http:// or https://";
  RUNNEL_TRY(can_download());
  const std::string part = what.file + ".part";
  std::error_code none;
  bool resumed = fs::exists(part, none);
  // A part that is whole already, left by a call that ended while it was verified.
  bool whole = resumed && !what.sha256.empty() && verify(what, part).ok();
  while (!whole) {
    RUNNEL_ASSIGN(const Next next, transfer_once(what, part));
    Status verified;
    if (next == Next::done) verified = verify(what, part);
    whole = next == Next::done && verified.ok();
    if (whole) break;
    const bool checked = next == Next::again_from_the_start || verified.code() == Code::mismatch;
    if (checked) fs::remove(part, none);
    if (!resumed || !checked) return verified;
    resumed = false;  // the earlier piece may be of another file: once more, all of it
  }
  std::error_code error;
  fs::rename(part, what.file, error);
  if (error) return Status(Code::io_error) << what.file << ": " << error.message();
  return {};
}

}  // namespace runnel::models
