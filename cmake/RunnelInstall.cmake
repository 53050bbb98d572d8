# Contents of an installation, and how another CMake project finds it:
#
#   find_package(runnel CONFIG REQUIRED)
#   target_link_libraries(mine PRIVATE runnel::features)      # #include "features/fbank/fbank.h"
#
# Every library made with runnel_library() is installed and exported, and so are the modules that the program opens (RunnelModule). The
# packages that the libraries link come from the targets, so that the package file cannot miss one.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(runnel_libraries GLOBAL PROPERTY RUNNEL_LIBRARIES)
set(RUNNEL_CONFIG_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/runnel)

# How runnel-config.cmake finds the package of a target, by the target's name.
set(RUNNEL_FIND_Threads "find_dependency(Threads)")
set(RUNNEL_FIND_fmt "find_dependency(fmt CONFIG)")
set(RUNNEL_FIND_nlohmann_json "find_dependency(nlohmann_json CONFIG)")
set(RUNNEL_FIND_CLI11 "find_dependency(CLI11 CONFIG)")
set(RUNNEL_FIND_OpenSSL "find_dependency(OpenSSL)")
set(RUNNEL_FIND_OnnxProto "find_dependency(OnnxProto MODULE)")
set(RUNNEL_FIND_flatbuffers "if(NOT TARGET flatbuffers::flatbuffers)\n  find_dependency(FlatBuffers CONFIG)\nendif()")
# pkg-config packages have no CMake package file: the user's project creates their imported target again.
set(RUNNEL_FIND_PKG_SNDFILE "runnel_find_pkg_config(SNDFILE sndfile)")
set(RUNNEL_FIND_PKG_HTTPLIB "runnel_find_pkg_config(HTTPLIB cpp-httplib)")
set(RUNNEL_FIND_PKG_NATS "runnel_find_pkg_config(NATS libnats)")
set(RUNNEL_FIND_PKG_FFTW3F "runnel_find_pkg_config(FFTW3F fftw3f)")

# Sets `result` to the lines that find what the libraries link; fails for a package without such a line.
function(runnel_find_lines result)
  set(lines "")
  foreach(library IN LISTS ARGN)
    get_target_property(class ${library} RUNNEL_CLASS)
    get_target_property(links ${library} LINK_LIBRARIES)
    foreach(link IN LISTS links)
      if(link MATCHES "^\\$<BUILD_(LOCAL_)?INTERFACE:")
        continue()  # for the build only
      endif()
      if(TARGET ${link})
        get_target_property(aliased ${link} ALIASED_TARGET)
        if(aliased)
          set(link ${aliased})
        endif()
        get_target_property(other ${link} RUNNEL_CLASS)
        if(class STREQUAL "device" AND other STREQUAL "host")
          message(FATAL_ERROR "runnel: ${library} is CLASS device, but links ${link}, which is CLASS host")
        endif()
        if(other)
          continue()  # one of ours, exported as well
        endif()
      endif()
      if(link MATCHES "PkgConfig::([A-Za-z0-9_]+)")
        set(recipe RUNNEL_FIND_PKG_${CMAKE_MATCH_1})
      elseif(link MATCHES "([A-Za-z0-9_]+)::")
        set(recipe RUNNEL_FIND_${CMAKE_MATCH_1})
      else()
        continue()  # a plain system library such as m
      endif()
      if(NOT DEFINED ${recipe})
        message(FATAL_ERROR "runnel: ${library} links ${link}, and cmake/RunnelInstall.cmake does not say how an installed runnel finds it; "
                            "set ${recipe} there")
      endif()
      list(APPEND lines "${${recipe}}")
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES lines)
  list(JOIN lines "\n" lines)
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()
runnel_find_lines(RUNNEL_FIND_LINES ${runnel_libraries})

# What is installed belongs to a component, which becomes a Debian package (RunnelPackages): program, library or development.
# What names none belongs to the program (RunnelOptions).
install(TARGETS ${runnel_libraries} EXPORT runnel-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
if(TARGET runnel_shared)
  install(TARGETS runnel_shared EXPORT runnel-targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
  install(FILES ${PROJECT_SOURCE_DIR}/library/runnel_host.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/runnel RENAME runnel.h
          COMPONENT development)
  # pkg-config finds the folders from its own file, so that the installed tree can be moved.
  file(RELATIVE_PATH RUNNEL_PREFIX_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/runnel.pc.in ${PROJECT_BINARY_DIR}/runnel.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/runnel.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endif()
if(TARGET runnel_program)
  set_target_properties(runnel_program PROPERTIES EXPORT_NAME program)
  install(TARGETS runnel_program EXPORT runnel-targets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(EXPORT runnel-targets NAMESPACE runnel:: DESTINATION ${RUNNEL_CONFIG_FOLDER} COMPONENT development)

# Headers keep their path: include/runnel/base/status.h is #include "base/status.h" for users of runnel::base. Headers in a folder
# internal/, neon/ or rvv/ (which other processors cannot compile) are private and not installed.
set(runnel_header_folders base kernels streaming decoding features inference npu pipeline embed)
if(RUNNEL_HOST)
  list(APPEND runnel_header_folders compiler services)
endif()
foreach(folder IN LISTS runnel_header_folders)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${folder}/*.h)
  foreach(header IN LISTS headers)
    if(NOT header MATCHES "/(internal|neon|rvv)/" AND (RUNNEL_HOST OR NOT header MATCHES "/host/"))
      cmake_path(GET header PARENT_PATH parent)
      install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/runnel/${parent}
              COMPONENT development)
    endif()
  endforeach()
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/generated/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/runnel COMPONENT development
        FILES_MATCHING PATTERN "*.h")

if(RUNNEL_HOST)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/models/ DESTINATION ${CMAKE_INSTALL_DATADIR}/runnel/models
          FILES_MATCHING PATTERN "*.rnl" PATTERN "card.json" PATTERN "catalogue.json" PATTERN "lexicon.txt" PATTERN "grammar.txt" PATTERN "CMakeFiles" EXCLUDE)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/models/ DESTINATION ${CMAKE_INSTALL_DATADIR}/runnel/models
          FILES_MATCHING PATTERN "README.md" PATTERN "labels.txt" PATTERN "*.rnlg")
endif()
if(TARGET runnel_manual)
  # zsh of a distribution looks elsewhere than that of /usr/local.
  if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(zsh_folder vendor-completions)
  else()
    set(zsh_folder site-functions)
  endif()
  install(DIRECTORY ${PROJECT_BINARY_DIR}/manual/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${PROJECT_BINARY_DIR}/manual/runnel.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME runnel)
  install(FILES ${PROJECT_BINARY_DIR}/manual/_runnel DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${zsh_folder})
  install(FILES ${PROJECT_BINARY_DIR}/manual/runnel.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licence)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/runnel-config.cmake.in ${PROJECT_BINARY_DIR}/runnel-config.cmake
                              INSTALL_DESTINATION ${RUNNEL_CONFIG_FOLDER} PATH_VARS CMAKE_INSTALL_DATADIR)
# Before 1.0 a minor version may change interfaces.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/runnel-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/runnel-config.cmake ${PROJECT_BINARY_DIR}/runnel-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindOnnxProto.cmake
        DESTINATION ${RUNNEL_CONFIG_FOLDER} COMPONENT development)
