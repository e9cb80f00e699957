// Runs the `shardscope` that was built, with a fake rank, and looks at what it did.
#pragma once

#include "engine/launch/process.h"
#include "storage/recording/read/recording_reader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::cli {

/// Longest any single thing in these tests may take.
inline constexpr std::chrono::seconds kPatience{60};

/// Polls until `holds`, at most kPatience.
bool eventually(const std::function<bool()>& holds);

bool isAlive(pid_t pid);
std::vector<pid_t> childrenOf(pid_t pid);
/// With a NUL behind each word; empty for a process that is gone.
std::string commandOf(pid_t pid);

/// One running `shardscope`; killed with the test if it still runs. Output goes to files.
class Program {
public:
    Program(const std::vector<std::string>& arguments,
            const std::map<std::string, std::string>& environment, const std::string& folder,
            bool withInput, const std::string& program = built());
    /// The `shardscope` that was built.
    static std::string built();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program();

    [[nodiscard]] pid_t pid() const { return m_pid; }
    void signal(int number) const;
    void type(const std::string& text) const;
    void closeInput() { m_input.reset(); }
    /// Exit status; 128 + signal when ended by one, -1 when it does not end.
    int wait();
    [[nodiscard]] bool ended();
    [[nodiscard]] std::string out() const;
    [[nodiscard]] std::string err() const;

private:
    std::string m_folder;
    FileDescriptor m_input;
    pid_t m_pid = -1;
    std::optional<launch::ProcessEnd> m_end;
};

/// A folder of its own, and a short text to train on, for each test.
class CliTest : public testing::Test {
protected:
    CliTest();
    ~CliTest() override;

    std::unique_ptr<Program> start(const std::vector<std::string>& arguments,
                                   bool withInput = false) {
        return std::make_unique<Program>(arguments, environment, m_folder.string(), withInput,
                                         programPath);
    }
    /// `record` of the short text with the fake rank, to `output()`.
    std::vector<std::string> recordArguments(const std::vector<std::string>& more = {}) const;
    std::unique_ptr<Program> startRecord(const std::vector<std::string>& more = {},
                                         bool withInput = false) {
        return start(recordArguments(more), withInput);
    }

    [[nodiscard]] std::string path(const std::string& name) const {
        return (m_folder / name).string();
    }
    [[nodiscard]] std::string output() const { return path("run.sscope"); }
    /// The recording at output(); fails the test when it cannot be opened.
    RecordingSummary recorded();

    std::map<std::string, std::string> environment;
    std::string programPath = Program::built();

private:
    std::filesystem::path m_folder;
};

}  // namespace shardscope::cli
