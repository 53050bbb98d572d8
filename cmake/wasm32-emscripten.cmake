# Toolchain file for WebAssembly with 128-bit vectors (Debian: emscripten), for the preset `wasm` and for folders of
# `runnel embed --build-system wasm`:
#
#   cmake --preset wasm && cmake --build --preset wasm
#
# Device libraries only, with the flags of firmware: no heap, exceptions, RTTI, threads or files reach the module.
find_program(RUNNEL_EMXX em++)
if(NOT RUNNEL_EMXX)
  message(FATAL_ERROR "em++ is missing: Debian's emscripten (scripts/install.sh wasm)")
endif()
file(REAL_PATH ${RUNNEL_EMXX} em)
get_filename_component(EMSCRIPTEN_ROOT_PATH ${em} DIRECTORY)
set(EMSCRIPTEN_SYSTEM_PROCESSOR wasm32)
include(${EMSCRIPTEN_ROOT_PATH}/cmake/Modules/Platform/Emscripten.cmake)

# Engines accept a module as a whole or not at all, so vectors are a choice of the build: -D RUNNEL_SIMD128=OFF for engines without them.
set(RUNNEL_SIMD128 ON CACHE BOOL "WebAssembly's 128-bit vectors")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RUNNEL_SIMD128)
set(CMAKE_CXX_FLAGS_INIT "-isystem ${CMAKE_CURRENT_LIST_DIR}/wasm32 -fno-use-cxa-atexit -ffunction-sections -fdata-sections")
if(RUNNEL_SIMD128)
  string(APPEND CMAKE_CXX_FLAGS_INIT " -msimd128")
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG" CACHE STRING "")
set(RUNNEL_HOST OFF CACHE BOOL "")
set(RUNNEL_DEVICE_FLAGS ON CACHE BOOL "")
