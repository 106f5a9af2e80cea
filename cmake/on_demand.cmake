# Libraries that are opened at first use (format/base/on_demand.h): tg_on_demand(NAME VARIABLE) makes OnDemand::VARIABLE, which has
# PkgConfig::VARIABLE's headers and stubs in place of its functions. Which functions those are is listed in
# on_demand/NAME.txt, by hand: an undefined reference to one of the library's functions when something is linked means that it
# is missing there. (Builds without optimisation call more of them than others.) Where the library's file isn't a shared
# one, or with TG_ON_DEMAND off, OnDemand::VARIABLE is PkgConfig::VARIABLE.
option(TG_ON_DEMAND "Open most libraries at the first call of one of their functions" ON)

# Sets VARIABLE to what dlopen finds the shared library FILE by; to nothing where it isn't one.
function(tg_dlopen_name file variable)
  set(name "")
  if(file MATCHES "\\.so$" AND CMAKE_OBJDUMP)
    execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${file} OUTPUT_VARIABLE headers ERROR_QUIET)
    if(headers MATCHES "SONAME +([^ \n]+)")
      set(name ${CMAKE_MATCH_1})
      get_filename_component(folder ${file} DIRECTORY)
      if(NOT folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
        set(name ${folder}/${name})
      endif()
    endif()
  endif()
  set(${variable} "${name}" PARENT_SCOPE)
endfunction()

function(tg_on_demand name variable)
  add_library(tg_on_demand_${name} INTERFACE)
  add_library(OnDemand::${variable} ALIAS tg_on_demand_${name})
  list(GET ${variable}_LINK_LIBRARIES 0 file)
  tg_dlopen_name(${file} TG_ON_DEMAND_FILE)
  if(NOT TG_ON_DEMAND OR NOT TG_ON_DEMAND_FILE)
    target_link_libraries(tg_on_demand_${name} INTERFACE PkgConfig::${variable})
    return()
  endif()
  tg_on_demand_stubs(${name} ${TG_ON_DEMAND_FILE} ${PROJECT_SOURCE_DIR}/cmake/on_demand/${name}.txt functions)
  target_link_libraries(tg_on_demand_${name} INTERFACE tg_on_demand_stubs_${name})
  target_include_directories(tg_on_demand_${name} SYSTEM INTERFACE ${${variable}_INCLUDE_DIRS})
  target_compile_options(tg_on_demand_${name} INTERFACE ${${variable}_CFLAGS_OTHER})
  # What is opened on demand, for the linker to check and for dpkg-shlibdeps to see.
  set(quads ${functions})
  list(TRANSFORM quads PREPEND "    .quad ")
  list(JOIN quads "\n" quads)
  set_property(GLOBAL APPEND_STRING PROPERTY TG_ON_DEMAND_QUADS "${quads}\n")
  set_property(GLOBAL APPEND PROPERTY TG_ON_DEMAND_LIBRARIES PkgConfig::${variable})
endfunction()

# tg_on_demand_stubs(NAME FILE LIST FUNCTIONS): tg_on_demand_stubs_NAME, the stubs of the functions in LIST, which are of the
# library that dlopen finds as FILE; sets FUNCTIONS to them.
function(tg_on_demand_stubs name file list functions)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} listed REGEX "^[A-Za-z_]")
  set(TG_ON_DEMAND_FILE ${file})
  set(TG_ON_DEMAND_STUBS "")
  set(number 0)
  foreach(function ${listed})
    string(APPEND TG_ON_DEMAND_STUBS "    stub ${function}, ${number}\n")
    math(EXPR number "${number} + 1")
  endforeach()
  file(READ ${PROJECT_SOURCE_DIR}/cmake/on_demand/stubs.S.in stubs)
  string(CONFIGURE "${stubs}" stubs @ONLY)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/on_demand/${name}.S CONTENT "${stubs}")
  add_library(tg_on_demand_stubs_${name} STATIC ${PROJECT_BINARY_DIR}/on_demand/${name}.S)
  target_link_libraries(tg_on_demand_stubs_${name} PUBLIC tg_format_base)
  set(${functions} ${listed} PARENT_SCOPE)
endfunction()

# A library that needs what the stubs open, and has nothing else: every function of the lists is in its library, or it
# cannot be linked. It isn't installed; the Debian package's dependencies are made from it (debian/on_demand.cmake.in).
function(tg_on_demand_witness)
  get_property(libraries GLOBAL PROPERTY TG_ON_DEMAND_LIBRARIES)
  if(NOT libraries)
    return()
  endif()
  get_property(quads GLOBAL PROPERTY TG_ON_DEMAND_QUADS)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/on_demand/needs.S @ONLY
       CONTENT "    .data\n@quads@    .section .note.GNU-stack, \"\", @progbits\n")
  add_library(tg_on_demand_needs SHARED ${PROJECT_BINARY_DIR}/on_demand/needs.S)
  set_target_properties(tg_on_demand_needs PROPERTIES LINKER_LANGUAGE C) # CMake has no rule for assembly
  target_link_libraries(tg_on_demand_needs PRIVATE ${libraries})
  target_link_options(tg_on_demand_needs PRIVATE -nostdlib -Wl,-z,defs -Wl,--as-needed)
endfunction()

foreach(library zstd elf dw z tcl edit capstone jansson microhttpd)
  string(TOUPPER ${library} variable)
  tg_on_demand(${library} ${variable})
endforeach()

# The C library's own, which has no pkg-config file.
add_library(tg_on_demand_m INTERFACE)
add_library(OnDemand::M ALIAS tg_on_demand_m)
if(TG_ON_DEMAND)
  tg_on_demand_stubs(m libm.so.6 ${PROJECT_SOURCE_DIR}/cmake/on_demand/m.txt TG_ON_DEMAND_FUNCTIONS)
  target_link_libraries(tg_on_demand_m INTERFACE tg_on_demand_stubs_m)
else()
  target_link_libraries(tg_on_demand_m INTERFACE m)
endif()
tg_on_demand_witness()
