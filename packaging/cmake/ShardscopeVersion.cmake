# Writes a source file with version and git commit, anew at each build but touched only when
# they changed. Run as: cmake -DINPUT=.. -DOUTPUT=.. -DPROJECT_VERSION=.. -DSOURCE=.. -P this
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE SHARDSCOPE_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
    RESULT_VARIABLE status)
if(NOT status EQUAL 0)
    set(SHARDSCOPE_COMMIT "unknown commit")
endif()
configure_file(${INPUT} ${OUTPUT} @ONLY)
