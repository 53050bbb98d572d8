// What the folders for other build systems hold. That they build and compute the same is shown by
// scripts/firmware_systems.sh.
#include "services/embed/build_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/embed/embed_model.h"
#include "tests/support/data.h"

namespace runnel::embedding::test {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

const std::vector<std::string> kSystems = {"esp-idf", "zephyr", "arduino", "mbed"};

class BuildSystems : public testing::Test {
 protected:
  EmbedRequest request(const std::string& system) {
    EmbedRequest out;
    out.model = RUNNEL_DIGITS_MODEL;
    out.output = (fs::path(folder_.path()) / system / "digits").string();
    out.build_system = system;
    return out;
  }
  // Text by path below the folder.
  static Files files_of(const EmbedRequest& call) {
    const auto made = embed_model(call, {});
    EXPECT_TRUE(made.ok()) << made.status().text();
    Files files;
    if (!made.ok()) return files;
    for (const std::string& name : made->files) {
      std::ifstream file(fs::path(call.output) / name, std::ios::binary);
      EXPECT_TRUE(file.good()) << name;
      files[name] = std::string(std::istreambuf_iterator<char>(file), {});
    }
    return files;
  }
  runnel::test::TemporaryFolder folder_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(BuildSystems, EveryWordOfATemplateIsFilledIn) {
  std::vector<std::string> systems = kSystems;
  systems.emplace_back("wasm");
  for (const std::string& system : systems) {
    for (const auto& [path, text] : files_of(request(system))) {
      if (path.starts_with("src/") && path.find('/', 4) != std::string::npos)
        continue;  // runnel's own sources
      for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at + 1)) {
        const std::size_t end = text.find('@', at + 1);
        const std::string word = end == std::string::npos ? "" : text.substr(at + 1, end - at - 1);
        EXPECT_TRUE(word.empty() ||
                    std::any_of(word.begin(), word.end(),
                                [](char letter) { return (letter < 'A' || letter > 'Z') && letter != '_'; }))
            << system << ": " << path << ": @" << word << '@';
      }
      EXPECT_FALSE(has(path, "@") || path.ends_with(".in")) << path;
    }
  }
}

TEST_F(BuildSystems, TheProgramIsTheSameInAllOfThem) {
  EmbedRequest plain = request("cmake");
  const Files expected = files_of(plain);
  EXPECT_EQ(expected.size(), 4U);
  for (const std::string& system : kSystems) {
    const Files files = files_of(request(system));
    const std::string below = system == "arduino" || system == "mbed" ? "src/" : "";
    for (const char* name : {"digits.h", "digits.cpp", "digits_model.cpp"})
      EXPECT_EQ(files.at(below + name), expected.at(name)) << system;
  }
}

TEST_F(BuildSystems, NamesFollowTheProgram) {
  EmbedRequest call = request("zephyr");
  call.name = "one_two";
  Files files = files_of(call);
  EXPECT_TRUE(has(files.at("zephyr/module.yml"), "\nname: runnel_one_two\n"));
  EXPECT_TRUE(has(files.at("Kconfig"), "\nconfig RUNNEL_ONE_TWO\n"));
  EXPECT_TRUE(has(files.at("CMakeLists.txt"), "if(CONFIG_RUNNEL_ONE_TWO)\n"));
  EXPECT_TRUE(has(files.at("CMakeLists.txt"), "zephyr_library_named(runnel_one_two)\n"));
  call = request("esp-idf");
  call.name = "one_two";
  files = files_of(call);
  EXPECT_TRUE(has(files.at("linker.lf"), "if RUNNEL_ONE_TWO_KERNELS_IN_RAM = y:"));
  EXPECT_TRUE(has(files.at("Kconfig"), "config RUNNEL_ONE_TWO_KERNELS_IN_RAM\n"));
  EXPECT_TRUE(has(files.at("examples/microphone/main/idf_component.yml"), "\n  one_two:\n"));
}

