# What runnel uses from elsewhere: how each package is found, and what to install when it is not.
#
# After this file the rest of the build may use
#   FlatBuffers  flatbuffers::flatbuffers, flatbuffers::flatc        always (device builds: the headers only)
#   host         fmt::fmt, nlohmann_json::nlohmann_json, CLI11::CLI11, PkgConfig::SNDFILE, Threads::Threads
#   ALSA::ALSA            when RUNNEL_HAVE_ALSA     (RUNNEL_ALSA = AUTO | ON | OFF)
#   PkgConfig::FFTW3F     when RUNNEL_HAVE_FFTW     (RUNNEL_FFTW = AUTO | ON | OFF)
#   XNNPACK::XNNPACK      when RUNNEL_HAVE_XNNPACK  (benchmarks only, when found)
#   GTest::*, benchmark::*  when RUNNEL_TESTS, RUNNEL_BENCH
# docs/dependencies.md says why each of them is here and under which licence.

set(RUNNEL_MISSING "")
# Notes a required package that was not found, so that one message can name all of them.
macro(runnel_require condition what package)
  if(NOT ${condition})
    string(APPEND RUNNEL_MISSING "\n  ${what} (Debian package ${package})")
  endif()
endmacro()

# An AUTO | ON | OFF switch: sets `wanted` to whether the package is worth looking for.
function(runnel_switch option wanted)
  string(TOUPPER "${${option}}" value)
  if(NOT value MATCHES "^(AUTO|ON|OFF|TRUE|FALSE|YES|NO|1|0)$")
    message(FATAL_ERROR "runnel: ${option} is \"${${option}}\", expected AUTO, ON or OFF")
  endif()
  if(value STREQUAL "AUTO" OR value)
    set(${wanted} TRUE PARENT_SCOPE)
  else()
    set(${wanted} FALSE PARENT_SCOPE)
  endif()
endfunction()

# The model file is a FlatBuffer. Device code uses the headers alone, so a device build (which may be a cross build) takes
# these and the schema compiler of this machine; a host build takes the whole package.
if(RUNNEL_HOST)
  find_package(FlatBuffers CONFIG QUIET)
  runnel_require(FlatBuffers_FOUND "FlatBuffers" "libflatbuffers-dev")
  find_program(RUNNEL_FLATC flatc)
  runnel_require(RUNNEL_FLATC "flatc, the FlatBuffers schema compiler" "flatbuffers-compiler")
else()
  find_path(RUNNEL_FLATBUFFERS_HEADERS flatbuffers/flatbuffers.h NO_CMAKE_FIND_ROOT_PATH)
  find_program(RUNNEL_FLATC flatc NO_CMAKE_FIND_ROOT_PATH)
  runnel_require(RUNNEL_FLATBUFFERS_HEADERS "the headers of FlatBuffers" "libflatbuffers-dev")
  runnel_require(RUNNEL_FLATC "flatc, the FlatBuffers schema compiler" "flatbuffers-compiler")
  if(RUNNEL_FLATBUFFERS_HEADERS AND NOT TARGET flatbuffers::flatbuffers)
    # Only this one folder: the rest of a system's include folder must not reach a cross compiler.
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/flatbuffers-headers)
    file(CREATE_LINK ${RUNNEL_FLATBUFFERS_HEADERS}/flatbuffers ${PROJECT_BINARY_DIR}/flatbuffers-headers/flatbuffers SYMBOLIC)
    add_library(flatbuffers::flatbuffers INTERFACE IMPORTED)
    target_include_directories(flatbuffers::flatbuffers INTERFACE ${PROJECT_BINARY_DIR}/flatbuffers-headers)
  endif()
endif()
if(RUNNEL_FLATC AND NOT TARGET flatbuffers::flatc)
  add_executable(flatbuffers::flatc IMPORTED)
  set_target_properties(flatbuffers::flatc PROPERTIES IMPORTED_LOCATION ${RUNNEL_FLATC})
endif()

set(RUNNEL_HAVE_ALSA FALSE)
set(RUNNEL_HAVE_FFTW FALSE)
set(RUNNEL_HAVE_XNNPACK FALSE)

