# Writes an SPDX 2.3 document (RunnelSbom.cmake calls this): FILES that were built, OPENED names of libraries that they open when they are used,
# HEADERS of Debian packages that they were compiled with, a folder MODELS, VERSION, whether FFTW is linked, EPOCH in seconds, READELF,
# ARCHITECTURE (x86_64-linux-gnu), TO. The same input gives the same bytes.
cmake_minimum_required(VERSION 3.25)
foreach(list FILES OPENED HEADERS)
  string(REPLACE "," ";" ${list} "${${list}}")
endforeach()

# What packages of Debian are under, by the start of their names; the first that fits. A library that is not here fails the build.
set(licences
    "libc6|LGPL-2.1-or-later"
    "libgcc-s1|GPL-3.0-or-later WITH GCC-exception-3.1"
    "libstdc++6|GPL-3.0-or-later WITH GCC-exception-3.1"
    "libfmt|MIT"
    "libfftw3|GPL-2.0-or-later"
    "libsndfile|LGPL-2.1-or-later"
    "libcpp-httplib|MIT"
    "libonnx|Apache-2.0"
    "libprotobuf|BSD-3-Clause"
    "libssl|Apache-2.0"
    "libasound|LGPL-2.1-or-later"
    "libportaudio|MIT"
    "libsodium|ISC"
    "libmbedcrypto|Apache-2.0 OR GPL-2.0-or-later"
    "libmosquitto|EPL-2.0 OR BSD-3-Clause"
    "libpng|libpng-2.0"
    "libcurl|curl"
    "libgstreamer|LGPL-2.1-or-later"
    "libglib2|LGPL-2.1-or-later"
    "libpipewire|MIT"
    "libspa|MIT"
    "libnats|Apache-2.0"
    "libseccomp|LGPL-2.1-only"
    "libpython|PSF-2.0"
    "libc++|Apache-2.0 WITH LLVM-exception"
    "libunwind|Apache-2.0 WITH LLVM-exception"
    "libflatbuffers|Apache-2.0"
    "nlohmann-json|MIT"
    "libcli11|BSD-3-Clause"
    "pybind11|BSD-3-Clause")
function(licence_of package result)
  foreach(row IN LISTS licences)
    string(REPLACE "|" ";" row "${row}")
    list(GET row 0 start)
    string(FIND "${package}" "${start}" at)
    if(at EQUAL 0)
      list(GET row 1 licence)
      set(${result} "${licence}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${package}: its licence is not known, expected a row in cmake/WriteSbom.cmake")
endfunction()

# Text as a string of JSON.
function(quoted text result)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n" text "${text}")
  set(${result} "\"${text}\"" PARENT_SCOPE)
endfunction()

# Libraries by their names for the dynamic linker, with what runnel does with them.
set(libraries "")
foreach(file IN LISTS FILES)
  execute_process(COMMAND ${READELF} -dW ${file} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*\\[[^]]+\\]" needed "${dynamic}")
  foreach(line IN LISTS needed)
    string(REGEX REPLACE "^.*\\[([^]]+)\\]$" "\\1" library "${line}")
    if(NOT library MATCHES "^librunnel|^lib[atu]san|^libubsan")
      list(APPEND libraries "${library}")
      set(relation_of_${library} DYNAMIC_LINK)
    endif()
  endforeach()
endforeach()
foreach(library IN LISTS OPENED)
  if(NOT DEFINED relation_of_${library})
    list(APPEND libraries "${library}")
    set(relation_of_${library} OPTIONAL_DEPENDENCY_OF)
  endif()
endforeach()
list(REMOVE_DUPLICATES libraries)

