# Debian packages by CPack, one for each component: runnel, librunnel0, librunnel-dev, and python3-runnel,
# gstreamer1.0-runnel, runnel-pipewire and runnel-nats where these parts are built.
# scripts/package.sh makes them; docs/packages.md describes them. A package is made for the prefix /usr only: that is where Debian's tools
# look, and where the program looks for its modules and models.
if(NOT PROJECT_IS_TOP_LEVEL OR NOT TARGET runnel_program OR NOT TARGET runnel_shared)
  return()
endif()

set(RUNNEL_PACKAGES runnel librunnel0 librunnel-dev)
set(CPACK_COMPONENTS_ALL program library development)
if(TARGET runnel_python)
  list(APPEND RUNNEL_PACKAGES python3-runnel)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()

if(TARGET runnel_gstreamer)
  list(APPEND RUNNEL_PACKAGES gstreamer1.0-runnel)
  list(APPEND CPACK_COMPONENTS_ALL gstreamer)
endif()

if(TARGET runnel_module_pipewire)
  list(APPEND RUNNEL_PACKAGES runnel-pipewire)
  list(APPEND CPACK_COMPONENTS_ALL pipewire)
endif()

if(TARGET runnel_module_nats)
  list(APPEND RUNNEL_PACKAGES runnel-nats)
  list(APPEND CPACK_COMPONENTS_ALL nats)
endif()

# Every package says where it comes from; lintian asks for both files.
string(TIMESTAMP runnel_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(${PROJECT_SOURCE_DIR}/packaging/debian/changelog.in ${PROJECT_BINARY_DIR}/packaging/changelog @ONLY)
find_program(RUNNEL_GZIP gzip)
if(RUNNEL_GZIP)
  execute_process(COMMAND ${RUNNEL_GZIP} -9nf -k ${PROJECT_BINARY_DIR}/packaging/changelog)
  foreach(package component IN ZIP_LISTS RUNNEL_PACKAGES CPACK_COMPONENTS_ALL)
    install(FILES ${PROJECT_SOURCE_DIR}/packaging/debian/copyright ${PROJECT_SOURCE_DIR}/NOTICE
            DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
    install(FILES ${PROJECT_BINARY_DIR}/packaging/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
            RENAME changelog.Debian.gz COMPONENT ${component} EXCLUDE_FROM_ALL)
    install(FILES ${PROJECT_SOURCE_DIR}/packaging/debian/${package}.lintian-overrides
            DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME ${package} COMPONENT ${component} EXCLUDE_FROM_ALL OPTIONAL)
  endforeach()
endif()
# Debian has compressed man pages. (Elsewhere they stay as they are: this is the prefix of packages.)
if(RUNNEL_GZIP AND CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  install(CODE "file(GLOB pages \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/man/man1/runnel*.1\")
if(pages)
  execute_process(COMMAND ${RUNNEL_GZIP} -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()" COMPONENT program)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/packaging/systemd/runnel-serve.service ${PROJECT_SOURCE_DIR}/packaging/systemd/runnel-listen@.service
              ${PROJECT_SOURCE_DIR}/packaging/systemd/runnel-work@.service ${PROJECT_SOURCE_DIR}/packaging/systemd/runnel-send@.service
        DESTINATION lib/systemd/system COMPONENT program EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_NAME runnel)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The runnel authors <maintainers@runnel.invalid>")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib ${PROJECT_BINARY_DIR}/lib/runnel)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(same_version "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

# Libraries that are opened when they are used are not seen by Debian's tools: recommended by name.
set(opened "")
if(RUNNEL_HAVE_ALSA)
  list(APPEND opened libasound2)
endif()
if(RUNNEL_HAVE_MBEDTLS)
  list(APPEND opened libmbedcrypto7)
endif()
if(RUNNEL_HAVE_PNG)
  list(APPEND opened libpng16-16)
endif()
if(RUNNEL_HAVE_SECCOMP)
  list(APPEND opened libseccomp2)
endif()
if(RUNNEL_HAVE_SODIUM)
  list(APPEND opened libsodium23)
endif()
set(suggested "")
if(RUNNEL_HAVE_MQTT)
  list(APPEND suggested libmosquitto1)
endif()
if(RUNNEL_HAVE_PORTAUDIO)
  list(APPEND suggested libportaudio2)
endif()
list(JOIN suggested ", " CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS)
list(JOIN opened ", " opened)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME runnel)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION sound)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "librunnel0 ${same_version}")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "${opened}")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/postinst ${PROJECT_SOURCE_DIR}/packaging/debian/prerm)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "listens to sound and sensors with trained models
Runs quantized networks over live sound, over folders of recordings and for
clients on the network, and turns trained models into files for that. Results
are the same bits on every machine.
.
This package has the program, several small models and services for systemd.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME librunnel0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "${opened}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/triggers ${PROJECT_SOURCE_DIR}/packaging/debian/shlibs)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "streaming inference of audio and sensor models, shared library
Models over streams of samples and over tensors, for programs in C: decisions,
frames and texts, many streams of one model, states that can be saved.
.
This package has the shared library, and the modules that the program opens.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME librunnel-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "librunnel0 ${same_version}, runnel ${same_version}")
# What the CMake package looks for, when its C++ libraries are linked.
set(needed libfmt-dev nlohmann-json3-dev libsndfile1-dev libflatbuffers-dev pkg-config)
if(RUNNEL_HAVE_ONNX)
  list(APPEND needed libonnx-dev libprotobuf-dev)
