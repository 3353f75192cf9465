# module(NAME base
#        SOURCES a.cc …          the room's own sources (listed one by one; tests check that none is forgotten)
#        TESTS   a_test.cc …     unit tests, one executable NAME_test
#        FUZZ    a_fuzz.cc …     one executable each; with the fuzz preset a libFuzzer binary, else a corpus replay
#        DEPS    other rooms …   what it may link against: the link test proves that nothing else is needed
#        LIBS    imported targets of third-party libraries
#        TEST_DEPS rooms and libraries that only the tests need)
#
# Makes the static library bw_NAME, its unit tests, a link test (an executable that takes the whole archive and
# nothing but the declared dependencies) and a check that each header compiles on its own.
function(module)
  cmake_parse_arguments(M "" "NAME" "SOURCES;TESTS;FUZZ;DEPS;LIBS;TEST_DEPS" ${ARGN})
  set(library bw_${M_NAME})
  list(TRANSFORM M_DEPS PREPEND bw_)

  add_library(${library} STATIC ${M_SOURCES})
  target_include_directories(${library} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(${library} PUBLIC ${M_DEPS} PRIVATE ${M_LIBS})
  bw_precompile(${library} src)

  if(NOT BUILD_TESTING)
    return()
  endif()

  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/linktest_main.cc "int main() { return 0; }\n")
  add_executable(${M_NAME}_linktest ${CMAKE_CURRENT_BINARY_DIR}/linktest_main.cc)
  target_link_libraries(${M_NAME}_linktest PRIVATE -Wl,--whole-archive $<TARGET_FILE:${library}> -Wl,--no-whole-archive
                        ${M_DEPS} ${M_LIBS} Threads::Threads)
  add_dependencies(${M_NAME}_linktest ${library})

  bw_header_check(${library})

  if(M_TESTS)
    add_executable(${M_NAME}_test ${M_TESTS})
    target_link_libraries(${M_NAME}_test PRIVATE ${library} ${M_DEPS} ${M_LIBS} ${M_TEST_DEPS} GTest::gmock_main
                          ${RAPIDCHECK})
    bw_precompile(${M_NAME}_test test)
    add_test(NAME unit.${M_NAME} COMMAND ${M_NAME}_test --gtest_brief=1 WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(unit.${M_NAME} PROPERTIES LABELS unit TIMEOUT 120)
  endif()

  foreach(source ${M_FUZZ})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE ${library} ${M_DEPS} ${M_LIBS})
    if(BW_SANITIZE STREQUAL "fuzzer")
      target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    else()
      target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cc)
      add_test(NAME fuzz.${name} COMMAND ${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
      set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 120)
    endif()
  endforeach()
endfunction()

# One precompiled header for sources, one for tests, each built once per set of flags and reused by all targets.
function(bw_precompile target kind)
  if(NOT TARGET bw_pch_${kind})
    file(WRITE ${CMAKE_BINARY_DIR}/pch_${kind}.cc "\n")
    add_library(bw_pch_${kind} STATIC ${CMAKE_BINARY_DIR}/pch_${kind}.cc)
    target_precompile_headers(bw_pch_${kind} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch_${kind}.h)
    target_compile_options(bw_pch_${kind} PRIVATE -Xclang -fno-pch-timestamp)
    if(kind STREQUAL "test")
      target_link_libraries(bw_pch_${kind} PRIVATE GTest::gmock)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM bw_pch_${kind})
  target_compile_options(${target} PRIVATE -Xclang -fno-pch-timestamp)
endfunction()

# Every header of the folder must compile as the first include of a file, without the precompiled header.
function(bw_header_check library)
  file(GLOB headers RELATIVE ${CMAKE_SOURCE_DIR}/src CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  set(checks)
  foreach(header ${headers})
    string(REPLACE "/" "_" name ${header})
    set(probe ${CMAKE_CURRENT_BINARY_DIR}/header_${name}.cc)
    if(NOT EXISTS ${probe})
      file(WRITE ${probe} "#include \"${header}\"\n")
    endif()
    list(APPEND checks ${probe})
  endforeach()
  if(checks)
    add_library(${library}_headers OBJECT ${checks})
    target_link_libraries(${library}_headers PRIVATE ${library})
    target_compile_options(${library}_headers PRIVATE -O0 -g0)
  endif()
endfunction()
