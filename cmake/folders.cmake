# tg_folder(SOURCES file.c... [LIBRARIES target...]): the static library of the folder that calls it, tg_FOLDER with
# underscores for slashes, linked with what folders.txt lets the folder include.
file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/folders.txt TG_FOLDER_LINES REGEX "^[a-z]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/folders.txt)

function(tg_folder)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "SOURCES;LIBRARIES")
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(line ${TG_FOLDER_LINES})
  list(FILTER line INCLUDE REGEX "^${folder}:")
  if(NOT line)
    message(FATAL_ERROR "${folder} has no line in cmake/folders.txt")
  endif()
  string(REGEX REPLACE "^[^:]*: *" "" below "${line}")
  string(REGEX REPLACE " +" ";" below "${below}")
  list(FILTER below EXCLUDE REGEX "^recorder/agent") # headers alone
  list(TRANSFORM below REPLACE "/" "_")
  list(TRANSFORM below PREPEND "tg_")
  string(REPLACE "/" "_" name ${folder})
  add_library(tg_${name} STATIC ${arg_SOURCES})
  target_link_libraries(tg_${name} PUBLIC tg_options ${below} ${arg_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY TG_FOLDERS ${folder})
endfunction()

# tg_whole(NAME folder...): NAME stands for the libraries of all FOLDERs (tests link the whole of a top folder).
function(tg_whole name)
  list(TRANSFORM ARGN REPLACE "/" "_" OUTPUT_VARIABLE parts)
  list(TRANSFORM parts PREPEND "tg_")
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE tg_options ${parts})
endfunction()
