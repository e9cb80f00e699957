// A program's help as manual pages, in the macros of man(7). Pure.
#pragma once

#include "app/manual/program_help.h"

#include <string>
#include <vector>

namespace shardscope::manual {

struct ManPage {
    std::string file;  ///< "shardscope-record.1"
    std::string text;
};

/// One of the program, and one of each verb: shardscope.1, shardscope-record.1. `also`: names of
/// other pages to see, "shardscope-desktop(1)".
[[nodiscard]] std::vector<ManPage> manPages(const Program& program,
                                            const std::vector<std::string>& also);

}  // namespace shardscope::manual
