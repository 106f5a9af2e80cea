# Compile options of everything in the project: one interface target.
add_library(tg_options INTERFACE)
target_include_directories(tg_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(tg_options INTERFACE _GNU_SOURCE HASH_NONFATAL_OOM=1)
target_compile_options(tg_options INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wswitch-enum
                                            -Wvla -fno-omit-frame-pointer)
if(TG_WERROR)
  target_compile_options(tg_options INTERFACE -Werror)
endif()
if(TG_FUZZERS)
  target_compile_options(tg_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(TG_SANITIZE)
  target_compile_options(tg_options INTERFACE -fsanitize=${TG_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(tg_options INTERFACE -fsanitize=${TG_SANITIZE})
  # The instrumentation hides from GCC what is initialised (its manual warns of this one).
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(tg_options INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
# assert() stays on in release: it is for bugs.
foreach(kind RELEASE RELWITHDEBINFO MINSIZEREL)
  string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_${kind} "${CMAKE_C_FLAGS_${kind}}")
endforeach()
