// What the tab "Any program" computes while one types: command line, what is wrong and where; and
// the commands that were started before. Functions of their arguments; but for history() and
// keepHistory(), and the files that are looked for.
#pragma once

#include "engine/run/config/run_config.h"

#include <QString>
#include <QStringList>
#include <map>
#include <string>
#include <vector>

namespace shardscope::desktop {

/// As the fields have it.
struct ProgramSettings {
    QString command;      ///< a line, or several, as a shell takes them
    QString folder;       ///< that the program works in
    QString environment;  ///< NAME=VALUE, a variable a line
    QString stepRange;
    run::RunConfig recording;  ///< capture, limits and output; the rest as it is by default
    QString name{};            ///< that the user gives the run; empty: none
    bool stacks = false;       ///< Python stacks of operators
};

/// Keys of fields that are no option of a run.
namespace program_keys {
inline constexpr const char* kCommand = "program.command";
inline constexpr const char* kFolder = "program.folder";
inline constexpr const char* kEnvironment = "program.environment";
inline constexpr const char* kStepRange = "program.step_range";
inline constexpr const char* kName = "program.name";
inline constexpr const char* kStacks = "program.stacks";
}  // namespace program_keys

struct ProgramPlan {
    std::map<std::string, QString> problems;  ///< by key of the field that says it
    QString reason;                           ///< why it cannot start; empty: it can
    QString title;                            ///< "torchrun train.py"; empty without a command
    QStringList words;                        ///< of the command
    QStringList arguments;                    ///< after `shardscope record`, for a process
    QString commandLine;                      ///< for people
};

[[nodiscard]] ProgramPlan planProgram(const ProgramSettings& settings);
/// "torchrun-train-20260102-1530.sscope"
[[nodiscard]] QString suggestedProgramRecording(const ProgramPlan& plan, const QString& moment);
/// What a capture level holds of a program, and what it costs.
[[nodiscard]] QString captureNoteOfProgram(CaptureLevel level);

/// A command that was started; its environment may hold secrets and is not kept.
struct EarlierProgram {
    QString command;
    QString folder;
    QString capture;  ///< a word of CaptureLevel
    QString stepRange;
    friend bool operator==(const EarlierProgram&, const EarlierProgram&) = default;
};
inline constexpr std::size_t kMostEarlierPrograms = 20;

/// Newest first. `file`: settings; empty, or without any: none.
[[nodiscard]] std::vector<EarlierProgram> programHistory(const QString& file);
void keepProgramHistory(const QString& file, const std::vector<EarlierProgram>& programs);
/// With this one first, and the same one nowhere else.
[[nodiscard]] std::vector<EarlierProgram> withNewest(std::vector<EarlierProgram> programs,
                                                     const EarlierProgram& newest);

}  // namespace shardscope::desktop
