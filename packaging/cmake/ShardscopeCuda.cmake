# Whether libshardscope_cuda.so can be built: CUDA 13.0 toolkit, CUDA part of LibTorch, NCCL, CUPTI.
#
# Sets SHARDSCOPE_HAVE_CUDA, SHARDSCOPE_CUDA_INCLUDE (folders of cuda_runtime.h, cupti.h, nccl.h)
# and SHARDSCOPE_CUPTI_LIBRARY, and makes the target shardscope_torch_cuda. find_package(Torch)
# and find_package(CUDAToolkit) are not used: they want more than the module needs.
include_guard(GLOBAL)

set(SHARDSCOPE_HAVE_CUDA OFF)
set(SHARDSCOPE_CUDA_INCLUDE "")
set(cuda_reason "")

if(SHARDSCOPE_WITH_CUDA STREQUAL "OFF")
    set(cuda_reason "switched off")
elseif(NOT SHARDSCOPE_HAVE_ENGINE)
    set(cuda_reason "it is a part of the engine, which is left out")
elseif(SHARDSCOPE_SANITIZE)
    set(cuda_reason "nvcc takes no sanitizer, leave SHARDSCOPE_SANITIZE empty")
endif()

if(NOT cuda_reason)
    find_program(SHARDSCOPE_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH
        PATHS /usr/local/cuda /usr/local/cuda-13.0 PATH_SUFFIXES bin)
    if(NOT SHARDSCOPE_NVCC)
        set(cuda_reason "no nvcc, install the CUDA 13.0 toolkit and name it in CUDA_HOME")
    else()
        execute_process(COMMAND ${SHARDSCOPE_NVCC} --version
            OUTPUT_VARIABLE nvcc_version ERROR_VARIABLE nvcc_version)
        if(NOT nvcc_version MATCHES "release 13\\.0")
            set(cuda_reason "${SHARDSCOPE_NVCC} is not of CUDA 13.0, which LibTorch 2.11.0 is built with, name one that is in CUDA_HOME")
        endif()
    endif()
endif()

if(NOT cuda_reason)
    get_filename_component(cuda_root "${SHARDSCOPE_NVCC}" REALPATH)
    get_filename_component(cuda_root "${cuda_root}" DIRECTORY)
    get_filename_component(cuda_root "${cuda_root}" DIRECTORY)
    set(nvidia ${SHARDSCOPE_LIBTORCH}/nvidia)
    set(cuda_folders ${cuda_root} ${cuda_root}/targets/x86_64-linux ${cuda_root}/extras/CUPTI)
    find_path(SHARDSCOPE_CUDART_INCLUDE cuda_runtime_api.h
        PATHS ${cuda_folders} PATH_SUFFIXES include NO_DEFAULT_PATH)
    find_path(SHARDSCOPE_CUPTI_INCLUDE cupti.h
        PATHS ${cuda_folders} PATH_SUFFIXES include NO_DEFAULT_PATH)
    find_path(SHARDSCOPE_NCCL_INCLUDE nccl.h
        PATHS ${nvidia}/nccl ${cuda_folders} PATH_SUFFIXES include NO_DEFAULT_PATH)
    # Wheels have no unversioned names.
    find_file(SHARDSCOPE_NCCL_LIBRARY libnccl.so.2
        PATHS ${nvidia}/nccl ${cuda_folders} PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH)
    find_file(SHARDSCOPE_CUPTI_LIBRARY libcupti.so.13
        PATHS ${nvidia}/cu13 ${cuda_folders} PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH)
    find_file(SHARDSCOPE_CUDART_LIBRARY libcudart.so.13
        PATHS ${nvidia}/cu13 ${cuda_folders} PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH)
    set(nccl_version "")
    if(SHARDSCOPE_NCCL_INCLUDE)
        # NCCL_VERSION_CODE is computed from these three.
        file(STRINGS ${SHARDSCOPE_NCCL_INCLUDE}/nccl.h nccl_numbers
            REGEX "^#define NCCL_(MAJOR|MINOR|PATCH) ")
        string(REGEX MATCHALL "[0-9]+" nccl_numbers "${nccl_numbers}")
        list(JOIN nccl_numbers "." nccl_version)
    endif()
    set(torch_lib ${SHARDSCOPE_LIBTORCH}/torch/lib)
    if(NOT EXISTS ${torch_lib}/libtorch_cuda.so OR NOT EXISTS ${torch_lib}/libc10_cuda.so
       OR NOT SHARDSCOPE_NCCL_LIBRARY OR NOT SHARDSCOPE_CUPTI_LIBRARY
       OR NOT SHARDSCOPE_CUDART_LIBRARY)
        set(cuda_reason "the CUDA part of LibTorch is not in ${SHARDSCOPE_LIBTORCH}, run packaging/fetch-libtorch")
    elseif(NOT SHARDSCOPE_CUDART_INCLUDE OR NOT SHARDSCOPE_CUPTI_INCLUDE)
        set(cuda_reason "${cuda_root} lacks cuda_runtime_api.h or cupti.h, install the whole CUDA 13.0 toolkit")
    elseif(NOT nccl_version STREQUAL "2.28.9")
        # ncclConfig_t's layout belongs to the version.
        set(cuda_reason "no nccl.h of NCCL 2.28.9 (found '${nccl_version}'), run packaging/fetch-libtorch")
    endif()
endif()

if(cuda_reason)
    if(SHARDSCOPE_WITH_CUDA STREQUAL "OFF")
        shardscope_note("CUDA: left out, ${cuda_reason}")
    else()
        shardscope_leave_out(CUDA "${cuda_reason}")
    endif()
else()
    set(SHARDSCOPE_HAVE_CUDA ON)
    set(CMAKE_CUDA_COMPILER ${SHARDSCOPE_NVCC})
    set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
    # Ampere and Ada run the first, Hopper the second; newer ones compile its PTX.
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${SHARDSCOPE_LAUNCHER})
    enable_language(CUDA)
    # CMake 3.25 does not know that nvcc speaks C++20.
    foreach(kind STANDARD EXTENSION)
        if(NOT CMAKE_CUDA20_${kind}_COMPILE_OPTION)
            set(CMAKE_CUDA20_${kind}_COMPILE_OPTION "-std=c++20")
        endif()
    endforeach()
    set(CMAKE_CUDA_STANDARD 20)
    # The shared one that LibTorch is linked to, below.
    set(CMAKE_CUDA_RUNTIME_LIBRARY None)
    set(SHARDSCOPE_CUDA_INCLUDE ${SHARDSCOPE_NCCL_INCLUDE} ${SHARDSCOPE_CUDART_INCLUDE}
        ${SHARDSCOPE_CUPTI_INCLUDE})
    list(REMOVE_DUPLICATES SHARDSCOPE_CUDA_INCLUDE)

    add_library(shardscope_torch_cuda INTERFACE)
    target_include_directories(shardscope_torch_cuda SYSTEM INTERFACE ${SHARDSCOPE_CUDA_INCLUDE})
    # No symbol of libtorch_cuda is used by name, and yet it has to be loaded.
    target_link_libraries(shardscope_torch_cuda INTERFACE shardscope_torch
        -Wl,--no-as-needed ${torch_lib}/libtorch_cuda.so ${torch_lib}/libc10_cuda.so
        ${SHARDSCOPE_NCCL_LIBRARY} ${SHARDSCOPE_CUPTI_LIBRARY} ${SHARDSCOPE_CUDART_LIBRARY})
    shardscope_note("CUDA: 13.0 from ${cuda_root}, NCCL ${nccl_version}")
endif()
