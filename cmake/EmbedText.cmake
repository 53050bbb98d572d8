# cmake -D FROM=page.html -D TO=document.cpp -P EmbedText.cmake: the file as services/page/document.h declares it, cut into
# literals of a length that compilers accept.
file(READ ${FROM} text)
string(LENGTH "${text}" length)
set(pieces "")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 8000 piece)
  string(APPEND pieces "\n    R\"page(${piece})page\"")
  math(EXPR at "${at} + 8000")
endwhile()
file(WRITE ${TO} "#include \"services/page/document.h\"\n\nnamespace runnel::page {\n\nconst std::string_view kDocument =${pieces};\n\n}  // namespace runnel::page\n")
