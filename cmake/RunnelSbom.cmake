# The software bill of materials of a build: runnel.spdx.json, an SPDX 2.3 document that says what runnel is made of. What is linked is read
# from the files that were built, what is opened when used is known from RunnelModule, and headers have the list below; WriteSbom.cmake has the
# licences. docs/packages.md describes it.
if(NOT TARGET runnel_program OR CMAKE_CROSSCOMPILING)
  return()
endif()

# Files that are installed.
set(parts runnel_program)
foreach(target runnel_shared runnel_python runnel_gstreamer)
  if(TARGET ${target})
    list(APPEND parts ${target})
  endif()
endforeach()
get_property(modules GLOBAL PROPERTY RUNNEL_MODULES)
list(APPEND parts ${modules})
set(files "")
foreach(part IN LISTS parts)
  list(APPEND files $<TARGET_FILE:${part}>)
endforeach()

# Packages whose headers are compiled into them.
set(headers libflatbuffers-dev nlohmann-json3-dev libcli11-dev)
if(RUNNEL_HAVE_HTTPLIB)
  list(APPEND headers libcpp-httplib-dev)
endif()
if(RUNNEL_HAVE_PYTHON)
  list(APPEND headers pybind11-dev)
endif()

get_property(opened GLOBAL PROPERTY RUNNEL_LATE_FILES)
list(REMOVE_DUPLICATES opened)
get_property(models GLOBAL PROPERTY RUNNEL_MODEL_FILES)
if(TARGET runnel_models)
  list(APPEND models runnel_models)
endif()
set(sbom ${PROJECT_BINARY_DIR}/runnel.spdx.json)
# Lists are passed with commas, because a semicolon would end an argument.
list(JOIN files "," files)
list(JOIN headers "," headers)
list(JOIN opened "," opened)
add_custom_command(OUTPUT ${sbom}
                   COMMAND ${CMAKE_COMMAND} -D "FILES=${files}" -D "OPENED=${opened}" -D "HEADERS=${headers}" -D MODELS=${PROJECT_BINARY_DIR}/models
                           -D VERSION=${PROJECT_VERSION} -D FFTW=$<BOOL:${RUNNEL_HAVE_FFTW}> -D EPOCH=${RUNNEL_EPOCH} -D READELF=${CMAKE_READELF}
                           -D ARCHITECTURE=${CMAKE_LIBRARY_ARCHITECTURE} -D TO=${sbom} -P ${PROJECT_SOURCE_DIR}/cmake/WriteSbom.cmake
                   DEPENDS ${parts} ${models} ${PROJECT_SOURCE_DIR}/cmake/WriteSbom.cmake COMMENT "Writing the software bill of materials" VERBATIM)
add_custom_target(runnel_sbom ALL DEPENDS ${sbom})
install(FILES ${sbom} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/runnel COMPONENT program)
