#include "services/models/find.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "tests/support/data.h"

namespace runnel::models {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text = "RNL1") {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

// Sets an environment variable, or removes it, until the end of the test.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* const old = std::getenv(name); old != nullptr) old_ = old;
    set(value);
  }
  ~Variable() { set(old_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const std::optional<std::string>& value) {
    if (value)
      setenv(name_, value->c_str(), 1);
    else
      unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> old_;
};

class FindModel : public testing::Test {
 protected:
  fs::path first() const { return folder_.path() / "first"; }
  fs::path second() const { return folder_.path() / "second"; }
  std::vector<ModelFolder> folders() const { return {{Place::path, first()}, {Place::user, second()}}; }
  std::string refusal(std::string_view name) const {
    const Result<std::string> found = find_model(name, folders());
    EXPECT_FALSE(found.ok()) << *found;
    return std::string(found.status().text());
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(FindModel, TakesBothFormsOfANameAndTheFirstFolder) {
  write(first() / "digits.rnl");
  write(second() / "digits" / "digits.rnl");
  write(second() / "vad" / "vad.rnl");
  EXPECT_EQ(*find_model("digits", folders()), first() / "digits.rnl");
  EXPECT_EQ(*find_model("vad", folders()), second() / "vad" / "vad.rnl");
}

TEST_F(FindModel, APathComesFirstAndIsNotChanged) {
  write(first() / "digits.rnl");
  const fs::path file = folder_.path() / "digits";
  write(file);
  EXPECT_EQ(*find_model(file.string(), folders()), file.string());
  // What can only be a path is left to its reader, who says what is wrong with it.
  EXPECT_EQ(*find_model("no/such/digits", folders()), "no/such/digits");
  EXPECT_EQ(*find_model("other.onnx", folders()), "other.onnx");
  EXPECT_EQ(*find_model("other.rnl", folders()), "other.rnl");
}

TEST_F(FindModel, AFolderIsNoModel) {
  write(first() / "here" / "here.rnl");
  const fs::path before = fs::current_path();
  fs::create_directories(folder_.path() / "work" / "here");
  fs::current_path(folder_.path() / "work");
  const Result<std::string> found = find_model("here", folders());
  fs::current_path(before);
  EXPECT_EQ(*found, first() / "here" / "here.rnl");
}

TEST_F(FindModel, AWrongNameIsAnsweredWithTheNearest) {
  EXPECT_EQ(refusal("digits"), "'digits' is neither a file nor the name of a model: no models are installed");
  write(first() / "digits.rnl");
  write(second() / "vibration" / "vibration.rnl");
  EXPECT_EQ(refusal("digts"), "'digts' is neither a file nor the name of a model, did you mean 'digits'?");
  EXPECT_EQ(refusal("speech"),
            "'speech' is neither a file nor the name of a model; the names are digits, vibration");
  EXPECT_EQ(refusal("digits.rnl"),
            "digits.rnl: no such file; the model digits is known by its name alone, found in " +
                (first() / "digits.rnl").string());
  EXPECT_EQ(refusal(""), "an empty name of a model, expected a file or a name that `runnel models` lists");
}

TEST_F(FindModel, ListsWhatHasANameOnceAndNothingElse) {
  write(first() / "b.rnl", "12345");
  write(second() / "b" / "b.rnl", "1");
  write(second() / "a" / "a.rnl");
  write(second() / "a" / "other.rnl");   // not the model of its folder
  write(second() / "c" / "c.rnl.part");  // not yet whole
  write(second() / "README.md");
  fs::create_directories(second() / "d.rnl");
  const std::vector<FoundModel> models = list_models(folders());
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0].name, "a");
  EXPECT_EQ(models[0].place, Place::user);
  EXPECT_EQ(models[1].name, "b");
  EXPECT_EQ(models[1].path, first() / "b.rnl");
  EXPECT_EQ(models[1].place, Place::path);
  EXPECT_EQ(models[1].bytes, 5U);
}

TEST_F(FindModel, FoldersComeFromTheEnvironment) {
  const Variable path("RUNNEL_MODEL_PATH", first().string() + "::" + second().string());
  const Variable data("XDG_DATA_HOME", folder_.path().string());
  const std::vector<ModelFolder> all = model_folders();
  ASSERT_GE(all.size(), 4U);
  EXPECT_EQ(all[0].folder, first());
  EXPECT_EQ(all[1].folder, second());
  EXPECT_EQ(all[1].place, Place::path);
  EXPECT_EQ(all[2].place, Place::bundled);
  EXPECT_EQ(all.back().place, Place::user);
  EXPECT_EQ(all.back().folder, folder_.path() / "runnel" / "models");
  // The build tree of this test is recognised from any depth in it.
  EXPECT_TRUE(fs::exists(all[2].folder.parent_path() / "CMakeCache.txt")) << all[2].folder;
  EXPECT_EQ(all[2].folder.filename(), "models");
}

TEST_F(FindModel, TheUsersFolderHasADefaultAndIgnoresRelativePaths) {
  const Variable home("HOME", "/some/home");
  {
    const Variable data("XDG_DATA_HOME", "relative");
    EXPECT_EQ(user_model_folder(), "/some/home/.local/share/runnel/models");
  }
  const Variable data("XDG_DATA_HOME", std::nullopt);
  EXPECT_EQ(user_model_folder(), "/some/home/.local/share/runnel/models");
  const Variable nowhere("HOME", std::nullopt);
  EXPECT_EQ(user_model_folder(), "");
}

}  // namespace
}  // namespace runnel::models
