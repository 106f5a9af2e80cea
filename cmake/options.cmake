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
  # Sanitized programs have 440,000 places that a loader would relocate at each start, 10 ms; at a fixed address they have none.
  if(TG_SANITIZE MATCHES "address")
    target_link_options(tg_options INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  endif()
  # The instrumentation hides from GCC what is initialised (its manual warns of this one).
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(tg_options INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
# assert() stays on in release: it is for bugs.
foreach(kind RELEASE RELWITHDEBINFO MINSIZEREL)
  string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_${kind} "${CMAKE_C_FLAGS_${kind}}")
endforeach()

# For what takes each event of a trace, some fifty calls an event: without a frame pointer, and structs zeroed by stores, as
# `rep stos` takes longer to begin than to store a hundred bytes (docs/performance.md, "Reports").
set(TG_PER_EVENT_OPTIONS
  "$<$<CONFIG:Release,RelWithDebInfo>:-fomit-frame-pointer>"
  "$<$<AND:$<CONFIG:Release,RelWithDebInfo>,$<C_COMPILER_ID:GNU>>:-mmemset-strategy=unrolled_loop:256:noalign$<COMMA>libcall:-1:noalign>")
