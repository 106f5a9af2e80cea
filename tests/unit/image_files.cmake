# ELF files of every make for the image tests, in images/ of the build folder: built as users build them, without the
# project's options and sanitizers. 32-bit ones only where the compiler can link them; the tests skip what is missing.
set(images ${CMAKE_CURRENT_BINARY_DIR}/images)
set(image_programs ${PROJECT_SOURCE_DIR}/tests/programs)
set(image_sources ${image_programs}/image_material.c ${image_programs}/image_second.c)
set(image_files)
file(MAKE_DIRECTORY ${images})

function(tg_image_file name)
  add_custom_command(OUTPUT ${images}/${name} VERBATIM DEPENDS ${image_sources} ${image_programs}/image.version
                     COMMAND ${CMAKE_C_COMPILER} -O1 -g -w ${ARGN} ${image_sources} -o ${images}/${name})
  set(image_files ${image_files} ${images}/${name} PARENT_SCOPE)
endfunction()

# a file made of another one: COMMAND...
function(tg_image_derived name from)
  add_custom_command(OUTPUT ${images}/${name} VERBATIM DEPENDS ${images}/${from} COMMAND ${ARGN})
  set(image_files ${image_files} ${images}/${name} PARENT_SCOPE)
endfunction()

tg_image_file(plain.so -shared -fPIC -gdwarf-5 -Wl,--hash-style=both -Wl,--build-id=sha1 -Wl,-soname,libplain.so.1)
tg_image_file(gnu.so -shared -fPIC -gdwarf-4 -Wl,--hash-style=gnu -Wl,--build-id=sha1)
tg_image_file(sysv.so -shared -fPIC -Wl,--hash-style=sysv -Wl,--build-id=none)
tg_image_file(nobuildid.so -shared -fPIC -Wl,--build-id=none)
tg_image_file(nobuildid2.so -shared -fPIC -DNO_IFUNC -O0 -Wl,--build-id=none)
tg_image_file(versions.so -shared -fPIC -Wl,--version-script=${image_programs}/image.version)
tg_image_file(compressed.so -shared -fPIC -gz=zlib)
tg_image_file(prelinked.so -shared -fPIC -Wl,-Ttext-segment=0x41000000)
tg_image_file(pie -fPIE -pie)
tg_image_file(nopie -fno-pie -no-pie)
tg_image_file(static -static)
tg_image_file(static-pie -static-pie -fPIE)
tg_image_derived(stripped.so plain.so ${CMAKE_STRIP} -o ${images}/stripped.so ${images}/plain.so)
tg_image_derived(split.so.debug plain.so ${CMAKE_OBJCOPY} --only-keep-debug ${images}/plain.so ${images}/split.so.debug)
tg_image_derived(split.so split.so.debug ${CMAKE_OBJCOPY} --strip-all --add-gnu-debuglink=${images}/split.so.debug
                 ${images}/plain.so ${images}/split.so)
# the same without a build-id: the checksum decides
tg_image_derived(crc.so.debug sysv.so ${CMAKE_OBJCOPY} --only-keep-debug ${images}/sysv.so ${images}/crc.so.debug)
tg_image_derived(crc.so crc.so.debug ${CMAKE_OBJCOPY} --strip-all --add-gnu-debuglink=${images}/crc.so.debug
                 ${images}/sysv.so ${images}/crc.so)
tg_image_derived(nodebug.so sysv.so ${CMAKE_STRIP} -o ${images}/nodebug.so ${images}/sysv.so)
tg_image_derived(zdebug.so plain.so ${CMAKE_OBJCOPY} --compress-debug-sections=zlib-gnu ${images}/plain.so
                 ${images}/zdebug.so)
foreach(version 4 5) # by relative names: what the files' directory is stands in .debug_info, or only in the line table
  add_custom_command(OUTPUT ${images}/relative${version}.so VERBATIM DEPENDS ${image_sources}
                     WORKING_DIRECTORY ${image_programs}
                     COMMAND ${CMAKE_C_COMPILER} -O1 -g -gdwarf-${version} -w -shared -fPIC image_material.c
                             ./image_second.c -o ${images}/relative${version}.so)
  list(APPEND image_files ${images}/relative${version}.so)
endforeach()
tg_image_file(splitdwarf.so -shared -fPIC -gdwarf-5 -gsplit-dwarf)
# small ones, to be damaged byte by byte
set(tiny -shared -fPIC -nostdlib -DNO_IFUNC -DNO_LIBC -Wl,-z,noseparate-code -Wl,-z,max-page-size=512)
tg_image_file(tiny.so ${tiny} -gdwarf-5 -Wl,--hash-style=gnu)
tg_image_file(tiny4.so ${tiny} -gdwarf-4 -gz=zlib -Wl,--hash-style=gnu)
tg_image_file(tinysysv.so ${tiny} -gdwarf-5 -Wl,--hash-style=sysv)
find_program(TG_CLANG clang)
if(TG_CLANG)
  foreach(version 4 5)
    add_custom_command(OUTPUT ${images}/clang${version}.so VERBATIM DEPENDS ${image_sources}
                       COMMAND ${TG_CLANG} -O1 -g -gdwarf-${version} -w -shared -fPIC ${image_sources}
                               -o ${images}/clang${version}.so)
    list(APPEND image_files ${images}/clang${version}.so)
  endforeach()
endif()

include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -m32)
check_c_source_compiles("#include <stdio.h>\nint main(void) { return puts(\"\"); }" TG_COMPILES_32_BITS)
unset(CMAKE_REQUIRED_FLAGS)
if(TG_COMPILES_32_BITS)
  tg_image_file(m32.so -m32 -shared -fPIC -Wl,--hash-style=both)
  tg_image_file(m32gnu.so -m32 -shared -fPIC -Wl,--hash-style=gnu)
endif()

add_custom_target(image_files ALL DEPENDS ${image_files})
foreach(test unit_recorder_process_image_cache unit_format_image_lines unit_format_image_image_hostile unit_recorder_dwarf_modules unit_recorder_process_symbol_probe)
  add_dependencies(${test} image_files)
  target_compile_definitions(${test} PRIVATE TG_IMAGES="${images}" TG_IMAGE_SOURCES="${image_programs}")
endforeach()
target_sources(unit_format_image_image_hostile PRIVATE ../support/image_probe.c)
