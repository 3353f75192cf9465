# Kernels and parsers: the target `kernel_tests` builds the tests of these rooms, which have the label kernel. Every
# test run has them under the address sanitizer too.
set(BW_KERNELS base message yaml metrics secret wire membership election register dispatch dispatch_codec resilience
               http1_codec)
add_custom_target(kernel_tests)

# Tests of real processes wait for times to pass, and must not wait for a processor. So many of them run at a time,
# beside as many tests that compute as there are processors (tools/run_tests.py), and those that compute yield.
set(BW_WAITS RESOURCE_GROUPS waiting:1)
# Beside busy loops they get a small part of a processor: their limit bounds a hang, and nothing else.
set(BW_COMPUTES RESOURCE_GROUPS computing:1 TIMEOUT 3600)
set(BW_YIELDING nice -n 5)
if(BW_SANITIZE)
  set(BW_YIELDING)  # sanitized.kernels yields as a whole
endif()

# What runs once a command, once a term or for people to read: where the preset says -O2, these rooms are compiled with
# little inlining and without debug information: each of their units takes half of the time then. The symbols beside the
# command still name their functions; lines are in the preset dev.
set(BW_COLD bellwether cli lead store report results compare console plan scenario import yaml web journal
            discovery election
            cluster_context cluster_register cluster_vote node_client node_cluster node_local node_manager
            node_roles lead_roles node_worker local_cluster sim
            sim_cluster sim_datacenter sim_group sim_harness sim_leadership sim_membership sim_quorum sim_vote)

# module(NAME base
#        SOURCES a.cc …          the room's own sources (listed one by one; tests check that none is forgotten)
#        TESTS   a_test.cc …     unit tests, one executable NAME_test
#        FUZZ    a_fuzz.cc …     one executable each; with the fuzz preset a libFuzzer binary, else a corpus replay
#        DEPS    other rooms …   what it may link against: tools/links.py proves that nothing else is needed
#        LIBS    imported targets of third-party libraries
#        TEST_DEPS rooms and libraries that only the tests need)
#
# Makes the static library bw_NAME and its unit tests, and adds its headers to the target `header_units`.
function(module)
  cmake_parse_arguments(M "" "NAME" "SOURCES;TESTS;FUZZ;DEPS;LIBS;TEST_DEPS" ${ARGN})
  set(library bw_${M_NAME})
  list(TRANSFORM M_DEPS PREPEND bw_)

  add_library(${library} STATIC ${M_SOURCES})
  target_include_directories(${library} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(${library} PUBLIC ${M_DEPS} PRIVATE ${M_LIBS})
  bw_compile(${library} src)

  if(NOT BUILD_TESTING)
    return()
  endif()

  string(JOIN " " room ${library} $<TARGET_FILE:${library}> ${M_DEPS})
  set_property(GLOBAL APPEND PROPERTY BW_ROOMS "${room}\n")
  bw_header_units(${library})

  set(kernel)
  set(kind test)
  set(programs)
  if(M_NAME IN_LIST BW_KERNELS)
    set(kernel ";kernel")
    set(kind kernel_test)
    endif()
  if(M_TESTS)
    add_executable(${M_NAME}_test ${M_TESTS})
    target_link_libraries(${M_NAME}_test PRIVATE ${library} ${M_DEPS} ${M_LIBS} ${M_TEST_DEPS} GTest::gmock_main
                          ${RAPIDCHECK})
    bw_compile(${M_NAME}_test ${kind})
    add_test(NAME unit.${M_NAME} COMMAND ${BW_YIELDING} $<TARGET_FILE:${M_NAME}_test> --gtest_brief=1
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(unit.${M_NAME} PROPERTIES LABELS "unit${kernel}" ${BW_COMPUTES})
    list(APPEND programs ${M_NAME}_test)
  endif()

  foreach(source ${M_FUZZ})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE ${library} ${M_DEPS} ${M_LIBS})
    bw_compile(${name} src)
    if(BW_SANITIZE STREQUAL "fuzzer")
      target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    else()
      if(NOT TARGET bw_fuzz_replay)
        add_library(bw_fuzz_replay OBJECT ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cc)
      endif()
      target_link_libraries(${name} PRIVATE bw_fuzz_replay)
      add_test(NAME fuzz.${name}
               COMMAND ${BW_YIELDING} $<TARGET_FILE:${name}> ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
      set_tests_properties(fuzz.${name} PROPERTIES LABELS "fuzz${kernel}" ${BW_COMPUTES})
    endif()
    list(APPEND programs ${name})
  endforeach()
  if(kernel AND programs)
    add_dependencies(kernel_tests ${programs})
  endif()
endfunction()

# How a target is compiled: with the precompiled header of its kind (src, test or kernel_test), which is built once and
# reused, and a dozen sources in one unit, because most of the time of a build goes into headers. The optimized build
# has two dozen in one unit, because nobody waits there for the unit of one change. A unit never holds sources of two
# rooms, so a file-local name must differ from others of its room only. BW_UNITY=OFF compiles each source by itself.
# Sources of tests are not optimized, which takes a third of the time; those of kernels are, because they run long.
option(BW_UNITY "compile a dozen sources of a room at a time" ON)
function(bw_compile target kind)
  if(NOT TARGET bw_pch_${kind})
    string(REGEX REPLACE "^kernel_" "" header ${kind})
    file(WRITE ${CMAKE_BINARY_DIR}/pch_${kind}.cc "\n")
    add_library(bw_pch_${kind} STATIC ${CMAKE_BINARY_DIR}/pch_${kind}.cc)
    target_precompile_headers(bw_pch_${kind} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch_${header}.h)
    target_compile_options(bw_pch_${kind} PRIVATE -Xclang -fno-pch-timestamp)
    if(NOT kind STREQUAL "src")
      target_link_libraries(bw_pch_${kind} PRIVATE GTest::gmock)
    endif()
    if(kind STREQUAL "test")
      target_compile_options(bw_pch_test PRIVATE -O0)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM bw_pch_${kind})
  target_compile_options(${target} PRIVATE -Xclang -fno-pch-timestamp)
  if(kind STREQUAL "test")
    target_compile_options(${target} PRIVATE -O0)
  endif()
  set(batch 12)
  if(CMAKE_CXX_FLAGS MATCHES "-O2")
    set(batch 24)
    target_compile_options(${target} PRIVATE -Wno-shadow)  # a local name may be one of a source of another small unit
  endif()
  string(REGEX REPLACE "^bw_" "" room ${target})
  if(room IN_LIST BW_COLD AND CMAKE_CXX_FLAGS MATCHES "-O2")
    target_compile_options(${target} PRIVATE -O1 -g0 "SHELL:-mllvm -inline-threshold=25")
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${BW_UNITY} UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()

# The target `header_units` compiles every header as the first include of a source, without the precompiled header.
# `./dev check` builds it.
add_custom_target(header_units)
function(bw_header_units library)
  file(GLOB headers RELATIVE ${CMAKE_SOURCE_DIR}/src CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  set(units)
  foreach(header ${headers})
    string(REPLACE "/" "_" name ${header})
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/header_${name}.cc)
    if(NOT EXISTS ${unit})
      file(WRITE ${unit} "#include \"${header}\"\n")
    endif()
    list(APPEND units ${unit})
  endforeach()
  if(units)
    add_library(${library}_headers OBJECT EXCLUDE_FROM_ALL ${units})
    target_link_libraries(${library}_headers PRIVATE ${library})
    target_compile_options(${library}_headers PRIVATE -fsyntax-only -O0 -g0)
    add_dependencies(header_units ${library}_headers)
  endif()
endfunction()
