# Third-party libraries, all from Debian packages (./dev setup installs them). Each is used by one room only.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(GTest REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(simdjson REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL 3 REQUIRED)
foreach(library libcares re2 libbrotlidec libbrotlienc libpq hiredis)
  string(REPLACE "lib" "" short ${library})
  pkg_check_modules(${short} REQUIRED IMPORTED_TARGET ${library})
endforeach()
# re2 asks for -pthread and hiredis for 64-bit offsets, which on 64-bit Linux changes nothing but the hash of the
# precompiled header.
set_property(TARGET PkgConfig::re2 PkgConfig::hiredis PROPERTY INTERFACE_COMPILE_OPTIONS "")
set_property(TARGET PkgConfig::hiredis PROPERTY INTERFACE_COMPILE_DEFINITIONS "")
find_library(RAPIDCHECK rapidcheck REQUIRED)
