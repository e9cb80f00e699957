// A folder like /proc, of processes that a test makes up.
#pragma once

#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace shardscope::test {

struct FakeProcess {
    pid_t pid = 0;
    pid_t parent = 1;
    std::uint64_t start = 1000;  ///< ticks
    std::string command = "sh";  ///< words that a blank separates
    std::int64_t ticks = 0;      ///< user time
    std::int64_t pages = 1;
    std::int64_t peakKilobytes = 0;
    std::string name = "sh";
    std::string environment{};  ///< "A=1 B=2"
    std::string maps{};
    std::string program = "/bin/sh";
    char state = 'S';
};

class FakeProc {
public:
    [[nodiscard]] std::string path() const { return m_folder.path(); }

    /// Makes it, or another one of its number.
    void put(const FakeProcess& process) const {
        namespace fs = std::filesystem;
        const std::string folder = path() + "/" + std::to_string(process.pid);
        fs::remove_all(folder);
        fs::create_directories(folder);
        std::ofstream(folder + "/stat")
            << fmt::format("{} ({}) {} {} 1 1 0 -1 0 0 0 0 0 {} 0 0 0 20 0 1 0 {} 1000 {} 0\n",
                           process.pid, process.name, process.state, process.parent, process.ticks,
                           process.start, process.pages);
        std::ofstream(folder + "/status")
            << "Name:\tx\nVmHWM:\t  " << process.peakKilobytes << " kB\n";
        std::ofstream(folder + "/cmdline") << entries(process.command);
        std::ofstream(folder + "/environ") << entries(process.environment);
        std::ofstream(folder + "/maps") << process.maps;
        fs::create_symlink(process.program, folder + "/exe");
    }
    void end(pid_t pid) const { std::filesystem::remove_all(path() + "/" + std::to_string(pid)); }

private:
    static std::string entries(std::string words) {
        if (words.empty()) return words;
        for (char& each : words)
            if (each == ' ') each = '\0';
        return words + '\0';
    }

    TemporaryFolder m_folder;
};

}  // namespace shardscope::test
