# Headers that are compiled once: parsing them is more than half of what compiling costs. Each set is
# an object library that shardscope_library and shardscope_test reuse. Of our own headers only those
# that nearly every source includes and that seldom change: an edit of one compiles everything again.
# tests/layering/check_includes.py keeps every file to including what it names all the same.
include_guard(GLOBAL)

set(standard_headers <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <cstring> <filesystem>
    <fstream> <functional> <limits> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string>
    <string_view> <thread> <tuple> <unordered_map> <utility> <variant> <vector>)
set(model_headers <fmt/format.h> <fmt/ranges.h>)
foreach(header result units ids words events)
    # Not by an absolute path, so that ccache knows a set again in another clone.
    list(APPEND model_headers <storage/model/${header}.h>)
endforeach()

# On x86 g++ 14 refuses a set at -O1 that was compiled at a higher level, for two options that it sets
# by the level: they are the same at all.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13 AND
   CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64")
    target_compile_options(shardscope_warnings INTERFACE
        $<$<COMPILE_LANGUAGE:CXX>:-munroll-only-small-loops> $<$<COMPILE_LANGUAGE:CXX>:-mvzeroupper>)
endif()

# shardscope_precompiled(NAME LIBRARIES... HEADERS...), compiled with the flags of those libraries.
function(shardscope_precompiled NAME)
    cmake_parse_arguments(ARG "" "" "LIBRARIES;HEADERS" ${ARGN})
    add_library(${NAME} OBJECT ${CMAKE_SOURCE_DIR}/packaging/cmake/precompiled.cpp)
    target_include_directories(${NAME} PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${NAME} PRIVATE tl::expected ${ARG_LIBRARIES} shardscope_warnings)
    target_precompile_headers(${NAME} PRIVATE ${standard_headers} ${model_headers} ${ARG_HEADERS})
endfunction()

shardscope_precompiled(precompiled_model LIBRARIES fmt::fmt)
if(SHARDSCOPE_HAVE_ENGINE)
    # As LibTorch's users are compiled, without its headers: each source that sees them compiles
    # their templates again, which takes a second.
    shardscope_precompiled(precompiled_rank LIBRARIES fmt::fmt shardscope_torch)
    shardscope_precompiled(precompiled_torch LIBRARIES fmt::fmt shardscope_torch
        HEADERS <ATen/Parallel.h> <ATen/core/Tensor.h> <ATen/ops/empty.h> <ATen/ops/zeros.h>
            <ATen/record_function.h> <torch/csrc/autograd/custom_function.h>)
endif()
if(SHARDSCOPE_HAVE_DESKTOP)
    set(qt_core_headers <QFileInfo> <QObject> <QString> <QStringList>)
    shardscope_precompiled(precompiled_qt_core LIBRARIES fmt::fmt Qt6::Core HEADERS ${qt_core_headers})
    shardscope_precompiled(precompiled_qt LIBRARIES fmt::fmt Qt6::Widgets
        HEADERS ${qt_core_headers} <QApplication> <QComboBox> <QHBoxLayout> <QKeyEvent> <QLabel> <QLineEdit>
            <QMenu> <QMouseEvent> <QPainter> <QPushButton> <QScrollBar> <QVBoxLayout> <QWidget>)
    foreach(set precompiled_qt_core precompiled_qt)
        target_compile_definitions(${set} PRIVATE ${SHARDSCOPE_QT_DEFINITIONS})
    endforeach()
endif()