endif()
if(RUNNEL_HAVE_HTTPLIB)
  list(APPEND needed libcpp-httplib-dev libssl-dev)
endif()
list(JOIN needed ", " needed)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "${needed}")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "streaming inference of audio and sensor models, development files
The header for C programs with its pkg-config file, and the C++ libraries of
runnel with their headers and their CMake package.")

# Debian's Python; what an import by root has compiled goes with the package.
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-runnel)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.11), python3 (<< 3.12), python3-numpy, librunnel0 ${same_version}")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "runnel")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/python/prerm)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "streaming inference of audio and sensor models, Python package
Models, front ends, the quantizer and graphs of runnel between arrays of
NumPy: import runnel.")

# Both need GStreamer; neither is needed by what works without it.
set(CPACK_DEBIAN_GSTREAMER_PACKAGE_NAME gstreamer1.0-runnel)
set(CPACK_DEBIAN_GSTREAMER_PACKAGE_SECTION sound)
set(CPACK_DEBIAN_GSTREAMER_PACKAGE_DEPENDS "librunnel0 ${same_version}, gstreamer1.0-plugins-base")
set(CPACK_DEBIAN_GSTREAMER_PACKAGE_RECOMMENDS "runnel")
set(CPACK_COMPONENT_GSTREAMER_DESCRIPTION "streaming inference of audio models, GStreamer plugin
The element runnel, which passes sound on and says what a trained model hears
in it, and what lets runnel take the sound of a GStreamer pipeline.")

set(CPACK_DEBIAN_PIPEWIRE_PACKAGE_NAME runnel-pipewire)
set(CPACK_DEBIAN_PIPEWIRE_PACKAGE_SECTION sound)
set(CPACK_DEBIAN_PIPEWIRE_PACKAGE_DEPENDS "librunnel0 ${same_version}")
set(CPACK_DEBIAN_PIPEWIRE_PACKAGE_RECOMMENDS "runnel, pipewire")
set(CPACK_COMPONENT_PIPEWIRE_DESCRIPTION "streaming inference of audio models, PipeWire module
What lets runnel listen to the nodes of PipeWire, as a stream that can be
linked and moved while it runs.")

set(CPACK_DEBIAN_NATS_PACKAGE_NAME runnel-nats)
set(CPACK_DEBIAN_NATS_PACKAGE_SECTION sound)
set(CPACK_DEBIAN_NATS_PACKAGE_DEPENDS "librunnel0 ${same_version}")
set(CPACK_DEBIAN_NATS_PACKAGE_RECOMMENDS "runnel")
set(CPACK_COMPONENT_NATS_DESCRIPTION "streaming inference of audio models, NATS module
What lets workers of runnel on many machines share streams over NATS, so that
none is lost when one of them dies.")

include(CPack)
