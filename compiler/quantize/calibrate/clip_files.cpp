#include "compiler/quantize/calibrate/clip_files.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <mutex>

#include "base/host/npy.h"
#include "inference/host/engine.h"

namespace runnel::compiler::quantizer {
namespace {

namespace fs = std::filesystem;

bool is_raw(const fs::path& path) {
  return path.extension() == ".bin" || path.extension() == ".f32" || path.extension() == ".raw";
}
bool is_known(const fs::path& path) {
  return is_raw(path) || path.extension() == ".npy" || path.extension() == ".csv";
}

bool is_archive(const fs::path& path) { return path.extension() == ".npz"; }
Status archive_status(const fs::path& path) {
  return Status(Code::unsupported)
         << path.string() << ": an archive of arrays; expected the .npy files in it, as unzip takes them out";
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}
std::string text_of(const std::vector<std::int32_t>& shape) {
  return text_of(std::vector<std::int64_t>(shape.begin(), shape.end()));
}

Result<std::vector<float>> floats_of_npy(const fs::path& path, std::vector<std::int64_t>& shape) {
  RUNNEL_ASSIGN(const NpyArray array, read_npy(path));
  if (array.dtype != DType::float32 && array.dtype != DType::float64) {
    return Status(Code::mismatch) << path.string() << ": " << runnel::name_of(array.dtype)
                                  << ", expected float32";
  }
  shape = array.shape;
  std::vector<float> values(array.data.size() / size_of(array.dtype));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (array.dtype == DType::float32) {
      std::memcpy(&values[i], array.data.data() + i * sizeof(float), sizeof(float));
    } else {
      double value = 0;
      std::memcpy(&value, array.data.data() + i * sizeof value, sizeof value);
      values[i] = static_cast<float>(value);
    }
  }
  return values;
}

struct Entry {
  fs::path path;
  std::size_t clips = 0;
  TableLayout table;  // of a .csv file
};

// The file that was read last is kept: clips of one file are requested in sequence.
class FileClips final : public Clips {
 public:
  FileClips(std::vector<Entry> entries, std::size_t elements, TableOptions options)
      : entries_(std::move(entries)), elements_(elements), options_(std::move(options)) {
    for (const Entry& entry : entries_) size_ += entry.clips;
  }
  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] std::string name(std::size_t index) const override {
    const auto [entry, within] = place(index);
    return entries_[entry].path.string() +
           (entries_[entry].clips > 1 ? " clip " + std::to_string(within) : "");
  }
  Status read(std::size_t index, Clip& clip) const override {
    const auto [entry, within] = place(index);
    const fs::path& path = entries_[entry].path;
    clip.assign(1, std::vector<float>(elements_));
    if (is_raw(path)) {
      std::ifstream in(path, std::ios::binary);
      in.seekg(static_cast<std::streamoff>(within * elements_ * sizeof(float)));
      in.read(reinterpret_cast<char*>(clip[0].data()),
              static_cast<std::streamsize>(elements_ * sizeof(float)));
      return in ? Status() : Status(Code::io_error) << path.string() << ": cannot be read";
    }
    const std::lock_guard lock(mutex_);
    if (kept_ != entry) {
      if (path.extension() == ".csv") {
        RUNNEL_ASSIGN(kept_table_, read_number_table(path, options_));
      } else {
        std::vector<std::int64_t> shape;
        RUNNEL_ASSIGN(kept_table_.values, floats_of_npy(path, shape));
        kept_table_.columns = elements_;
      }
      kept_ = entry;
    }
    if (kept_table_.values.size() < (within + 1) * elements_)
      return Status(Code::io_error) << path.string() << ": became shorter while it was read";
    copy_clip(kept_table_, entries_[entry].table, within, clip[0]);
    return {};
  }

 private:
  [[nodiscard]] std::pair<std::size_t, std::size_t> place(std::size_t index) const {
    std::size_t entry = 0;
    while (index >= entries_[entry].clips) index -= entries_[entry++].clips;
    return {entry, index};
  }

  std::vector<Entry> entries_;
  std::size_t elements_ = 0, size_ = 0;
  mutable std::mutex mutex_;
  mutable std::size_t kept_ = static_cast<std::size_t>(-1);
  mutable NumberTable kept_table_;
  TableOptions options_;
};

class JoinedClips final : public Clips {
 public:
  explicit JoinedClips(std::vector<std::unique_ptr<Clips>> inputs) : inputs_(std::move(inputs)) {}
  [[nodiscard]] std::size_t size() const override { return inputs_[0]->size(); }
  [[nodiscard]] std::string name(std::size_t index) const override { return inputs_[0]->name(index); }
  Status read(std::size_t index, Clip& clip) const override {
    clip.clear();
    for (const auto& input : inputs_) {
      Clip one;
      RUNNEL_TRY(input->read(index, one));
      clip.push_back(std::move(one[0]));
    }
    return {};
  }

 private:
  std::vector<std::unique_ptr<Clips>> inputs_;
};

