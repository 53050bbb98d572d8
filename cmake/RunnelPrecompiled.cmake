# runnel_precompile(TARGET HEADER...): precompiled headers for TARGET, where RUNNEL_PCH asks for them. Headers of the standard library and of
# other projects only, so that an edit of ours compiles what depends on it and no more.
set(RUNNEL_STANDARD_HEADERS <algorithm> <array> <charconv> <cmath> <cstring> <limits> <map> <memory> <optional> <set> <span> <string>
    <string_view> <utility> <variant> <vector>)
# -fpch-preprocess: what ccache needs to look at the headers after it. GCC 12 forgets that code from a precompiled header is the standard
# library's, and warns about its bounds; builds without precompiled headers keep these warnings.
set(RUNNEL_PCH_FLAGS $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow> $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>)
# The same with the headers of FlatBuffers, for targets most of whose files read or write models.
set(RUNNEL_MODEL_HEADERS ${RUNNEL_STANDARD_HEADERS} <flatbuffers/flatbuffers.h>)

# Clang reads declarations from a precompiled header as it needs them, so that one of many headers costs a file little: there is one for all
# targets. It wants the same flags everywhere, so all code is position independent, and files with instructions of their own do without.
if(RUNNEL_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(RUNNEL_ONE_HEADER ON)
  # No time in it, so that ccache knows it again.
  target_compile_options(runnel_flags INTERFACE -fPIC "SHELL:-Xclang -fno-pch-timestamp")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/all_headers.cpp CONTENT "")
  add_library(runnel_all_headers OBJECT ${PROJECT_BINARY_DIR}/all_headers.cpp)
  target_link_libraries(runnel_all_headers PRIVATE runnel_flags)
  target_compile_features(runnel_all_headers PRIVATE cxx_std_20)
  target_precompile_headers(runnel_all_headers PRIVATE ${RUNNEL_MODEL_HEADERS} <atomic> <chrono> <deque> <filesystem> <fstream> <functional>
                            <mutex> <new> <numeric> <random> <sstream> <thread> <unordered_map>)
endif()
function(runnel_precompile target)
  if(NOT RUNNEL_PCH OR RUNNEL_ONE_HEADER)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${ARGN})
  target_compile_options(${target} PRIVATE ${RUNNEL_PCH_FLAGS})
endfunction()

# runnel_unity(TARGET [EXCEPT REGEX]): compiles the sources of each folder of TARGET together, at most eight at a time, where RUNNEL_UNITY asks
# for it: their headers are read and templates made once. Files in one folder then share an unnamed namespace, so that a name in it means one
# thing. EXCEPT: folders whose files are alike on purpose, as nodes, which all have their kParameters.
function(runnel_unity target)
  cmake_parse_arguments(ARG "" "EXCEPT" "" ${ARGN})
  if(NOT RUNNEL_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(folders "")
  foreach(source IN LISTS sources)
    if(NOT source MATCHES "^[^$/].*\\.cpp$" OR (ARG_EXCEPT AND source MATCHES "${ARG_EXCEPT}"))
      continue()
    endif()
    get_filename_component(folder "${source}" DIRECTORY)
    string(MAKE_C_IDENTIFIER "in_${folder}" folder)
    list(APPEND folders ${folder})
    list(APPEND sources_${folder} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(LENGTH sources_${folder} count)
    math(EXPR units "(${count} + 7) / 8")
    math(EXPR each "(${count} + ${units} - 1) / ${units}")
    set(place 0)
    foreach(source IN LISTS sources_${folder})
      math(EXPR unit "${place} / ${each}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${unit})
      math(EXPR place "${place} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# runnel_reuse_precompiled(TARGET FROM): the precompiled headers of FROM, a target with the same flags, for TARGET.
function(runnel_reuse_precompiled target from)
  get_target_property(sources ${target} SOURCES)
  if(NOT RUNNEL_PCH OR RUNNEL_ONE_HEADER OR sources MATCHES "\\.c(;|$)")   # headers of C++ are none for C
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${from})
  target_compile_options(${target} PRIVATE ${RUNNEL_PCH_FLAGS})
endfunction()

# runnel_one_header(FOLDER): the one header for all C++ targets of a folder and those below.
function(runnel_one_header folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(sources ${target} SOURCES)
    get_target_property(flags ${target} LINK_LIBRARIES)
    if(type MATCHES "^(STATIC|OBJECT)_LIBRARY|EXECUTABLE$" AND flags MATCHES "runnel_flags" AND NOT sources MATCHES "\\.c(;|$)"
       AND NOT target MATCHES "^runnel_(kernels|features|all_headers)$")
      target_precompile_headers(${target} REUSE_FROM runnel_all_headers)
    endif()
  endforeach()
  get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(one IN LISTS below)
    runnel_one_header(${one})
  endforeach()
endfunction()
