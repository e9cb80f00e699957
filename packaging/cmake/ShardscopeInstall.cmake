# `cmake --install`, and the packages that CPack makes of it. Programs lie together in one folder,
# as in the build, so that each finds the others beside itself; what people type are links to them.
include_guard(GLOBAL)
include(GNUInstallDirs)

set(home ${CMAKE_INSTALL_LIBEXECDIR}/shardscope)
set(libtorch_home ${home}/libtorch-${SHARDSCOPE_LIBTORCH_VERSION})

# shardscope_install_program(TARGET COMPONENT [LINK]): LINK where people start it themselves.
function(shardscope_install_program target component)
    install(TARGETS ${target} RUNTIME DESTINATION ${home} COMPONENT ${component})
    if("LINK" IN_LIST ARGN)
        file(RELATIVE_PATH up ${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_PREFIX}/${home})
        set(link ${CMAKE_BINARY_DIR}/links/${target})
        file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/links)
        file(CREATE_LINK ${up}/${target} ${link} SYMBOLIC)
        install(FILES ${link} DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
    endif()
endfunction()

# shardscope_install_pages(FOLDER COMPONENT PROGRAM PAGES...): what the build wrote there, manual pages
# and completions of PROGRAM. PAGES: names of pages, as patterns.
function(shardscope_install_pages folder component program)
    foreach(page IN LISTS ARGN)
        install(DIRECTORY ${folder}/man1/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${component}
            FILES_MATCHING PATTERN ${page})
    endforeach()
    if(program)
        install(FILES ${folder}/bash/${program} COMPONENT ${component}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
        install(FILES ${folder}/zsh/_${program} COMPONENT ${component}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
        install(FILES ${folder}/fish/${program}.fish COMPONENT ${component}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
    endif()
endfunction()

# A package's copyright file, under the name of the package as Debian wants it.
function(shardscope_install_copyright component)
    install(FILES ${CMAKE_SOURCE_DIR}/packaging/copyright COMPONENT ${component}
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${component})
endfunction()

shardscope_install_program(shardscope shardscope LINK)
install(TARGETS shardscope_sqlite_extension LIBRARY DESTINATION ${home} COMPONENT shardscope)
install(PROGRAMS ${CMAKE_SOURCE_DIR}/packaging/fetch-libtorch DESTINATION ${home}/share COMPONENT shardscope)
install(PROGRAMS ${CMAKE_SOURCE_DIR}/app/cli/bench/torch_collectives.py DESTINATION ${home}/share COMPONENT shardscope)
install(FILES ${CMAKE_SOURCE_DIR}/packaging/dependencies.env DESTINATION ${home}/share COMPONENT shardscope)
# What `shardscope record -- CMD` brings into other programs: library, shims, start hook.
get_property(shims GLOBAL PROPERTY SHARDSCOPE_TORCH_SHIMS)
install(TARGETS shardscope_inject ${shims} LIBRARY DESTINATION ${home}/inject COMPONENT shardscope)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/profiler/inject/python DESTINATION ${home}/inject COMPONENT shardscope
    FILES_MATCHING PATTERN *.py)
shardscope_install_pages(${CMAKE_BINARY_DIR}/pages/cli shardscope shardscope shardscope.1 shardscope-*.1)
shardscope_install_copyright(shardscope)
set(components shardscope)

if(SHARDSCOPE_HAVE_ENGINE)
    list(APPEND components shardscope-rank)
    shardscope_install_program(shardscope-rank shardscope-rank)
    shardscope_install_pages(${CMAKE_BINARY_DIR}/pages/rank shardscope-rank "" shardscope-rank.1)
    shardscope_install_copyright(shardscope-rank)
    set(own $ORIGIN/libtorch-${SHARDSCOPE_LIBTORCH_VERSION})
    set_target_properties(shardscope-rank PROPERTIES
        INSTALL_RPATH "${own}/torch/lib;${own}/${SHARDSCOPE_ONEDNN_BELOW}")
    # What the rank and LibTorch's CPU part are linked against, by the places that they look in.
    foreach(library torch/lib/libtorch_cpu.so torch/lib/libc10.so torch/lib/libgomp.so.1
            nvidia/cu13/lib/libcudart.so.13 nvidia/cu13/lib/libcupti.so.13
            ${SHARDSCOPE_ONEDNN_BELOW}/libdnnl.so.3)
        get_filename_component(below ${library} DIRECTORY)
        install(PROGRAMS ${SHARDSCOPE_LIBTORCH}/${library} DESTINATION ${libtorch_home}/${below}
            COMPONENT shardscope-rank)
    endforeach()
    file(GLOB licences ${SHARDSCOPE_LIBTORCH}/*.dist-info)
    install(DIRECTORY ${licences} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/shardscope-rank/licences
        COMPONENT shardscope-rank)
    # The GPU part needs LibTorch's, 4 GB of it: `doctor` says how to build and fetch them.
endif()

if(SHARDSCOPE_HAVE_DESKTOP)
    list(APPEND components shardscope-desktop)
    shardscope_install_program(shardscope-desktop shardscope-desktop LINK)
    shardscope_install_pages(${CMAKE_BINARY_DIR}/pages/desktop shardscope-desktop shardscope-desktop shardscope-desktop.1)
    shardscope_install_copyright(shardscope-desktop)
    set(data ${CMAKE_SOURCE_DIR}/resources/desktop)
    set(id org.shardscope.shardscope)
    foreach(file_to "${id}.desktop|applications" "${id}.metainfo.xml|metainfo")
        string(REPLACE "|" ";" pair ${file_to})
        list(GET pair 0 file)
        list(GET pair 1 to)
        install(FILES ${data}/${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${to} COMPONENT shardscope-desktop)
    endforeach()
    install(FILES ${data}/${id}.mime.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/mime/packages
        RENAME ${id}.xml COMPONENT shardscope-desktop)
    set(icons ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable)
    install(FILES ${CMAKE_SOURCE_DIR}/resources/icons/shardscope.svg DESTINATION ${icons}/apps
        RENAME ${id}.svg COMPONENT shardscope-desktop)
    install(FILES ${data}/application-vnd.shardscope.recording.svg DESTINATION ${icons}/mimetypes
        COMPONENT shardscope-desktop)
endif()

# --- packages ------------------------------------------------------------------------------------
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME shardscope)
set(CPACK_PACKAGE_VENDOR "The Shardscope authors")
set(CPACK_PACKAGE_CONTACT "The Shardscope authors <shardscope@localhost>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(same "shardscope (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_SHARDSCOPE_PACKAGE_NAME shardscope)
set(CPACK_DEBIAN_SHARDSCOPE_PACKAGE_RECOMMENDS "shardscope-rank")
set(CPACK_DEBIAN_SHARDSCOPE_PACKAGE_SUGGESTS "shardscope-desktop, openssh-client")
set(CPACK_DEBIAN_SHARDSCOPE-RANK_PACKAGE_NAME shardscope-rank)
set(CPACK_DEBIAN_SHARDSCOPE-RANK_PACKAGE_DEPENDS "${same}")
set(CPACK_DEBIAN_SHARDSCOPE-DESKTOP_PACKAGE_NAME shardscope-desktop)
set(CPACK_DEBIAN_SHARDSCOPE-DESKTOP_PACKAGE_DEPENDS "${same}")
set(CPACK_DEBIAN_SHARDSCOPE-DESKTOP_PACKAGE_RECOMMENDS "shardscope-rank, qt6-wayland, fonts-inter, fonts-jetbrains-mono")
set(CPACK_COMPONENT_SHARDSCOPE_DESCRIPTION
    "Recorder and analyses of distributed training\nRecords training runs of several ranks into one file, explains them, compares them,\nand exchanges them with Kineto, HTA, Perfetto, Nsight Systems and memory_viz.")
set(CPACK_COMPONENT_SHARDSCOPE-RANK_DESCRIPTION
    "Training ranks of shardscope, with LibTorch\nOne process of this trains a shard of a GPT, with kernels, communicators and schedule\nof its own. Holds the CPU part of LibTorch.")
set(CPACK_COMPONENT_SHARDSCOPE-DESKTOP_DESCRIPTION
    "Desktop of shardscope\nShows timelines, memory, overlap of compute and communication and MFU of training runs,\nand of traces of PyTorch, Nsight Systems and Perfetto.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${SHARDSCOPE_LIBTORCH}/torch/lib ${SHARDSCOPE_LIBTORCH}/nvidia/cu13/lib
    ${SHARDSCOPE_ONEDNN})
include(CPack)