# The Debian package of each, in one question; a library that no package has stands for itself.
find_program(dpkg_query dpkg-query)
if(dpkg_query)
  set(places "")
  foreach(library IN LISTS libraries)
    list(APPEND places "*/${library}")
  endforeach()
  execute_process(COMMAND ${dpkg_query} -S ${places} OUTPUT_VARIABLE found ERROR_QUIET)
  string(REGEX MATCHALL "[^\n]+" found "${found}")
  foreach(line IN LISTS found)
    if(line MATCHES "^([^:, ]+)[^ ]*: (.*)/([^/]+)$")
      set(package "${CMAKE_MATCH_1}")
      set(library "${CMAKE_MATCH_3}")
      # That of this architecture, where packages of several have it.
      if(NOT DEFINED package_of_${library} OR (ARCHITECTURE AND CMAKE_MATCH_2 MATCHES "/${ARCHITECTURE}$"))
        set(package_of_${library} "${package}")
      endif()
    endif()
  endforeach()
endif()
set(packages "")
foreach(library IN LISTS libraries)
  set(package "${library}")
  if(DEFINED package_of_${library})
    set(package "${package_of_${library}}")
  endif()
  list(APPEND packages "${package}")
  if(NOT relation_${package} STREQUAL "DYNAMIC_LINK")
    set(relation_${package} ${relation_of_${library}})
  endif()
endforeach()
foreach(package IN LISTS HEADERS)
  list(APPEND packages "${package}")
  set(relation_${package} STATIC_LINK)
endforeach()
list(REMOVE_DUPLICATES packages)
list(SORT packages)

set(ENV{SOURCE_DATE_EPOCH} ${EPOCH})
string(TIMESTAMP created "%Y-%m-%dT%H:%M:%SZ" UTC)
set(own "Apache-2.0")
set(concluded "Apache-2.0")
if(FFTW)
  set(concluded "GPL-3.0-or-later")
endif()
set(items "  {\n   \"SPDXID\": \"SPDXRef-Package-runnel\",\n   \"name\": \"runnel\",\n   \"versionInfo\": \"${VERSION}\",\n   \"downloadLocation\": \"NOASSERTION\",\n   \"filesAnalyzed\": false,\n   \"licenseDeclared\": \"${own}\",\n   \"licenseConcluded\": \"${concluded}\",\n   \"copyrightText\": \"NOASSERTION\",\n   \"primaryPackagePurpose\": \"APPLICATION\"\n  }")
set(relations "  {\"spdxElementId\": \"SPDXRef-DOCUMENT\", \"relationshipType\": \"DESCRIBES\", \"relatedSpdxElement\": \"SPDXRef-Package-runnel\"}")

# Their versions.
if(dpkg_query)
  execute_process(COMMAND ${dpkg_query} -W -f "\${Package} \${Version} \${Architecture}\n" ${packages} OUTPUT_VARIABLE found ERROR_QUIET)
  string(REGEX MATCHALL "[^\n]+" found "${found}")
  foreach(line IN LISTS found)
    string(REPLACE " " ";" line "${line}")
    list(GET line 0 package)
    list(GET line 1 version_${package})
    list(GET line 2 architecture_${package})
  endforeach()
endif()

