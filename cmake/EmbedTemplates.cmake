# cmake -D FROM=FOLDER -D TO=system_templates.cpp -P EmbedTemplates.cmake: the files FOLDER/SYSTEM/PATH.in as
# services/embed/system_templates.h declares them.
file(GLOB_RECURSE files RELATIVE ${FROM} ${FROM}/*.in ${FROM}/.*.in)
list(SORT files)
list(REMOVE_DUPLICATES files)
set(rows "")
foreach(file IN LISTS files)
  file(READ ${FROM}/${file} text)
  string(REGEX MATCH "^[^/]+" system ${file})
  string(REGEX REPLACE "^[^/]+/(.*)\\.in$" "\\1" path ${file})
  string(APPEND rows "    {\"${system}\", \"${path}\", R\"file(${text})file\"},\n")
endforeach()
file(WRITE ${TO} "#include \"services/embed/system_templates.h\"\n\nnamespace runnel::embedding {\n\nstd::span<const SystemTemplate> system_templates() noexcept {\n  static constexpr SystemTemplate kAll[] = {\n${rows}  };\n  return kAll;\n}\n\n}  // namespace runnel::embedding\n")
