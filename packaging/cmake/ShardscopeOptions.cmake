# SHARDSCOPE_WITH_{ENGINE,CUDA,DESKTOP} = AUTO|ON|OFF, the libraries found, and the summary of
# what was left out and why.
include_guard(GLOBAL)

foreach(part ENGINE CUDA DESKTOP)
    set(SHARDSCOPE_WITH_${part} AUTO CACHE STRING "AUTO, ON or OFF")
    set_property(CACHE SHARDSCOPE_WITH_${part} PROPERTY STRINGS AUTO ON OFF)
    if(NOT SHARDSCOPE_WITH_${part} MATCHES "^(AUTO|ON|OFF)$")
        message(FATAL_ERROR "SHARDSCOPE_WITH_${part} is '${SHARDSCOPE_WITH_${part}}': use AUTO, ON or OFF")
    endif()
endforeach()

set_property(GLOBAL PROPERTY SHARDSCOPE_SUMMARY "")
# Notes one line of the summary.
function(shardscope_note text)
    set_property(GLOBAL APPEND PROPERTY SHARDSCOPE_SUMMARY "${text}")
endfunction()
# A part that cannot be built: fatal when asked for, a line of the summary otherwise.
function(shardscope_leave_out part reason)
    if(SHARDSCOPE_WITH_${part} STREQUAL "ON")
        message(FATAL_ERROR "SHARDSCOPE_WITH_${part}=ON, but ${reason}")
    endif()
    shardscope_note("${part}: left out, ${reason}")
endfunction()
function(shardscope_print_summary)
    get_property(lines GLOBAL PROPERTY SHARDSCOPE_SUMMARY)
    foreach(line IN LISTS lines)
        message(STATUS "Shardscope ${line}")
    endforeach()
endfunction()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(zstd REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(simdjson REQUIRED)
# Debian's PCRE2 and nettle come with pkg-config files only.
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(NETTLE REQUIRED IMPORTED_TARGET nettle)
if(SHARDSCOPE_BUILD_TESTS)
    find_package(GTest REQUIRED)
    find_package(benchmark REQUIRED)
    include(GoogleTest)
endif()

# LibTorch: the unpacked PyPI wheel (packaging/fetch-libtorch), CPU part only.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../dependencies.env SHARDSCOPE_LIBTORCH_VERSION
    REGEX "^LIBTORCH_VERSION=")
string(REPLACE "LIBTORCH_VERSION=" "" SHARDSCOPE_LIBTORCH_VERSION "${SHARDSCOPE_LIBTORCH_VERSION}")
set(SHARDSCOPE_HAVE_ENGINE OFF)
if(DEFINED ENV{XDG_CACHE_HOME})
    set(default_libtorch
        "$ENV{XDG_CACHE_HOME}/shardscope/libtorch-${SHARDSCOPE_LIBTORCH_VERSION}")
else()
    set(default_libtorch "$ENV{HOME}/.cache/shardscope/libtorch-${SHARDSCOPE_LIBTORCH_VERSION}")
endif()
set(SHARDSCOPE_LIBTORCH "${default_libtorch}" CACHE PATH "Folder that holds torch/ and nvidia/")
if(SHARDSCOPE_WITH_ENGINE STREQUAL "OFF")
    shardscope_note("ENGINE: left out, switched off, shardscope-rank is not built")
elseif(NOT EXISTS "${SHARDSCOPE_LIBTORCH}/torch/lib/libtorch_cpu.so")
    shardscope_leave_out(ENGINE "no LibTorch in ${SHARDSCOPE_LIBTORCH}, run packaging/fetch-libtorch")
else()
    set(SHARDSCOPE_HAVE_ENGINE ON)
    set(torch_root ${SHARDSCOPE_LIBTORCH}/torch)
    add_library(shardscope_torch INTERFACE)
    target_include_directories(shardscope_torch SYSTEM INTERFACE
        ${torch_root}/include ${torch_root}/include/torch/csrc/api/include)
    # The wheel carries headers of a newer fmt, without its library, and comes first on the include path.
    add_library(shardscope_torch_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/torch_fmt.cpp)
    target_include_directories(shardscope_torch_fmt SYSTEM PRIVATE ${torch_root}/include)
    target_link_libraries(shardscope_torch INTERFACE shardscope_torch_fmt)
    # at::parallel_for is a template: without OpenMP where it is used its loops run on one thread.
    target_compile_options(shardscope_torch INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)
    target_link_libraries(shardscope_torch INTERFACE
        ${torch_root}/lib/libtorch_cpu.so ${torch_root}/lib/libc10.so
        ${torch_root}/lib/libgomp.so.1)
    target_link_options(shardscope_torch INTERFACE -Wl,--allow-shlib-undefined)
    # Loaded at run time (engine/kernels/matmul.cpp); without it MKL does all products. Where ranks
    # and their tests look for it: an installed rank looks beside itself.
    set(SHARDSCOPE_ONEDNN_BELOW onednn_cpu_gomp-2023.2.0.data/data/lib)
    set(SHARDSCOPE_ONEDNN ${SHARDSCOPE_LIBTORCH}/${SHARDSCOPE_ONEDNN_BELOW})
    if(EXISTS "${SHARDSCOPE_ONEDNN}/libdnnl.so.3")
        set(onednn_state "oneDNN 2023.2")
    else()
        set(onednn_state "no oneDNN, run packaging/fetch-libtorch")
    endif()
    shardscope_note("ENGINE: LibTorch ${SHARDSCOPE_LIBTORCH_VERSION} from ${SHARDSCOPE_LIBTORCH}, ${onednn_state}")
endif()

include(ShardscopeCuda)

set(SHARDSCOPE_HAVE_DESKTOP OFF)
if(SHARDSCOPE_WITH_DESKTOP STREQUAL "OFF")
    shardscope_note("DESKTOP: left out, switched off")
else()
    find_package(Qt6 6.4 QUIET COMPONENTS Widgets Charts PrintSupport Svg Test)
    if(Qt6_FOUND)
        set(SHARDSCOPE_HAVE_DESKTOP ON)
        # Without the paths for QFINDTESTDATA: the compiler cache of another clone has such files.
        set_target_properties(Qt6::Test PROPERTIES INTERFACE_COMPILE_DEFINITIONS QT_TESTLIB_LIB)
        shardscope_note("DESKTOP: Qt ${Qt6_VERSION}")
    else()
        shardscope_leave_out(DESKTOP "Qt 6.4 Widgets, Charts and Svg were not found, install qt6-base-dev qt6-charts-dev qt6-svg-dev")
    endif()
endif()