// Shapes agree but for leading ones.
bool same_clip(const std::vector<std::int64_t>& found, const std::vector<std::int32_t>& expected) {
  const auto from = [](const auto& shape) {
    std::vector<std::int64_t> rest(shape.begin(), shape.end());
    while (rest.size() > 1 && rest[0] == 1) rest.erase(rest.begin());
    return rest;
  };
  return from(found) == from(expected);
}

}  // namespace

Result<std::unique_ptr<Clips>> open_clip_files(const std::vector<fs::path>& paths, const Tensor& input,
                                               const TableOptions& options, std::vector<std::string>* notes) {
  const std::size_t elements = element_count(input.shape);
  std::vector<Entry> entries;
  bool noted = false;
  for (const fs::path& path : paths) {
    std::size_t values = 0;
    TableLayout table;
    if (is_raw(path)) {
      std::error_code error;
      const auto bytes = fs::file_size(path, error);
      if (error) return Status(Code::io_error) << path.string() << ": " << error.message();
      if (bytes == 0 || bytes % (elements * sizeof(float)) != 0) {
        return Status(Code::mismatch) << path.string() << ": " << bytes << " bytes, expected a multiple of "
                                      << elements * sizeof(float) << " for float32 clips "
                                      << text_of(input.shape) << " of input " << input.name;
      }
      values = bytes / sizeof(float);
    } else if (path.extension() == ".csv") {
      RUNNEL_ASSIGN(const NumberTable read, read_number_table(path, options));
      RUNNEL_ASSIGN(table, layout_of_table(path, read, input, options));
      values = table.clips * elements;
      // Many files are alike: one note for all of a kind.
      if (notes != nullptr && !table.note.empty() && !noted) notes->push_back(table.note);
      noted = true;
    } else {
      std::vector<std::int64_t> shape;
      RUNNEL_ASSIGN(const std::vector<float> read, floats_of_npy(path, shape));
      values = read.size();
      const bool many = shape.size() > 1 && same_clip({shape.begin() + 1, shape.end()}, input.shape);
      if (values == 0 || (!same_clip(shape, input.shape) && !many)) {
        return Status(Code::mismatch)
               << path.string() << ": shape " << text_of(shape) << ", expected " << text_of(input.shape)
               << " for input " << input.name << ", or many of them along a leading axis";
      }
    }
    entries.push_back({path, values / elements, std::move(table)});
  }
  return std::unique_ptr<Clips>(std::make_unique<FileClips>(std::move(entries), elements, options));
}

Result<std::vector<std::int64_t>> clip_shape_of(const fs::path& path, std::size_t rank) {
  if (path.extension() != ".npy") return std::vector<std::int64_t>();
  RUNNEL_ASSIGN(const NpyArray array, read_npy(path));
  std::vector<std::int64_t> shape = array.shape;
  if (shape.size() == rank + 1) shape.erase(shape.begin());
  if (shape.size() == rank)
    shape[0] = 1;
  else if (shape.size() + 1 == rank)
    shape.insert(shape.begin(), 1);
  else
    return Status(Code::mismatch) << path.string() << ": shape " << text_of(array.shape)
                                  << " for an input of " << rank << " axes";
  return shape;
}

Result<std::vector<fs::path>> list_clip_files(const std::vector<std::string>& paths) {
  std::vector<fs::path> files;
  for (const std::string& given : paths) {
    std::error_code error;
    if (!fs::exists(given, error))
      return Status(Code::not_found) << given << ": there is no such file or folder";
    if (!fs::is_directory(given, error)) {
      if (is_archive(given)) return archive_status(given);
      if (!is_known(given))
        return Status(Code::unsupported)
               << given << ": expected .npy, .csv, .bin or .f32; a recording needs --front-end";
      files.emplace_back(given);
      continue;
    }
    std::vector<fs::path> inside;
    for (fs::directory_iterator entry(given, error), end; !error && entry != end; entry.increment(error)) {
      std::error_code unknown;
      if (entry->is_regular_file(unknown) && is_known(entry->path())) inside.push_back(entry->path());
      // Not passed over in silence: somebody took it for data.
      else if (is_archive(entry->path()))
        return archive_status(entry->path());
    }
    if (error) return Status(Code::io_error) << given << ": cannot be listed: " << error.message();
    std::sort(inside.begin(), inside.end());
    if (inside.empty())
      return Status(Code::not_found)
             << given << ": no .npy, .csv, .bin or .f32 files in it; recordings need --front-end";
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

Result<std::unique_ptr<Clips>> joined_clips(std::vector<std::unique_ptr<Clips>> inputs) {
  if (inputs.size() == 1) return std::move(inputs[0]);
  for (const auto& input : inputs) {
    if (input->size() != inputs[0]->size()) {
      return Status(Code::mismatch) << inputs[0]->size() << " clips for the first input and " << input->size()
                                    << " for another, expected as many";
    }
  }
  return std::unique_ptr<Clips>(std::make_unique<JoinedClips>(std::move(inputs)));
}

}  // namespace runnel::compiler::quantizer
