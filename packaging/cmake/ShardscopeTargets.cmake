# shardscope_library(NAME SOURCES... ) and shardscope_test(NAME ...): the two functions every
# CMakeLists.txt of the tree uses.
include_guard(GLOBAL)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()

option(SHARDSCOPE_BUILD_TESTS "Build tests and benchmarks" ON)
set(SHARDSCOPE_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")

# g++ looks for garbage when its heap has grown by what precompiled headers take: 12 to 30 % of its
# time, for 100 MB less.
add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1000000>")

add_library(shardscope_warnings INTERFACE)
target_compile_options(shardscope_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow
    -Wconversion -Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual
    # g++ 12 warns of the short form of any std::string that is made of a literal (its bug 105329).
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-array-bounds>)
if(SHARDSCOPE_SANITIZE)
    add_compile_options(-fsanitize=${SHARDSCOPE_SANITIZE} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${SHARDSCOPE_SANITIZE})
endif()

find_program(SHARDSCOPE_CCACHE ccache)
set(SHARDSCOPE_KEEP_WARNINGS ${CMAKE_CURRENT_LIST_DIR}/keep-warnings)
set(SHARDSCOPE_LAUNCHER ${SHARDSCOPE_KEEP_WARNINGS})
if(CMAKE_CXX_COMPILER_LAUNCHER)
    list(APPEND SHARDSCOPE_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
elseif(SHARDSCOPE_CCACHE)
    # Its manual asks for this where headers are precompiled; no source of ours says __TIME__.
    list(APPEND SHARDSCOPE_LAUNCHER
        env CCACHE_SLOPPINESS=pch_defines,time_macros ${SHARDSCOPE_CCACHE})
endif()
set(CMAKE_CXX_COMPILER_LAUNCHER ${SHARDSCOPE_LAUNCHER})
find_program(SHARDSCOPE_MOLD mold)
if(SHARDSCOPE_MOLD)
    add_link_options(-fuse-ld=mold)
endif()

# A full build takes half the processor time, a change of one source several times that of the source.
option(SHARDSCOPE_BATCHES "Compile several sources of a folder as one" OFF)
if(SHARDSCOPE_BATCHES)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()

# Those sources of a target that no property of its own sets apart, eight at a time.
function(shardscope_batch NAME)
    if(NOT SHARDSCOPE_BATCHES)
        return()
    endif()
    get_target_property(sources ${NAME} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    # What is generated changes more often than the others.
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_BINARY_DIR}/")
    list(LENGTH sources count)
    if(count LESS 2)
        return()
    endif()
    execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/packaging/cmake/batches.py 8 ${sources}
        WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE numbers
        OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    foreach(source number IN ZIP_LISTS sources numbers)
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${NAME}_${number})
    endforeach()
    set_target_properties(${NAME} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    # g++ knows by the name of a file that a class is seen by one source only.
    target_compile_options(${NAME} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# Qt without keywords that break other headers and without implicit ASCII.
set(SHARDSCOPE_QT_DEFINITIONS QT_NO_KEYWORDS QT_NO_CAST_FROM_ASCII QT_NO_FOREACH)

# One library per folder. Includes are written from the root of the tree. PRECOMPILED: model (the
# default), rank, torch, qt_core, qt (ShardscopePrecompiled.cmake) or none. LEVEL: of optimisation in
# release builds; 3, the default, for what has to be fast. ALONE: no batches, in which g++ inlines
# less: of the readers of traces they take a tenth of the speed.
function(shardscope_library NAME)
    cmake_parse_arguments(ARG "ALONE" "PRECOMPILED;LEVEL" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
    add_library(${NAME} STATIC ${ARG_SOURCES})
    target_include_directories(${NAME} PUBLIC ${CMAKE_SOURCE_DIR})
    target_link_libraries(${NAME} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE} shardscope_warnings)
    if(NOT ARG_PRECOMPILED)
        set(ARG_PRECOMPILED model)
    endif()
    if(NOT ARG_PRECOMPILED STREQUAL none)
        target_precompile_headers(${NAME} REUSE_FROM precompiled_${ARG_PRECOMPILED})
    endif()
    if(ARG_LEVEL)
        target_compile_options(${NAME} PRIVATE $<$<CONFIG:Release>:-O${ARG_LEVEL}>)
    endif()
    if(NOT ARG_ALONE)
        shardscope_batch(${NAME})
    endif()
endfunction()

# One test program a folder. LABELS: unit qt torch gpu fast. Every TEST becomes a ctest test, but not
# of programs that load LibTorch (TORCH, SHARDED) or Qt: starting one takes longer than most of its
# tests, so SHARDS processes (4) run all of them, and run_shard.py says how each ended. ALONE: patterns
# of those that need a process each. NOT_FAST: patterns of those in a fast program that start others
# or take seconds. LONG: patterns of those labelled long, and not fast.
function(shardscope_test NAME)
    cmake_parse_arguments(ARG "NO_MAIN;OWN_PRECOMPILED;TORCH;SHARDED" "SHARDS"
        "SOURCES;LIBRARIES;LABELS;ENVIRONMENT;ALONE;NOT_FAST;LONG" ${ARGN})
    add_executable(${NAME} ${ARG_SOURCES})
    target_include_directories(${NAME} PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${NAME} PRIVATE ${ARG_LIBRARIES} GTest::gmock shardscope_warnings)
    # What sees LibTorch is compiled for OpenMP, and so are its headers.
    if(ARG_TORCH)
        target_precompile_headers(${NAME} REUSE_FROM shardscope_torch_test_headers)
    elseif(NOT ARG_OWN_PRECOMPILED)
        target_precompile_headers(${NAME} REUSE_FROM shardscope_test_headers)
    endif()
    shardscope_batch(${NAME})
    if(NOT ARG_NO_MAIN)
        target_link_libraries(${NAME} PRIVATE GTest::gmock_main)
    endif()
    if((ARG_TORCH OR ARG_SHARDED OR "qt" IN_LIST ARG_LABELS) AND NOT "gpu" IN_LIST ARG_LABELS)
        shardscope_add_shards(${NAME})
        return()
    endif()
    set(labels ${ARG_LABELS})
    list(REMOVE_ITEM labels fast)
    list(JOIN ARG_NOT_FAST ":" not_fast)
    list(JOIN ARG_LONG ":" long)
    string(JOIN ":" apart ${ARG_NOT_FAST} ${ARG_LONG})
    shardscope_discover(${NAME} "-${apart}" "${ARG_LABELS}")
    if(not_fast)
        shardscope_discover(${NAME} "${not_fast}-${long}" "${labels}")
    endif()
    if(long)
        shardscope_discover(${NAME} "${long}" "${labels};long")
    endif()
endfunction()

# Several labels do not pass through gtest_discover_tests: they are set once ctest has its tests.
function(shardscope_discover NAME FILTER LABELS)
    string(MAKE_C_IDENTIFIER "${NAME} ${FILTER}" found)
    gtest_discover_tests(${NAME} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_FILTER "${FILTER}"
        TEST_LIST ${found} PROPERTIES TIMEOUT 300 ENVIRONMENT "${ARG_ENVIRONMENT}")
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${found}_labels.cmake)
    file(CONFIGURE OUTPUT ${file} @ONLY CONTENT
"if(@found@)
    set_tests_properties(\${@found@} PROPERTIES LABELS \"@LABELS@\")
endif()
")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
endfunction()

# NAME.shard_0 and so on, NAME.alone and NAME.long; by the arguments of shardscope_test.
function(shardscope_add_shards NAME)
    if(NOT ARG_SHARDS)
        set(ARG_SHARDS 4)
    endif()
    string(JOIN ":" apart ${ARG_ALONE} ${ARG_LONG})
    math(EXPR last "${ARG_SHARDS} - 1")
    foreach(shard RANGE ${last})
        shardscope_add_shard(${NAME}.shard_${shard} "${ARG_LABELS}"
            "--filter=*-${apart}" --shard ${shard}/${ARG_SHARDS})
    endforeach()
    if(ARG_ALONE)
        list(JOIN ARG_ALONE ":" alone)
        shardscope_add_shard(${NAME}.alone "${ARG_LABELS}" "--filter=${alone}" --each)
    endif()
    if(ARG_LONG)
        list(JOIN ARG_LONG ":" long)
        shardscope_add_shard(${NAME}.long "${ARG_LABELS};long" "--filter=${long}")
    endif()
endfunction()

function(shardscope_add_shard TEST LABELS)
    add_test(NAME ${TEST}
        COMMAND ${SHARDSCOPE_TEST_PYTHON} ${CMAKE_SOURCE_DIR}/tests/support/shards/run_shard.py
            ${CMAKE_BINARY_DIR}/Testing/shards/${TEST}.txt $<TARGET_FILE:${NAME}> ${ARGN})
    # run_shard.py ends a single test that takes too long, and names it.
    set_tests_properties(${TEST} PROPERTIES LABELS "${LABELS}" TIMEOUT 1800
        ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()
