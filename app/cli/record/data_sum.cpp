// `shardscope data-sum`: what an agent has summed up for it. Not for people.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/options.h"
#include "app/cli/record/data_path.h"

#include <memory>
#include <string>

namespace shardscope::cli {

Command addDataSum(CLI::App& root) {
    CLI::App* app = addVerb(root, "data-sum", "checksum of a run's data (internal)");
    hide(*app);
    const auto path = std::make_shared<std::string>();
    addOption(*app, "path", *path).required();
    return {app, [path] { return printLast(run::encode(sumOfData(*path)) + '\n', 0); }};
}

}  // namespace shardscope::cli
