# Compiler and linker flags of every target. The presets choose the build type and BW_SANITIZE.
set(BW_SANITIZE "" CACHE STRING "address (with undefined), thread, fuzzer, coverage, or empty")

add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough -Wunused -Woverloaded-virtual
                    -Wdouble-promotion -Werror -fno-omit-frame-pointer -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=
                    -gdwarf-4)  # valgrind reads no newer format
add_link_options(-fuse-ld=lld -Wno-unused-command-line-argument)  # flags of the optimizer mean nothing to it

if(BW_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
elseif(BW_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
elseif(BW_SANITIZE STREQUAL "fuzzer")
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
elseif(BW_SANITIZE STREQUAL "coverage")
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # The precompiled header is part of the key, not its time stamp. Paths are taken relative to the checkout. What a unit
  # includes is taken from the compiler, so that a miss costs no run of the preprocessor.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
               CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