// Every header that a copied source includes is in the copy, and every source says what a build's flags say.
TEST_F(BuildSystems, TheCopyIsWhole) {
  const Files files = files_of(request("arduino"));
  int sources = 0;
  for (const auto& [path, text] : files) {
    if (!path.starts_with("src/")) continue;
    for (std::size_t at = text.find("\n#include \""); at != std::string::npos;
         at = text.find("\n#include \"", at + 1)) {
      const std::size_t begin = at + 11, end = text.find('"', begin);
      EXPECT_TRUE(files.contains("src/" + text.substr(begin, end - begin)))
          << path << ": " << text.substr(begin, end - begin);
    }
    EXPECT_FALSE(has(path, "/host/") || has(path, "/x86/")) << path;
    if (!path.ends_with(".cpp") || path.starts_with("src/digits")) continue;
    ++sources;
    EXPECT_TRUE(has(text, "#pragma GCC optimize(\"fp-contract=off\")\n")) << path;
  }
  EXPECT_GT(sources, 150);
  EXPECT_EQ(files.count("src/kernels/conv/cortex_m/conv_dsp.cpp"), 1U);
}

TEST_F(BuildSystems, ManifestsAreInTheirForm) {
  const Files mbed = files_of(request("mbed"));
  const nlohmann::json library = nlohmann::json::parse(mbed.at("mbed_lib.json"));
  EXPECT_EQ(library.at("name"), "runnel-digits");
  EXPECT_EQ(library.at("config").at("hops").at("value"), 2);
  for (const char* path : {"cxx20.json", "examples/microphone/mbed_app.json"})
    EXPECT_TRUE(nlohmann::json::accept(mbed.at(path))) << path;
  EXPECT_TRUE(has(mbed.at(".mbedignore"), "examples/*\n"));
  const std::string properties = files_of(request("arduino")).at("library.properties");
  for (const char* line :
       {"name=digits\n", "\nincludes=digits.h\n", "\ndot_a_linkage=true\n", "\narchitectures=*\n"})
    EXPECT_TRUE(has(properties, line)) << properties;
}

// The front end is made while preparing, for the vectors of the engine; the rest is that of other folders.
TEST_F(BuildSystems, AWebAssemblyModuleHasAPackage) {
  const Files files = files_of(request("wasm")), plain = files_of(request("cmake"));
  EXPECT_EQ(files.at("digits.h"), plain.at("digits.h"));
  EXPECT_EQ(files.at("digits_model.cpp"), plain.at("digits_model.cpp"));
  EXPECT_TRUE(has(files.at("digits.cpp"), "embed::place<Fbank>(memory)")) << files.at("digits.cpp");
  EXPECT_TRUE(has(files.at("digits.cpp"), "->options.num_mel_bins = 40;")) << files.at("digits.cpp");
  EXPECT_FALSE(has(plain.at("digits.cpp"), "embed::place<Fbank>(memory)"));
  EXPECT_TRUE(
      has(files.at("CMakeLists.txt"), "runnel_wasm_package(digits SOURCES digits.cpp digits_model.cpp)"));
  const nlohmann::json package = nlohmann::json::parse(files.at("package.json"));
  EXPECT_EQ(package.at("name"), "runnel-digits");
  EXPECT_EQ(package.at("exports").at("./digits.wasm"), "./digits.wasm");
  EXPECT_TRUE(package.at("private").get<bool>());
}

// A program whose samples no microphone gives has no example for one.
TEST_F(BuildSystems, ExamplesAreForSound) {
  for (const std::string system : {"esp-idf", "zephyr", "arduino"}) {
    EmbedRequest call = request(system);
    call.samples = "float32";
    for (const auto& [path, text] : files_of(call))
      EXPECT_FALSE(path.starts_with("examples/") || path.starts_with("samples/")) << system << ": " << path;
  }
}

