# runnel_precompile(TARGET HEADER...): precompiled headers for TARGET, where RUNNEL_PCH asks for them. Headers of the standard library and of
# other projects only, so that an edit of ours compiles what depends on it and no more.
set(RUNNEL_STANDARD_HEADERS <algorithm> <array> <charconv> <cmath> <cstring> <limits> <map> <memory> <optional> <set> <span> <string>
    <string_view> <utility> <variant> <vector>)
# -fpch-preprocess: what ccache needs to look at the headers after it. GCC 12 forgets that code from a precompiled header is the standard
# library's, and warns about its bounds; builds without precompiled headers keep these warnings.
set(RUNNEL_PCH_FLAGS $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow> $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>)
# The same with the headers of FlatBuffers, for targets most of whose files read or write models.
set(RUNNEL_MODEL_HEADERS ${RUNNEL_STANDARD_HEADERS} <flatbuffers/flatbuffers.h>)
function(runnel_precompile target)
  if(NOT RUNNEL_PCH)
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
  if(NOT RUNNEL_PCH OR sources MATCHES "\\.c(;|$)")   # headers of C++ are none for C
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${from})
  target_compile_options(${target} PRIVATE ${RUNNEL_PCH_FLAGS})
endfunction()
