#include "engine/launch/slurm/slurm_job.h"

#include "engine/launch/ssh/child_process.h"
#include "engine/launch/ssh/login_shell.h"
#include "engine/launch/tasks/task_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace shardscope::launch {
namespace {

constexpr std::array kOver = {"COMPLETED", "FAILED",    "CANCELLED", "TIMEOUT",       "NODE_FAIL",
                              "BOOT_FAIL", "PREEMPTED", "DEADLINE",  "OUT_OF_MEMORY", "REVOKED"};

/// What follows "NAME=" up to a blank.
std::string fieldOf(std::string_view text, std::string_view name) {
    const std::string wanted = fmt::format("{}=", name);
    for (std::size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 1)) {
        if (at > 0 && text[at - 1] != ' ' && text[at - 1] != '\n') continue;
        const std::size_t begin = at + wanted.size();
        return std::string(text.substr(begin, text.find_first_of(" \n", begin) - begin));
    }
    return {};
}

int number(std::string_view text) {
    int value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

Result<std::string> slurm(const std::vector<std::string>& words, const std::string& input = {}) {
    if (findProgram(words[0]).empty())
        return failure(
            ErrorCode::kLaunch,
            fmt::format("{} is not in PATH; use a machine that submits to Slurm", words[0]));
    auto output = outputOf(words, input);
    if (!output) return failure(ErrorCode::kLaunch, output.error().message);
    return output;
}

Result<void> cancel(const std::vector<std::string>& words) {
    auto done = slurm(words);
    if (!done) return failure(done);
    return {};
}

}  // namespace

bool SlurmState::isOver() const {
    return std::find(kOver.begin(), kOver.end(), word) != kOver.end();
}

std::optional<SlurmState> parseSlurmState(std::string_view text) {
    SlurmState state;
    state.word = fieldOf(text, "JobState");
    if (state.word.empty()) return std::nullopt;
    state.reason = fieldOf(text, "Reason");
    state.nodes = fieldOf(text, "NodeList");
    if (state.nodes == "(null)") state.nodes.clear();
    const std::string exit = fieldOf(text, "ExitCode");
    state.exitCode = number(exit);
    if (const std::size_t colon = exit.find(':'); colon != exit.npos)
        state.signal = number(std::string_view(exit).substr(colon + 1));
    return state;
}

/// Tasks end by themselves when one of them is lost, and finish the recording: srun must not be
/// quicker. Where rank 0's could not even begin, the others wait for it in vain, but not for long.
std::string slurmScript(const std::vector<std::string>& words, const std::string& token) {
    std::string line = "exec srun --kill-on-bad-exit=0 --wait=60 --input=none";
    for (const std::string& word : words) line += ' ' + shellWord(word);
    return fmt::format("#!/bin/sh\n{0}={1}\nexport {0}\n{2}\n", kTaskToken, shellWord(token), line);
}

Result<std::vector<std::string>> optionWords(std::string_view text) {
    std::vector<std::string> words;
    std::string word;
    bool inWord = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"' || c == '\'') {
            const std::size_t end = text.find(c, i + 1);
            if (end == text.npos)
                return failure(ErrorCode::kUsage,
                               fmt::format("a quote in '{}' has no end; close it", text));
            word += text.substr(i + 1, end - i - 1);
            i = end;
            inWord = true;
        } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
            word += c;
            inWord = true;
        } else if (inWord) {
            words.push_back(std::exchange(word, {}));
            inWord = false;
        }
    }
    if (inWord) words.push_back(word);
    return words;
}

Result<std::string> submitToSlurm(const std::string& script,
                                  const std::vector<std::string>& options,
                                  const std::string& output) {
    std::vector<std::string> words = {"sbatch", "--parsable", "--no-requeue"};
    words.insert(words.end(), options.begin(), options.end());
    // The last one counts, and the script of sbatch's standard input is the job's.
    words.push_back("--output=" + output);
    auto said = slurm(words, script);
    if (!said) return failure(said);
    std::string job = said->substr(0, said->find_first_of(";\n"));
    const bool digits = !job.empty() && job.find_first_not_of("0123456789") == job.npos;
    if (!digits)
        return failure(ErrorCode::kLaunch,
                       fmt::format("sbatch printed '{}' instead of a job number", *said));
    return job;
}

Result<std::optional<SlurmState>> slurmStateOf(const std::string& job) {
    auto said = slurm({"scontrol", "show", "job", "-o", job});
    if (said) return parseSlurmState(*said);
    if (said.error().message.find("Invalid job id") != std::string::npos)
        return std::optional<SlurmState>();
    return failure(said);
}

Result<void> interruptSlurmJob(const std::string& job) {
    return cancel({"scancel", "--signal=INT", job});
}

Result<void> cancelSlurmJob(const std::string& job) {
    return cancel({"scancel", job});
}

}  // namespace shardscope::launch
