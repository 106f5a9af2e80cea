# What `cmake --install` puts where, and the Debian package of it. Two components: `tollgate`, which the package holds, and
# `development`, the trace library for programs that read traces themselves.
install(TARGETS tollgate RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tollgate)
# The program finds them from where it is itself (recorder/inject/files.c).
install(TARGETS tg_agent tg_audit tg_heap LIBRARY DESTINATION ${TG_AGENT_DESTINATION} COMPONENT tollgate)

# tg_install_compressed(FILE FOLDER NAME): FILE, compressed as Debian asks, as FOLDER/NAME.gz; as it is where there is no gzip.
find_program(TG_GZIP gzip)
function(tg_install_compressed file folder name)
  if(NOT TG_GZIP)
    install(FILES ${file} DESTINATION ${folder} RENAME ${name} COMPONENT tollgate)
    return()
  endif()
  set(compressed ${PROJECT_BINARY_DIR}/compressed/${name}.gz)
  add_custom_command(OUTPUT ${compressed} DEPENDS ${file} VERBATIM
                     COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/compressed
                     COMMAND sh -c "exec \"$1\" -9nc \"$2\" >\"$3\"" sh ${TG_GZIP} ${file} ${compressed})
  string(MAKE_C_IDENTIFIER compressed_${name} target)
  add_custom_target(${target} ALL DEPENDS ${compressed})
  install(FILES ${compressed} DESTINATION ${folder} COMPONENT tollgate)
endfunction()

foreach(page tollgate tollgate-where tollgate-record tollgate-report tollgate-filter tollgate-heap tollgate-sequence tollgate-dump tollgate-replay tollgate-live tollgate-web tollgate-recover tollgate-redact tollgate-calibrate)
  tg_install_compressed(${PROJECT_SOURCE_DIR}/docs/man/${page}.1 ${CMAKE_INSTALL_MANDIR}/man1 ${page}.1)
endforeach()
install(FILES completions/tollgate.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tollgate
        COMPONENT tollgate)
install(FILES completions/_tollgate DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT tollgate)
# The README and the documents that it links to, at the same places beside each other.
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tollgate)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tollgate PATTERN man EXCLUDE)

# The trace library: static, with its headers and a pkg-config file.
add_library(tg_trace_library STATIC $<TARGET_OBJECTS:tg_format_base> $<TARGET_OBJECTS:tg_format_event>
                                    $<TARGET_OBJECTS:tg_format_trace>)
set_target_properties(tg_trace_library PROPERTIES OUTPUT_NAME tg_format)
install(TARGETS tg_trace_library ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
set(event_families process stop stack library filter openmp mpi mpir barrier heap recorder) # as format/event/events.def includes them
list(TRANSFORM event_families REPLACE "(.+)" "event/\\1.def")
foreach(header base/error.h event/each.h event/event.h event/events.def ${event_families} trace/kind_set.h trace/meta.h trace/reader.h)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES format/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tollgate/format/${folder} COMPONENT development)
endforeach()
configure_file(cmake/tollgate.pc.in tollgate.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tollgate.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# The Debian package, made by cpack in the build directory.
set(TG_MAINTAINER "The tollgate authors <maintainers@tollgate.example>" CACHE STRING "Maintainer of the Debian package")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tollgate)
set(CPACK_PACKAGE_CONTACT ${TG_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "record, replay and control MPI + OpenMP jobs")
set(CPACK_PACKAGE_DESCRIPTION
    "tollgate records a parallel job into a compact trace: processes and
threads, the libraries that they load, breakpoints and signals, OpenMP
zones, MPI calls. It answers questions about the trace afterwards: why the
job hangs, which rank is missing from a barrier, where time is spent, what
every stop of a debugger costs and which stops can be left out.
.
A job can also be controlled while it runs and is recorded: breakpoints,
barriers and holds over any set of ranks and threads.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
configure_file(cmake/debian/on_demand.cmake.in on_demand/cpack.cmake @ONLY)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_BINARY_DIR}/on_demand/cpack.cmake)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};tollgate;tollgate;/")
configure_file(cmake/debian/changelog.in changelog @ONLY)
install(FILES cmake/debian/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tollgate)
tg_install_compressed(${PROJECT_BINARY_DIR}/changelog ${CMAKE_INSTALL_DOCDIR} changelog.Debian)
install(FILES cmake/debian/lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME tollgate
        COMPONENT tollgate)
include(CPack)