foreach(package IN LISTS packages)
  licence_of("${package}" licence)
  string(REGEX REPLACE "[^A-Za-z0-9.-]" "-" id "SPDXRef-Debian-${package}")
  set(version "")
  set(supplier "NOASSERTION")
  set(reference "")
  if(DEFINED version_${package})
    set(debian "${version_${package}}")
    set(version "   \"versionInfo\": \"${debian}\",\n")
    set(supplier "Organization: Debian")
    string(REPLACE "+" "%2B" name_in_url "${package}")
    string(REPLACE "+" "%2B" version_in_url "${debian}")
    string(REPLACE ":" "%3A" version_in_url "${version_in_url}")
    set(reference ",\n   \"externalRefs\": [{\"referenceCategory\": \"PACKAGE-MANAGER\", \"referenceType\": \"purl\", \"referenceLocator\": \"pkg:deb/debian/${name_in_url}@${version_in_url}?arch=${architecture_${package}}\"}]")
  endif()
  quoted("${package}" name)
  string(APPEND items ",\n  {\n   \"SPDXID\": \"${id}\",\n   \"name\": ${name},\n${version}   \"supplier\": \"${supplier}\",\n   \"downloadLocation\": \"NOASSERTION\",\n   \"filesAnalyzed\": false,\n   \"licenseDeclared\": \"${licence}\",\n   \"licenseConcluded\": \"NOASSERTION\",\n   \"copyrightText\": \"NOASSERTION\",\n   \"primaryPackagePurpose\": \"LIBRARY\"${reference}\n  }")
  if(relation_${package} STREQUAL "OPTIONAL_DEPENDENCY_OF")
    string(APPEND relations ",\n  {\"spdxElementId\": \"${id}\", \"relationshipType\": \"OPTIONAL_DEPENDENCY_OF\", \"relatedSpdxElement\": \"SPDXRef-Package-runnel\"}")
  else()
    string(APPEND relations ",\n  {\"spdxElementId\": \"SPDXRef-Package-runnel\", \"relationshipType\": \"${relation_${package}}\", \"relatedSpdxElement\": \"${id}\"}")
  endif()
endforeach()

file(GLOB models RELATIVE ${MODELS} ${MODELS}/*/*.rnl)
list(SORT models)
foreach(model IN LISTS models)
  cmake_path(GET model STEM name)
  cmake_path(GET model PARENT_PATH folder)
  file(SHA256 ${MODELS}/${model} sum)
  set(licence "NOASSERTION")
  set(about "")
  if(EXISTS ${MODELS}/${folder}/card.json)
    file(READ ${MODELS}/${folder}/card.json card)
    string(JSON licence ERROR_VARIABLE missing GET "${card}" licence)
    if(missing)
      message(FATAL_ERROR "${MODELS}/${folder}/card.json: no licence, expected an SPDX expression")
    endif()
    string(JSON about ERROR_VARIABLE missing GET "${card}" about)
  endif()
  quoted("${about}" about)
  string(APPEND items ",\n  {\n   \"SPDXID\": \"SPDXRef-Model-${name}\",\n   \"name\": \"model ${name}\",\n   \"summary\": ${about},\n   \"packageFileName\": \"models/${model}\",\n   \"downloadLocation\": \"NOASSERTION\",\n   \"filesAnalyzed\": false,\n   \"checksums\": [{\"algorithm\": \"SHA256\", \"checksumValue\": \"${sum}\"}],\n   \"licenseDeclared\": \"${licence}\",\n   \"licenseConcluded\": \"${licence}\",\n   \"copyrightText\": \"NOASSERTION\",\n   \"primaryPackagePurpose\": \"OTHER\"\n  }")
  string(APPEND relations ",\n  {\"spdxElementId\": \"SPDXRef-Package-runnel\", \"relationshipType\": \"CONTAINS\", \"relatedSpdxElement\": \"SPDXRef-Model-${name}\"}")
endforeach()

# A name of its own for every content.
string(SHA256 content "${items}${relations}")
string(SUBSTRING "${content}" 0 32 content)
file(WRITE ${TO}.part "{
 \"spdxVersion\": \"SPDX-2.3\",
 \"dataLicense\": \"CC0-1.0\",
 \"SPDXID\": \"SPDXRef-DOCUMENT\",
 \"name\": \"runnel-${VERSION}\",
 \"documentNamespace\": \"https://spdx.org/spdxdocs/runnel-${VERSION}-${content}\",
 \"creationInfo\": {\"created\": \"${created}\", \"creators\": [\"Tool: runnel-build-${VERSION}\"]},
 \"documentDescribes\": [\"SPDXRef-Package-runnel\"],
 \"packages\": [
${items}
 ],
 \"relationships\": [
${relations}
 ]
}
")
file(RENAME ${TO}.part ${TO})
