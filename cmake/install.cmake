# What `cmake --install` puts where, and the Debian package of it.
install(TARGETS tollgate RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# The program finds them from where it is itself (recorder/inject/files.c).
install(TARGETS tg_agent tg_audit LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tollgate)

# Manual pages: docs/man/*.1, listed where they are written.
foreach(page tollgate tollgate-record tollgate-report tollgate-filter tollgate-sequence tollgate-dump tollgate-replay tollgate-live tollgate-recover)
  if(EXISTS ${PROJECT_SOURCE_DIR}/docs/man/${page}.1)
    install(FILES docs/man/${page}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
endforeach()

if(EXISTS ${PROJECT_SOURCE_DIR}/completions/tollgate.bash)
  install(FILES completions/tollgate.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tollgate)
  install(FILES completions/_tollgate DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
endif()

# The trace library, for programs that read traces themselves: static, with its headers and a pkg-config file.
add_library(tg_trace_library STATIC $<TARGET_OBJECTS:tg_format_base> $<TARGET_OBJECTS:tg_format_event>
                                    $<TARGET_OBJECTS:tg_format_trace>)
set_target_properties(tg_trace_library PROPERTIES OUTPUT_NAME tg_format)
install(TARGETS tg_trace_library ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(event_families process stop library filter openmp mpi mpir barrier recorder) # as format/event/events.def includes them
list(TRANSFORM event_families REPLACE "(.+)" "event/\\1.def")
foreach(header base/error.h event/each.h event/event.h event/events.def ${event_families} trace/meta.h trace/reader.h)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES format/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tollgate/format/${folder})
endforeach()
configure_file(cmake/tollgate.pc.in tollgate.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tollgate.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tollgate)
set(CPACK_PACKAGE_CONTACT "The tollgate authors <tollgate@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
include(CPack)
