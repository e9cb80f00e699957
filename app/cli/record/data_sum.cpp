// `shardscope data-sum`: what an agent has summed up for it. Not for people.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/record/data_path.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace shardscope::cli {

Command addDataSum(CLI::App& root) {
    CLI::App* app = root.add_subcommand("data-sum", "checksum of a run's data (internal)");
    app->group("");  // hidden from --help
    const auto path = std::make_shared<std::string>();
    app->add_option("path", *path)->required();
    return {app, [path] { return printLast(run::encode(sumOfData(*path)) + '\n', 0); }};
}

}  // namespace shardscope::cli
