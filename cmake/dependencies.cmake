# Libraries, all from Debian packages (the list for apt-get is in packages.txt beside this file).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(ELF REQUIRED IMPORTED_TARGET libelf)
pkg_check_modules(DW REQUIRED IMPORTED_TARGET libdw)
pkg_check_modules(TCL REQUIRED IMPORTED_TARGET tcl)
pkg_check_modules(CAPSTONE REQUIRED IMPORTED_TARGET capstone)
