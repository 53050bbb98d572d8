# Functions for runnel's targets, so that every folder states only its specifics.

add_library(runnel_flags INTERFACE)
# One order of floating-point operations on every machine: no contraction into fused multiply-add, no fast math.
target_compile_options(runnel_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping copies in "text" + std::string (GCC bug 105651).
  target_compile_options(runnel_flags INTERFACE -Wno-restrict)
endif()
if(RUNNEL_WERROR)
  target_compile_options(runnel_flags INTERFACE -Werror)
endif()
if(RUNNEL_DEVICE_FLAGS)
  target_compile_options(runnel_flags INTERFACE -fno-exceptions -fno-rtti -fno-threadsafe-statics)
endif()
if(RUNNEL_SANITIZE)
  target_compile_options(runnel_flags INTERFACE -fsanitize=${RUNNEL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The instrumentation makes GCC suspect uninitialised values; builds without sanitizers keep the warning.
    target_compile_options(runnel_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_link_options(runnel_flags INTERFACE -fsanitize=${RUNNEL_SANITIZE})
endif()

if(RUNNEL_HARDENING)
  target_compile_options(runnel_flags INTERFACE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  # With checked calls the C library also wants results used that programs may well ignore, and GCC sees overflows in them that are none. All of
  # these are errors in builds without checked calls (debug and sanitizers).
  target_compile_options(runnel_flags INTERFACE -Wno-error=unused-result -Wno-error=array-bounds)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(runnel_flags INTERFACE -Wno-error=stringop-overflow -Wno-error=stringop-overread)
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|i.86)$")
    target_compile_options(runnel_flags INTERFACE -fcf-protection=full -fstack-clash-protection)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    target_compile_options(runnel_flags INTERFACE -mbranch-protection=standard)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")   # Clang has it for Arm in later versions
      target_compile_options(runnel_flags INTERFACE -fstack-clash-protection)
    endif()
  endif()
  target_link_options(runnel_flags INTERFACE LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
  include(CheckPIESupported)
  check_pie_supported()
endif()
if(RUNNEL_PREFIX_MAP)
  target_compile_options(runnel_flags INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
  # A build inside the source's folder is covered; a name of its own in the options would keep the compiler's cache from serving two of them.
  cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${PROJECT_BINARY_DIR}" NORMALIZE build_inside)
  if(NOT build_inside)
    target_compile_options(runnel_flags INTERFACE -ffile-prefix-map=${PROJECT_BINARY_DIR}/=)
  endif()
endif()

# runnel_library(NAME CLASS device|host SOURCES ... [DEPENDS ...] [PRIVATE_DEPENDS ...])
# makes runnel_NAME with the alias runnel::NAME. CLASS device: no heap after prepare, no exceptions, RTTI, threads or iostream;
# the `device` preset builds only these.
set_property(GLOBAL PROPERTY RUNNEL_LIBRARIES "")
function(runnel_library name)
  cmake_parse_arguments(ARG "" "CLASS" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(runnel_${name} STATIC ${ARG_SOURCES})
  add_library(runnel::${name} ALIAS runnel_${name})
  set_target_properties(runnel_${name} PROPERTIES EXPORT_NAME ${name} RUNNEL_CLASS "${ARG_CLASS}")
  # Flash is scarce on devices, and a module is sent to browsers: code that does not compute samples or tensors is compiled for size (single files may differ).
  if((RUNNEL_FIRMWARE OR EMSCRIPTEN) AND NOT name MATCHES "^(kernels|features)$")
    target_compile_options(runnel_${name} PRIVATE $<$<CONFIG:Release,MinSizeRel>:-Os>)
  endif()
  if(NOT RUNNEL_FIRMWARE AND NOT EMSCRIPTEN)   # there it would cost a table of addresses for nothing
    set_target_properties(runnel_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
  target_include_directories(runnel_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>
                             $<INSTALL_INTERFACE:include/runnel>)
  target_compile_features(runnel_${name} PUBLIC cxx_std_20)
  target_link_libraries(runnel_${name} PUBLIC ${ARG_DEPENDS} PRIVATE $<BUILD_INTERFACE:runnel_flags> ${ARG_PRIVATE_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY RUNNEL_LIBRARIES runnel_${name})
  # Of what every program for a microcontroller may link, on any processor (services/embed/device_copy.h).
  if(ARG_CLASS STREQUAL "device" AND NOT name MATCHES "npu")
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
    list(TRANSFORM ARG_SOURCES PREPEND ${folder}/)
    set_property(GLOBAL APPEND PROPERTY RUNNEL_DEVICE_SOURCES ${ARG_SOURCES})
  endif()
endfunction()

# runnel_test(NAME SOURCES ... [DEPENDS ...] [LABELS ...]): one GoogleTest program; each TEST becomes a CTest entry.
# Labels that scripts/test.sh knows: `long` (only with --all), `threads` (also under ThreadSanitizer), `fuzz` (seeds of the
# fuzzers), `native` (not under sanitizers), `compiles` (beside `long`: minutes of compiling, last where time is limited).
function(runnel_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE runnel_flags runnel_test_support GTest::gtest_main ${ARG_DEPENDS})
  runnel_reuse_precompiled(${name} runnel_test_headers)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
  # What takes long begins first, or the last minutes of a run have one test and idle processors. Of those that took longer still, each folder says so.
  set(cost 0)
  if("long" IN_LIST ARG_LABELS)
    set(cost 100)
  endif()
  # gtest_discover_tests() cannot pass properties that are lists, so a generated file sets them afterwards.
  set(properties ${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake)
  file(CONFIGURE OUTPUT ${properties} @ONLY CONTENT [==[
if(@name@_TESTS)
  set_tests_properties(${@name@_TESTS} PROPERTIES LABELS "@ARG_LABELS@" COST @cost@
                       ENVIRONMENT "RUNNEL_TEST_DATA=@RUNNEL_TEST_DATA@;RUNNEL_PROGRAM=@PROJECT_BINARY_DIR@/runnel;RUNNEL_CONFIG=")
endif()
]==])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${properties})
  if("threads" IN_LIST ARG_LABELS)
    if(NOT TARGET thread_tests)
      add_custom_target(thread_tests)
    endif()
    add_dependencies(thread_tests ${name})
  endif()
endfunction()

# runnel_rvv_sources(TARGET SOURCES ...): files with RISC-V's vectors (cmake/RunnelRvv.cmake), of the folder of the caller.
function(runnel_rvv_sources target)
  if(RUNNEL_COMPILER_KNOWS_RVV)
    target_sources(${target} PRIVATE ${ARGN})
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${RUNNEL_RVV_FLAGS};$<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>;$<$<CXX_COMPILER_ID:GNU>:-Wno-psabi>")
    return()
  endif()
  set(config RELEASE)   # of generators that choose at build time, too
  if(CMAKE_BUILD_TYPE)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" config)
  endif()
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS_${config}}")
  # Not every loop in place can become vectors.
  list(APPEND flags -std=c++20 -fPIC -Wall -Wextra -Wpedantic -Wshadow -Wno-pass-failed -ffp-contract=off)
  if(RUNNEL_WERROR)
    list(APPEND flags -Werror)
  endif()
  foreach(source IN LISTS ARGN)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/rvv/${source}.o)
    get_filename_component(folder ${object} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${RUNNEL_RVV_COMPILER} ${RUNNEL_RVV_OTHER_FLAGS} ${RUNNEL_RVV_FLAGS} ${flags}
              -I ${PROJECT_SOURCE_DIR} -I ${PROJECT_BINARY_DIR}/generated -MD -MF ${object}.d -MT ${object}
              -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${RUNNEL_RVV_COMPILER}
      DEPFILE ${object}.d
      COMMENT "Building ${source} with RISC-V's vectors" VERBATIM)
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    target_sources(${target} PRIVATE ${object})
    set_property(GLOBAL APPEND PROPERTY RUNNEL_RVV_OBJECTS ${object})   # TARGET_OBJECTS has none of these
  endforeach()
endfunction()
