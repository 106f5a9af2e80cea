# What `cmake --install` puts where, and the Debian package of it.
install(TARGETS tollgate RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# The program finds them from where it is itself (recorder/agent_files.c).
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
install(TARGETS tg_format ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES format/error.h format/event.h format/trace_meta.h format/trace_reader.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tollgate/format)
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