// A profile in place of a program: no model among the sources, its image beside them, and examples that look
// for it in flash.
TEST_F(BuildSystems, ModelsInPartitions) {
  const std::map<std::string, std::string> examples = {{"esp-idf", "examples/microphone/main/main.c"},
                                                       {"zephyr", "samples/microphone/src/main.c"},
                                                       {"arduino", "examples/Microphone/Microphone.ino"},
                                                       {"mbed", "examples/microphone/main.cpp"}};
  for (const std::string& system : kSystems) {
    EmbedRequest call = request(system);
    call.output += "-apart";
    call.in_partition = true;
    const Files files = files_of(call);
    const std::string below = system == "arduino" || system == "mbed" ? "src/" : "";
    EXPECT_EQ(files.count("digits.rnli"), 1U) << system;
    EXPECT_EQ(files.count("digits.profile.json"), 1U) << system;
    EXPECT_EQ(files.count(below + "digits_model.cpp"), 0U) << system;
    EXPECT_TRUE(has(files.at(below + "digits.cpp"), "const runnel_profile runnel_digits = {")) << system;
    const std::string& example = files.at(examples.at(system));
    EXPECT_TRUE(has(example, "runnel_prepare_partition(&runnel_digits, &partition, &options, &node)"))
        << system;
    for (const auto& [path, text] : files) {
      if (path.starts_with("src/") && path.find('/', 4) != std::string::npos) continue;
      EXPECT_FALSE(has(text, "IF_PARTITION") || has(text, "digits_model")) << system << ": " << path;
    }
    // The others have none of that.
    const Files plain = files_of(request(system));
    EXPECT_FALSE(has(plain.at(examples.at(system)), "artition")) << system;
    EXPECT_EQ(plain.count("examples/microphone/partitions.csv"), 0U);
    if (system == "esp-idf" || system == "zephyr") {
      EXPECT_TRUE(has(files.at("CMakeLists.txt"), "runnel_embed_partition")) << system;
    }
    if (system == "esp-idf") {
      EXPECT_TRUE(has(files.at("examples/microphone/partitions.csv"), "\nmodel, data, 0x40, "));
    }
    if (system == "mbed") {
      EXPECT_EQ(nlohmann::json::parse(files.at("mbed_lib.json")).at("config").size(), 3U);
      EXPECT_EQ(nlohmann::json::parse(plain.at("mbed_lib.json")).at("config").size(), 1U);
    }
    if (system == "arduino") {
      EXPECT_EQ(files.count("src/embed/partition/partition.cpp"), 1U);
    }
  }
}

TEST_F(BuildSystems, RefuseWhatTheyCannotBe) {
  EmbedRequest call = request("make");
  EXPECT_EQ(embed_model(call, {}).status().text(),
            "--build-system make: expected cmake, esp-idf, zephyr, arduino, mbed or wasm");
  EXPECT_FALSE(fs::exists(call.output));
  call = request("arduino");
  call.runnel = "/nowhere";
  const std::string text(embed_model(call, {}).status().text());
  EXPECT_TRUE(has(text, "is neither in runnel's source tree /nowhere nor among")) << text;
  EXPECT_FALSE(fs::exists(call.output));
  compiler::EmbeddedProgram program;
  program.name = "a";
  program.npu = "ethos-u55-128";
  EXPECT_TRUE(has(std::string(files_for(BuildSystem::zephyr, program, {}).status().text()),
                  "--build-system zephyr: expected --runnel FOLDER with the source tree"));
  program.runnel_folder = "/nowhere";
  EXPECT_TRUE(has(std::string(files_for(BuildSystem::mbed, program, {}).status().text()),
                  "--build-system mbed: parts of the model run on ethos-u55-128"));
  EXPECT_TRUE(has(std::string(files_for(BuildSystem::wasm, program, {}).status().text()),
                  "--build-system wasm: parts of the model run on ethos-u55-128"));
}

}  // namespace
}  // namespace runnel::embedding::test
