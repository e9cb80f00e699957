#include "app/manual/write_pages.h"

#include "app/manual/completion.h"
#include "app/manual/man_page.h"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace shardscope::manual {
namespace {

Result<void> write(const std::filesystem::path& path, const std::string& text) {
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (file) return {};
    return failure(ErrorCode::kFailure, path.string() + " cannot be written");
}

}  // namespace

Result<void> writeManPages(const Program& program, const std::vector<std::string>& also,
                           const std::string& folder) {
    for (const ManPage& page : manPages(program, also)) {
        auto done = write(std::filesystem::path(folder) / "man1" / page.file, page.text);
        if (!done) return done;
    }
    return {};
}

Result<void> writePages(const Program& program, const std::vector<std::string>& also,
                        const std::string& folder) {
    const std::filesystem::path root(folder);
    if (auto done = writeManPages(program, also, folder); !done) return done;
    if (auto done = write(root / "bash" / program.name, bashCompletion(program)); !done)
        return done;
    if (auto done = write(root / "zsh" / ("_" + program.name), zshCompletion(program)); !done)
        return done;
    return write(root / "fish" / (program.name + ".fish"), fishCompletion(program));
}

}  // namespace shardscope::manual
