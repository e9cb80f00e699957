// A folder of its own for one test, removed with all it holds.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace shardscope::test {

class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "shardscope-XXXXXX").string();
        m_path = mkdtemp(pattern.data()) == nullptr ? "." : pattern;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        if (m_path != ".") std::filesystem::remove_all(m_path, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    [[nodiscard]] std::string file(const std::string& name) const { return m_path + "/" + name; }
    [[nodiscard]] const std::string& path() const { return m_path; }

private:
    std::string m_path;
};

}  // namespace shardscope::test
