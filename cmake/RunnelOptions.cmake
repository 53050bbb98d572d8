# Every switch of the build, with its default and its reason.

option(RUNNEL_HOST "Build the host parts: compiler, host nodes, the runnel program, the bundled models" ON)
option(RUNNEL_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
option(RUNNEL_DEVICE_FLAGS "Compile with the flags of the firmware builds: no exceptions, no RTTI" OFF)
option(RUNNEL_FIRMWARE "Build the programs of firmware/ (cmake/arm-none-eabi.cmake sets it)" OFF)
set(RUNNEL_SANITIZE "" CACHE STRING "Sanitizers for every target, e.g. address,undefined or thread")
if(RUNNEL_HOST AND PROJECT_IS_TOP_LEVEL)
  option(RUNNEL_TESTS "Build the test suite (needs GoogleTest)" ON)
  option(RUNNEL_BENCH "Build the benchmarks (needs Google Benchmark)" ON)
else()
  option(RUNNEL_TESTS "Build the test suite (needs GoogleTest)" OFF)
  option(RUNNEL_BENCH "Build the benchmarks (needs Google Benchmark)" OFF)
endif()
option(RUNNEL_EXAMPLES "Build the examples (host builds)" ${PROJECT_IS_TOP_LEVEL})
option(RUNNEL_FUZZ "Build the fuzzers (needs Clang with libFuzzer, and the tests; the preset fuzz sets all that)" OFF)
option(RUNNEL_COVERAGE "Count the lines of parsers that are executed (scripts/fuzz.sh --coverage)" OFF)
if(RUNNEL_COVERAGE)
  add_link_options($<IF:$<CXX_COMPILER_ID:Clang>,-fprofile-instr-generate,--coverage>)
endif()
set(RUNNEL_FFTW AUTO CACHE STRING "FFTW single precision as a second FFT back end: ON, OFF or AUTO (when found). FFTW is GPL")
set(RUNNEL_ALSA AUTO CACHE STRING "Live capture through ALSA: ON, OFF or AUTO (when found)")
set(RUNNEL_PORTAUDIO AUTO CACHE STRING "Live capture and playback through PortAudio: ON, OFF or AUTO (when found)")
set_property(CACHE RUNNEL_PORTAUDIO PROPERTY STRINGS AUTO ON OFF)
set(RUNNEL_MBEDTLS AUTO CACHE STRING "mbedTLS for encrypted models and for the checksums of PDL3 packages: ON, OFF or AUTO (when found)")
set(RUNNEL_SODIUM AUTO CACHE STRING "libsodium for signatures of model images: ON, OFF or AUTO (when found)")
set(RUNNEL_SANDBOX AUTO CACHE STRING "The filter of system calls for untrusted files, with libseccomp: ON, OFF or AUTO (when found)")
set_property(CACHE RUNNEL_SANDBOX PROPERTY STRINGS AUTO ON OFF)
set(RUNNEL_ONNX AUTO CACHE STRING "Reading .onnx files, with protobuf and ONNX's classes: ON, OFF or AUTO (when found)")
set(RUNNEL_MQTT AUTO CACHE STRING "Publishing events to an MQTT broker, with libmosquitto: ON, OFF or AUTO (when found)")
set(RUNNEL_PNG AUTO CACHE STRING "Pictures of features, with libpng: ON, OFF or AUTO (when found)")
set(RUNNEL_HTTPLIB AUTO CACHE STRING "Pages over HTTP, with cpp-httplib: ON, OFF or AUTO (when found)")
set(RUNNEL_CURL AUTO CACHE STRING "Fetching models by name or address, with libcurl: ON, OFF or AUTO (when found)")
set_property(CACHE RUNNEL_CURL PROPERTY STRINGS AUTO ON OFF)
set(RUNNEL_PYTHON AUTO CACHE STRING "The Python package runnel, with pybind11: ON, OFF or AUTO (when found)")
set_property(CACHE RUNNEL_PYTHON PROPERTY STRINGS AUTO ON OFF)
set(RUNNEL_GSTREAMER AUTO CACHE STRING "The GStreamer element runnel and the node gst, with GStreamer 1.20 or later: ON, OFF or AUTO (when found)")
set_property(CACHE RUNNEL_GSTREAMER PROPERTY STRINGS AUTO ON OFF)
set(RUNNEL_PIPEWIRE AUTO CACHE STRING "The node pipewire, with PipeWire 0.3.44 or later: ON, OFF or AUTO (when found)")
set_property(CACHE RUNNEL_PIPEWIRE PROPERTY STRINGS AUTO ON OFF)
set(RUNNEL_NATS AUTO CACHE STRING "Fleets of workers over NATS, with libnats 3 or later: ON, OFF or AUTO (when found)")
set_property(CACHE RUNNEL_NATS PROPERTY STRINGS AUTO ON OFF)
set(RUNNEL_RVV AUTO CACHE STRING "Kernels for RISC-V's vectors, on 64-bit RISC-V with Linux: ON, OFF or AUTO (when a compiler knows them)")
set_property(CACHE RUNNEL_RVV PROPERTY STRINGS AUTO ON OFF)
# OFF: what is compiled for newer instructions than the rest of the program is left out, and best_isa() is generic. The fuzzers do without: Clang 14
# takes minutes for each of these files with sanitizers. The preset asan, by GCC, has them, and runs them with damaged models and awkward shapes.
option(RUNNEL_VECTOR_KERNELS "Kernels for the vector instructions of x86-64, 64-bit Arm and RISC-V, chosen at run time" ON)
set_property(CACHE RUNNEL_HTTPLIB PROPERTY STRINGS AUTO ON OFF)
set_property(CACHE RUNNEL_FFTW PROPERTY STRINGS AUTO ON OFF)
set_property(CACHE RUNNEL_ALSA PROPERTY STRINGS AUTO ON OFF)
set_property(CACHE RUNNEL_MBEDTLS PROPERTY STRINGS AUTO ON OFF)
set_property(CACHE RUNNEL_SODIUM PROPERTY STRINGS AUTO ON OFF)
set_property(CACHE RUNNEL_ONNX PROPERTY STRINGS AUTO ON OFF)
set_property(CACHE RUNNEL_MQTT PROPERTY STRINGS AUTO ON OFF)
set_property(CACHE RUNNEL_PNG PROPERTY STRINGS AUTO ON OFF)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# The time that dates in what is built are of (man pages, changelog, bill of materials), in seconds since 1970: that of the last commit, so that the
# same sources give the same bytes. SOURCE_DATE_EPOCH in the environment precedes it; without both it is now.
set(RUNNEL_EPOCH "$ENV{SOURCE_DATE_EPOCH}")
if(NOT RUNNEL_EPOCH MATCHES "^[0-9]+$" AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND git -c safe.directory=* log -1 --format=%ct WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE RUNNEL_EPOCH
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE ignored)
endif()
if(NOT RUNNEL_EPOCH MATCHES "^[0-9]+$")
  string(TIMESTAMP RUNNEL_EPOCH %s UTC)
endif()
set(ENV{SOURCE_DATE_EPOCH} ${RUNNEL_EPOCH})   # string(TIMESTAMP) reads it

# Precompiled headers of the standard library: a third less time for the host libraries and the tests. Of sanitizers' builds
# those of ThreadSanitizer and the fuzzers have them, whose presets ask for it because their time is short. Every file still includes what it uses: -D RUNNEL_PCH=OFF builds the same.
set(pch_by_default OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT RUNNEL_SANITIZE AND RUNNEL_HOST)
  set(pch_by_default ON)
endif()
option(RUNNEL_PCH "Precompiled headers for host builds" ${pch_by_default})

# The sources of a folder compiled together: half the time again for the host libraries. AddressSanitizer's build and debuggers take
# each file alone, which also proves that it includes what it uses.
set(unity_by_default OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT RUNNEL_SANITIZE AND RUNNEL_HOST)
  set(unity_by_default ON)
endif()
option(RUNNEL_UNITY "Compile the sources of a folder of a host library together" ${unity_by_default})

# What makes mistakes in programs harder to use (docs/packages.md). Sanitizers find more, and do without; builds for other machines are
# emulated here and their instructions counted, so they do without unless they are asked to.
set(hardening_by_default OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND RUNNEL_HOST AND NOT RUNNEL_SANITIZE AND NOT RUNNEL_DEVICE_FLAGS AND NOT CMAKE_CROSSCOMPILING)
  set(hardening_by_default ON)
endif()
option(RUNNEL_HARDENING "Hardened host programs: stack protector, checked calls, PIE, full RELRO, control-flow protection" ${hardening_by_default})
if(RUNNEL_HARDENING AND RUNNEL_SANITIZE)
  message(FATAL_ERROR "runnel: RUNNEL_HARDENING with RUNNEL_SANITIZE=${RUNNEL_SANITIZE}: checked calls of the C library hide from sanitizers what these look for; expected one of them")
endif()

# Names of files in programs (__FILE__) are those below the project's folder, wherever it lies: the same source gives the same bytes. Debuggers
# and sanitizers want the whole path.
set(prefix_map_by_default OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT RUNNEL_SANITIZE)
  set(prefix_map_by_default ON)
endif()
option(RUNNEL_PREFIX_MAP "No path of the build in what is built" ${prefix_map_by_default})

# ccache takes files with precompiled headers when it is told what it may overlook: they hold no __TIME__, and what is defined on the command
# line is part of the hash.
find_program(RUNNEL_CCACHE ccache)
if(RUNNEL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${RUNNEL_CCACHE})
  if(RUNNEL_PCH)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${RUNNEL_CCACHE})
  endif()
endif()

# The component of what is installed without one (RunnelInstall).
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
