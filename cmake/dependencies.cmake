# What the build needs, checked at once: one message names everything that is wrong here and the Debian packages that mend it.
# Minimum versions are the first that have all functions and constants in use; tried are those of Debian 12, Ubuntu 22.04 and
# 24.04. (The list for apt-get is in packages.txt beside this file.)
set(TG_PROBLEMS "")
set(TG_PACKAGES "")

macro(tg_problem text)
  string(APPEND TG_PROBLEMS "\n  - ${text}")
endmacro()

# tg_library(VARIABLE module PACKAGE CONDITION...): PkgConfig::VARIABLE from the pkg-config file `module`, whose version meets
# every CONDITION.
macro(tg_library variable module package)
  set(conditions ${ARGN})
  list(JOIN conditions ", " wanted)
  list(TRANSFORM conditions PREPEND ${module})
  pkg_check_modules(${variable} QUIET IMPORTED_TARGET ${conditions})
  if(NOT ${variable}_FOUND)
    pkg_check_modules(${variable}_ANY QUIET ${module})
    if(${variable}_ANY_FOUND)
      tg_problem("${module} is version ${${variable}_ANY_VERSION}, needed is a version ${wanted}")
    else()
      tg_problem("${module} (version ${wanted}) is missing")
    endif()
    list(APPEND TG_PACKAGES ${package})
  endif()
endmacro()

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  tg_problem("the system is ${CMAKE_SYSTEM_NAME}: tollgate controls programs by Linux's ptrace")
endif()
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" OR NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  tg_problem("the processor is ${CMAKE_SYSTEM_PROCESSOR}: only 64-bit x86-64 is supported")
endif()
foreach(compiler "GNU;11" "Clang;14")
  list(GET compiler 0 id)
  list(GET compiler 1 version)
  if(CMAKE_C_COMPILER_ID STREQUAL id AND CMAKE_C_COMPILER_VERSION VERSION_LESS version)
    tg_problem("the compiler is ${id} ${CMAKE_C_COMPILER_VERSION}, needed is ${id} ${version} or newer")
    list(APPEND TG_PACKAGES build-essential)
  endif()
endforeach()
if(NOT CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang)$")
  tg_problem("the compiler is ${CMAKE_C_COMPILER_ID}: needed is GCC or Clang")
endif()

include(CheckCSourceCompiles)
check_c_source_compiles("#include <features.h>
  #if !__GLIBC_PREREQ(2, 35) /* _dl_find_object */
  #error older
  #endif
  int main(void) { return 0; }" TG_HAVE_GLIBC)
if(NOT TG_HAVE_GLIBC)
  tg_problem("the C library is not glibc 2.35 or newer")
endif()
check_c_source_compiles("#include <uthash.h>
  #define TG_STRING(x) #x
  _Static_assert(sizeof TG_STRING(UTHASH_VERSION) > 1 && HASH_NONFATAL_OOM == 0, \"2.1.0 has it\");
  int main(void) { return 0; }" TG_HAVE_UTHASH)
if(NOT TG_HAVE_UTHASH)
  tg_problem("the header uthash.h is missing, or older than 2.1.0")
  list(APPEND TG_PACKAGES uthash-dev)
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads)
find_package(PkgConfig)
if(NOT PkgConfig_FOUND)
  tg_problem("pkg-config is missing, which finds the libraries")
  list(APPEND TG_PACKAGES pkg-config libzstd-dev libxxhash-dev libelf-dev libdw-dev zlib1g-dev tcl-dev libedit-dev libcapstone-dev
       libjansson-dev libmicrohttpd-dev)
else()
  tg_library(ZSTD libzstd libzstd-dev ">=1.4.0") # ZSTD_compressStream2
  tg_library(XXHASH libxxhash libxxhash-dev ">=0.8.0") # XXH3
  tg_library(ELF libelf libelf-dev ">=0.171")
  tg_library(DW libdw libdw-dev ">=0.171") # dwarf_get_units
  tg_library(Z zlib zlib1g-dev ">=1.2.3")
  tg_library(TCL tcl tcl-dev ">=8.6" "<9")
  tg_library(EDIT libedit libedit-dev ">=3.0") # el_wset
  tg_library(CAPSTONE capstone libcapstone-dev ">=4.0" "<6")
  tg_library(JANSSON jansson libjansson-dev ">=2.7")
  tg_library(MICROHTTPD libmicrohttpd libmicrohttpd-dev ">=0.9.73") # MHD_create_response_from_callback, suspended connections
  if(TG_TESTS)
    tg_library(CMOCKA cmocka libcmocka-dev ">=1.1.0") # a build without tests: -DTG_TESTS=OFF, or the preset release
  endif()
endif()

# Nothing of libxxhash is linked: its header has the functions.
if(XXHASH_FOUND)
  add_library(tg_xxhash INTERFACE)
  target_include_directories(tg_xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE_DIRS})
  target_compile_definitions(tg_xxhash INTERFACE XXH_INLINE_ALL)
endif()

if(TG_PROBLEMS)
  list(REMOVE_DUPLICATES TG_PACKAGES)
  list(JOIN TG_PACKAGES " " packages)
  if(packages)
    string(APPEND TG_PROBLEMS "\nOn Debian 12, as root:  apt-get install ${packages}")
  endif()
  message(FATAL_ERROR "tollgate cannot be built here:${TG_PROBLEMS}")
endif()