if(RUNNEL_HOST)
  set(THREADS_PREFER_PTHREAD_FLAG ON)
  find_package(Threads REQUIRED)
  find_package(fmt CONFIG QUIET)
  runnel_require(fmt_FOUND "fmt" "libfmt-dev")
  find_package(nlohmann_json CONFIG QUIET)
  runnel_require(nlohmann_json_FOUND "JSON for Modern C++ (nlohmann_json)" "nlohmann-json3-dev")
  find_package(CLI11 CONFIG QUIET)
  runnel_require(CLI11_FOUND "CLI11" "libcli11-dev")
  find_package(PkgConfig QUIET)
  runnel_require(PKG_CONFIG_FOUND "pkg-config" "pkg-config")
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(SNDFILE QUIET IMPORTED_TARGET sndfile)
    runnel_require(SNDFILE_FOUND "libsndfile" "libsndfile1-dev")
  endif()

  runnel_switch(RUNNEL_ALSA wanted)
  if(wanted)
    find_package(ALSA QUIET)
    set(RUNNEL_HAVE_ALSA ${ALSA_FOUND})
  endif()
  runnel_switch(RUNNEL_FFTW wanted)
  if(wanted AND PKG_CONFIG_FOUND)
    pkg_check_modules(FFTW3F QUIET IMPORTED_TARGET fftw3f)
    set(RUNNEL_HAVE_FFTW ${FFTW3F_FOUND})
  endif()
  # AUTO takes what is there; ON insists.
  if(NOT RUNNEL_ALSA STREQUAL "AUTO" AND RUNNEL_ALSA)
    runnel_require(RUNNEL_HAVE_ALSA "ALSA, asked for with RUNNEL_ALSA=${RUNNEL_ALSA}," "libasound2-dev")
  endif()
  if(NOT RUNNEL_FFTW STREQUAL "AUTO" AND RUNNEL_FFTW)
    runnel_require(RUNNEL_HAVE_FFTW "FFTW in single precision, asked for with RUNNEL_FFTW=${RUNNEL_FFTW}," "libfftw3-dev")
  endif()
endif()

if(RUNNEL_TESTS)
  find_package(GTest CONFIG QUIET)
  runnel_require(GTest_FOUND "GoogleTest (or configure with -DRUNNEL_TESTS=OFF)" "libgtest-dev libgmock-dev")
  if(NOT RUNNEL_HOST)
    find_package(nlohmann_json CONFIG QUIET)
    runnel_require(nlohmann_json_FOUND "JSON for Modern C++ (or configure with -DRUNNEL_TESTS=OFF)" "nlohmann-json3-dev")
  endif()
endif()

if(RUNNEL_BENCH)
  find_package(benchmark CONFIG QUIET)
  runnel_require(benchmark_FOUND "Google Benchmark (or configure with -DRUNNEL_BENCH=OFF)" "libbenchmark-dev")
  # XNNPACK is a yardstick: its operators run beside ours in the same benchmark. It has neither a CMake nor a pkg-config file.
  find_path(RUNNEL_XNNPACK_HEADERS xnnpack.h)
  find_path(RUNNEL_PTHREADPOOL_HEADERS pthreadpool.h)
  find_library(RUNNEL_XNNPACK_LIBRARY XNNPACK)
  find_library(RUNNEL_PTHREADPOOL_LIBRARY pthreadpool)
  if(RUNNEL_XNNPACK_HEADERS AND RUNNEL_PTHREADPOOL_HEADERS AND RUNNEL_XNNPACK_LIBRARY AND RUNNEL_PTHREADPOOL_LIBRARY)
    set(RUNNEL_HAVE_XNNPACK TRUE)
    if(NOT TARGET XNNPACK::XNNPACK)
      add_library(XNNPACK::XNNPACK UNKNOWN IMPORTED)
      set_target_properties(XNNPACK::XNNPACK PROPERTIES IMPORTED_LOCATION ${RUNNEL_XNNPACK_LIBRARY}
                            INTERFACE_INCLUDE_DIRECTORIES "${RUNNEL_XNNPACK_HEADERS};${RUNNEL_PTHREADPOOL_HEADERS}"
                            INTERFACE_LINK_LIBRARIES ${RUNNEL_PTHREADPOOL_LIBRARY})
    endif()
  endif()
endif()

if(RUNNEL_MISSING)
  message(FATAL_ERROR "runnel needs packages that were not found:${RUNNEL_MISSING}\n"
                      "On Debian 12, scripts/install.sh installs everything; docs/dependencies.md says what each is for.")
endif()
