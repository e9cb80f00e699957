// Writes a program's manual pages and completions where an installation takes them from.
#pragma once

#include "app/manual/program_help.h"
#include "storage/model/result.h"

#include <string>
#include <vector>

namespace shardscope::manual {

/// FOLDER/man1/NAME.1 and those of verbs, FOLDER/bash/NAME, FOLDER/zsh/_NAME,
/// FOLDER/fish/NAME.fish. `also`: other pages to see. kFailure with a sentence where one cannot be
/// written.
Result<void> writePages(const Program& program, const std::vector<std::string>& also,
                        const std::string& folder);

/// Its manual pages alone.
Result<void> writeManPages(const Program& program, const std::vector<std::string>& also,
                           const std::string& folder);

}  // namespace shardscope::manual
