# User breakpoints: their programs, as users build them, and one test per case.
add_executable(break_driver ../support/break_driver.c)
target_link_libraries(break_driver PRIVATE tg_recorder tg_format)

set(programs ${CMAKE_CURRENT_BINARY_DIR}/programs)
set(sources ${PROJECT_SOURCE_DIR}/tests/programs)
tg_e2e_program(break_host Threads::Threads ${CMAKE_DL_LIBS})
add_executable(break_fixed ${sources}/break_host.c)
target_compile_definitions(break_fixed PRIVATE _GNU_SOURCE)
target_compile_options(break_fixed PRIVATE -O0 -g -fno-pie)
target_link_options(break_fixed PRIVATE -no-pie)
target_link_libraries(break_fixed PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
add_library(break_plugin MODULE ${sources}/break_plugin.c)
target_compile_options(break_plugin PRIVATE -O0 -g)
set_target_properties(break_plugin break_fixed PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${programs}
                                                          RUNTIME_OUTPUT_DIRECTORY ${programs})

# Programs of every make, of the image tests' sources.
set(makes ${programs}/break_static ${programs}/break_static_pie ${programs}/break_split)
set(material ${sources}/image_material.c ${sources}/image_second.c)
macro(tg_break_program name)
  add_custom_command(OUTPUT ${programs}/${name} VERBATIM DEPENDS ${material}
                     COMMAND ${CMAKE_C_COMPILER} -O1 -g -w ${ARGN} ${material} -o ${programs}/${name})
endmacro()
tg_break_program(break_static -static)
tg_break_program(break_static_pie -static-pie -fPIE)
tg_break_program(break_whole -fPIE -pie)
add_custom_command(
  OUTPUT ${programs}/break_split VERBATIM DEPENDS ${programs}/break_whole
  COMMAND ${CMAKE_OBJCOPY} --only-keep-debug ${programs}/break_whole ${programs}/break_split.debug
  COMMAND ${CMAKE_OBJCOPY} --strip-all --add-gnu-debuglink=${programs}/break_split.debug ${programs}/break_whole
          ${programs}/break_split)
if(TG_COMPILES_32_BITS)
  tg_break_program(break_32 -m32)
  tg_break_program(break_32_static -m32 -static)
  list(APPEND makes ${programs}/break_32 ${programs}/break_32_static)
endif()
add_custom_target(break_makes ALL DEPENDS ${makes})
add_dependencies(break_makes break_host) # which makes the folder

# C++ and Fortran where there are compilers; the project itself is C.
find_program(TG_CXX c++)
find_program(TG_FORTRAN gfortran)
if(TG_CXX AND TG_FORTRAN)
  add_custom_command(OUTPUT ${programs}/break_languages VERBATIM
                     DEPENDS ${sources}/break_languages.cc ${sources}/break_languages_sum.f90
                     COMMAND ${TG_FORTRAN} -O0 -g -fopenmp -J ${programs} -c ${sources}/break_languages_sum.f90 -o ${programs}/break_languages_sum.o
                     COMMAND ${TG_CXX} -O0 -g ${sources}/break_languages.cc ${programs}/break_languages_sum.o -lgfortran -lgomp
                             -o ${programs}/break_languages)
  add_custom_target(break_languages ALL DEPENDS ${programs}/break_languages)
  add_dependencies(break_languages break_host)
endif()

foreach(case pending_in_constructor exported_function file_and_line static_in_two_libraries fork_inherits fork_unloads
             unload_and_load_again exec_starts_anew vfork_and_exec threads absolute_address address_in_library
             no_code_there deferred_is_late one_file_for_many_processes programs_of_every_make indirect_function cxx_and_fortran)
  tg_e2e_test(breakpoints_${case} breakpoints.py ${case})
  set_property(TEST e2e/breakpoints_${case} APPEND PROPERTY ENVIRONMENT TG_BREAK_DRIVER=$<TARGET_FILE:break_driver>)
endforeach()

# The loader watcher, its filter changed while programs run, and those who are told of libraries.
add_executable(loader_driver ../support/loader_driver.c)
target_link_libraries(loader_driver PRIVATE tg_recorder tg_format Threads::Threads)
foreach(case places switch pending storm forks)
  tg_e2e_test(loader_switch_${case} loader_switch.py ${case})
  set_property(TEST e2e/loader_switch_${case} APPEND PROPERTY ENVIRONMENT TG_LOADER_DRIVER=$<TARGET_FILE:loader_driver>)
endforeach()
foreach(case pending storm job cuda)
  tg_e2e_test(live_dlopen_${case} live_dlopen.py ${case})
endforeach()
