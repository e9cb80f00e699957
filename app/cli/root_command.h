// `shardscope` as a whole: its own options, and all verbs.
#pragma once

#include "app/cli/command.h"

#include <array>
#include <vector>

namespace shardscope::cli {

/// Makes `root` the program's command line. The commands in the order of its help.
[[nodiscard]] std::vector<Command> addCommands(CLI::App& root);

// The verbs of `shardscope`, in the order of its help.

Command addRecord(CLI::App& root);
Command addAttach(CLI::App& root);
Command addControl(CLI::App& root);
Command addImport(CLI::App& root);
Command addReport(CLI::App& root);
Command addAnalyze(CLI::App& root);
Command addCompare(CLI::App& root);
Command addVerify(CLI::App& root);
Command addInfo(CLI::App& root);
Command addQuery(CLI::App& root);
Command addRepair(CLI::App& root);
Command addExport(CLI::App& root);
Command addTokenize(CLI::App& root);
Command addPlan(CLI::App& root);
Command addCalibrate(CLI::App& root);
Command addBench(CLI::App& root);
Command addTune(CLI::App& root);
Command addDoctor(CLI::App& root);
Command addAgent(CLI::App& root);
Command addDataSum(CLI::App& root);
Command addServe(CLI::App& root);

inline constexpr std::array kVerbs{
    addRecord,    addAttach, addControl, addImport, addReport, addAnalyze,  addCompare,
    addVerify,    addInfo,   addQuery,   addRepair, addExport, addTokenize, addPlan,
    addCalibrate, addBench,  addTune,    addDoctor, addAgent,  addDataSum,  addServe};

}  // namespace shardscope::cli
