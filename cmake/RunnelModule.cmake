# Optional libraries are opened when they are used, so that the program starts without them (docs/commands.md has what that saves):
# C libraries through a table of their functions, C++ libraries with the part of runnel that calls them, as a module.

# runnel_late_library(TARGET NAME FILE PACKAGE): TARGET opens the C library FILE when it is used (base/host/late_library.h), by the name that
# the dynamic linker knows it by, RUNNEL_<NAME>_FILE. The imported target PACKAGE gives the headers; nothing is linked.
function(runnel_late_library target name file package)
  execute_process(COMMAND ${CMAKE_READELF} -d ${file} OUTPUT_VARIABLE dynamic ERROR_QUIET)
  if(NOT dynamic MATCHES "\\(SONAME\\)[^[]*\\[([^]]+)\\]")
    message(FATAL_ERROR "runnel: ${file} has no SONAME, expected a shared library: it is opened when it is used, not linked")
  endif()
  target_compile_definitions(${target} PRIVATE RUNNEL_${name}_FILE="${CMAKE_MATCH_1}")
  set_property(GLOBAL APPEND PROPERTY RUNNEL_LATE_FILES ${CMAKE_MATCH_1})   # for RunnelSbom
  target_include_directories(${target} SYSTEM PRIVATE $<BUILD_INTERFACE:$<TARGET_PROPERTY:${package},INTERFACE_INCLUDE_DIRECTORIES>>)
endfunction()

# Where base/host/late_library.cpp looks for modules: relative to the folder of the program in an installation and in a build, and where this
# runnel was configured to be installed (for programs of users).
include(GNUInstallDirs)
set(RUNNEL_MODULE_FOLDER ${CMAKE_INSTALL_LIBDIR}/runnel)
file(RELATIVE_PATH RUNNEL_MODULE_FROM_PROGRAM ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/runnel)
set(RUNNEL_MODULE_PLACES "\"${RUNNEL_MODULE_FROM_PROGRAM}\", \"lib/runnel\", \"${CMAKE_INSTALL_FULL_LIBDIR}/runnel\"")

# runnel_module(NAME CLIENT ... LIBRARY ... SOURCES ...): the shared object lib/runnel/NAME.so of SOURCES, one file that exports the constant
# runnel_module (base/host/late_library.h), and of the library that it stands for. Programs link LIBRARY itself; those with the target
# property RUNNEL_MODULES, as the program runnel, link CLIENT instead, which has the same functions and opens the module.
# COMPONENT: of the installation, where its package is not that of the shared library (RunnelPackages). Without CLIENT and LIBRARY the module
# is opened by every program.
# Sets RUNNEL_LINK_<NAME> to what libraries that call these functions link.
function(runnel_module name)
  cmake_parse_arguments(ARG "" "CLIENT;LIBRARY;COMPONENT" "SOURCES" ${ARGN})
  if(NOT ARG_COMPONENT)
    set(ARG_COMPONENT library)
  endif()
  set(target runnel_module_${name})
  add_library(${target} MODULE ${ARG_SOURCES})
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/runnel
                        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(${target} PRIVATE runnel_flags ${ARG_LIBRARY})
  # Its copies of runnel's functions are its own.
  target_link_options(${target} PRIVATE LINKER:--exclude-libs,ALL LINKER:--as-needed LINKER:--gc-sections)
  # The program and the shared library open the same ones.
  install(TARGETS ${target} LIBRARY DESTINATION ${RUNNEL_MODULE_FOLDER} COMPONENT ${ARG_COMPONENT})
  set_property(GLOBAL APPEND PROPERTY RUNNEL_MODULES ${target})
  if(NOT ARG_CLIENT)
    return()
  endif()
  set(RUNNEL_LINK_${name} "$<IF:$<BOOL:$<TARGET_PROPERTY:RUNNEL_MODULES>>,$<TARGET_NAME:${ARG_CLIENT}>,$<TARGET_NAME:${ARG_LIBRARY}>>" PARENT_SCOPE)
endfunction()
