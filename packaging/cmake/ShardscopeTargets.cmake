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

# Qt without keywords that break other headers and without implicit ASCII.
set(SHARDSCOPE_QT_DEFINITIONS QT_NO_KEYWORDS QT_NO_CAST_FROM_ASCII QT_NO_FOREACH)

# One library per folder. Includes are written from the root of the tree. PRECOMPILED: model (the
# default), rank, torch, qt_core, qt (ShardscopePrecompiled.cmake) or none. LEVEL: of optimisation in
# release builds; 3, the default, for what has to be fast.
function(shardscope_library NAME)
    cmake_parse_arguments(ARG "" "PRECOMPILED;LEVEL" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
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
endfunction()

# One test program a folder; every TEST becomes a ctest test. LABELS: unit qt torch gpu. TOGETHER:
# patterns of short tests of which many run in one process, since loading LibTorch takes longer.
function(shardscope_test NAME)
    cmake_parse_arguments(ARG "NO_MAIN;OWN_PRECOMPILED;TORCH" "" "SOURCES;LIBRARIES;LABELS;ENVIRONMENT;TOGETHER" ${ARGN})
    add_executable(${NAME} ${ARG_SOURCES})
    target_include_directories(${NAME} PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${NAME} PRIVATE ${ARG_LIBRARIES} GTest::gmock shardscope_warnings)
    # What sees LibTorch is compiled for OpenMP, and so are its headers.
    if(ARG_TORCH)
        target_precompile_headers(${NAME} REUSE_FROM shardscope_torch_test_headers)
    elseif(NOT ARG_OWN_PRECOMPILED)
        target_precompile_headers(${NAME} REUSE_FROM shardscope_test_headers)
    endif()
    if(NOT ARG_NO_MAIN)
        target_link_libraries(${NAME} PRIVATE GTest::gmock_main)
    endif()
    set(alone "*")
    if(ARG_TOGETHER)
        list(JOIN ARG_TOGETHER ":" together)
        set(alone "-${together}")
        set(shards 4)
        math(EXPR last "${shards} - 1")
        foreach(shard RANGE ${last})
            add_test(NAME ${NAME}.together_${shard} COMMAND ${NAME} "--gtest_filter=${together}")
            set_tests_properties(${NAME}.together_${shard} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 900
                ENVIRONMENT "${ARG_ENVIRONMENT};GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
        endforeach()
    endif()
    gtest_discover_tests(${NAME} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_FILTER "${alone}"
        PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 300 ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()
