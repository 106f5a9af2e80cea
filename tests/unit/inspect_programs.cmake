# Programs for the tests of live/inspect, in inspect/ of the build folder: built as users build them, without the project's
# options and sanitizers. Those of clang only where it is installed; the tests skip what is missing.
set(inspect_programs ${CMAKE_CURRENT_BINARY_DIR}/inspect)
file(MAKE_DIRECTORY ${inspect_programs})
set(inspect_files)
find_program(TG_CLANG clang)

# NAME SOURCE COMPILER [OPTIONS...]
function(tg_inspect_program name source compiler)
  add_custom_command(OUTPUT ${inspect_programs}/${name} VERBATIM DEPENDS ${PROJECT_SOURCE_DIR}/tests/programs/${source}
                     COMMAND ${compiler} -g -w ${ARGN} ${PROJECT_SOURCE_DIR}/tests/programs/${source} -o
                             ${inspect_programs}/${name})
  set(inspect_files ${inspect_files} ${inspect_programs}/${name} PARENT_SCOPE)
endfunction()

foreach(level 0 2)
  tg_inspect_program(stacks-O${level} stacks.c ${CMAKE_C_COMPILER} -O${level} -pthread)
  if(TG_CLANG)
    tg_inspect_program(stacks-clang-O${level} stacks.c ${TG_CLANG} -O${level} -pthread)
  endif()
endforeach()
tg_inspect_program(stacks-debug_frame stacks.c ${CMAKE_C_COMPILER} -O2 -gdwarf-4 -fno-asynchronous-unwind-tables
                   -fno-unwind-tables -fno-exceptions -no-pie -pthread)
tg_inspect_program(stacks-static stacks.c ${CMAKE_C_COMPILER} -O1 -static -pthread)

# which lines there are to step to is the compiler's choice: always the same one
find_program(TG_GCC gcc REQUIRED)
tg_inspect_program(steps-O0 steps.c ${TG_GCC} -O0)
tg_inspect_program(steps-O1 steps.c ${TG_GCC} -O1)
if(TG_CLANG)
  tg_inspect_program(steps-clang-O0 steps.c ${TG_CLANG} -O0)
endif()

add_custom_target(inspect_files ALL DEPENDS ${inspect_files})
foreach(test unit_recorder_unwind_frames unit_live_inspect_step_stepper)
  add_dependencies(${test} inspect_files)
  target_compile_definitions(${test} PRIVATE TG_INSPECT="${inspect_programs}"
                                                  TG_PROGRAMS="${PROJECT_SOURCE_DIR}/tests/programs")
endforeach()
