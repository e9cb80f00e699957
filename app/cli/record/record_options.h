// The options of `shardscope record`, and the configuration they make.
#pragma once

#include "app/cli/hosts/launched_tasks.h"
#include "app/cli/hosts/run_hosts.h"
#include "app/cli/options.h"
#include "app/cli/record/kineto_options.h"
#include "app/cli/record/label_options.h"
#include "app/cli/record/run_flags.h"
#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope::cli {

class RecordOptions {
public:
    void addTo(CLI::App& app);

    /// Defaults, then the run file, then the model preset, then flags; validated.
    [[nodiscard]] Result<run::RunConfig> config();
    /// After config(), of our own training: what the run is called, of flags and of the run file.
    [[nodiscard]] const RunLabel& label() const { return m_label; }
    /// After config(): the command line that gives `config`; of a run that resumes, what differs
    /// from its checkpoint.
    [[nodiscard]] std::string commandLine(const run::RunConfig& config) const;
    /// The same as words, as a process takes them.
    [[nodiscard]] std::vector<std::string> arguments(const run::RunConfig& config) const;
    /// --slurm was given.
    [[nodiscard]] bool bySlurm() const;
    [[nodiscard]] bool givesRanks() const { return m_flags.given("ranks"); }
    /// Of a run that names none.
    [[nodiscard]] static std::string defaultOutput();
    /// What --interface says; empty: nothing.
    [[nodiscard]] std::string interface() const { return m_flags.text("interface"); }
    /// The TOML file that was named; empty: none.
    [[nodiscard]] const std::string& runFile() const { return m_runFile; }

    /// The list of hosts that was named, read and chosen from.
    [[nodiscard]] Result<void> settleHosts(run::RunConfig& config) const {
        return m_hosts.settle(config, true);
    }
    [[nodiscard]] const RunFlags& flags() const { return m_flags; }

    /// What follows after --: a program and its arguments; empty: our own training.
    std::vector<std::string> program;
    std::optional<double> keepLast;        ///< seconds
    std::optional<double> stall;           ///< the same
    std::string stepRange;                 ///< ranges of such a program that are steps
    std::string folder;                    ///< that it works in; empty: ours
    std::vector<std::string> environment;  ///< of it: NAME=VALUE
    bool withKineto = false;               ///< of such a program a window, by PyTorch's profiler
    KinetoOptions kineto{"10s"};
    LabelOptions labelOptions;
    bool force = false;
    bool json = false;
    bool quiet = false;
    bool dryRun = false;
    bool allowCommands = false;  ///< run files and checkpoints may name programs
    std::string control;         ///< "stdio" or nothing
    TaskOptions taskOptions;
    std::string slurm;  ///< options of sbatch; see bySlurm()
    /// What a launcher has started; before config().
    std::optional<LaunchedTasks> tasks;

private:
    [[nodiscard]] Result<void> checkNoProgramOption() const;
    [[nodiscard]] Result<void> settleTasks(run::RunConfig& config) const;
    /// Whether a setting that a run file or checkpoint has may run something.
    [[nodiscard]] bool mayRun(std::string_view key) const {
        return allowCommands || m_flags.given(std::string(key));
    }

    [[nodiscard]] Result<void> settleLabel(const RunLabel& ofRunFile);

    std::string m_runFile;
    std::string m_model;
    RunLabel m_label;
    RunFlags m_flags;
    HostFlags m_hosts;
    Option m_slurm;
    run::RunConfig m_start;  ///< what flags change
};

}  // namespace shardscope::cli
