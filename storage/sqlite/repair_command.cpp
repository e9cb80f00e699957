#include "storage/sqlite/repair_command.h"

#include "storage/model/shell_word.h"

#include <string_view>

namespace shardscope::storage {

std::string repairCommand(const std::string& path) {
    constexpr std::string_view kEnding = ".sscope";
    std::string output = path;
    if (output.ends_with(kEnding)) output.resize(output.size() - kEnding.size());
    output.append("-repaired").append(kEnding);
    return "`shardscope repair " + typedWord(path) + " --output " + typedWord(output) + "`";
}

}  // namespace shardscope::storage
