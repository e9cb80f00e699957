#include "storage/recording/remote/folder_list.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <tuple>

namespace shardscope::storage::remote {
namespace {

namespace fs = std::filesystem;

/// More than anybody looks through.
constexpr std::size_t kMostEntries = 5'000;

bool isShown(const FolderEntry& entry) {
    if (entry.name.starts_with('.')) return false;
    return entry.isFolder || entry.name.ends_with(".sscope");
}

FolderEntry entryOf(const fs::directory_entry& found) {
    FolderEntry entry;
    entry.name = found.path().filename().string();
    struct stat facts {};
    // What is gone or may not be looked at is listed without its facts.
    if (::stat(found.path().c_str(), &facts) != 0) return entry;
    entry.isFolder = S_ISDIR(facts.st_mode);
    if (!entry.isFolder) entry.size = {facts.st_size};
    entry.changedNs = facts.st_mtim.tv_sec * std::int64_t{1'000'000'000} + facts.st_mtim.tv_nsec;
    return entry;
}

}  // namespace

std::string withoutTilde(const std::string& path) {
    if (path != "~" && !path.starts_with("~/")) return path;
    const char* home = std::getenv("HOME");
    return std::string(home != nullptr ? home : "/") + path.substr(1);
}

Result<FolderList> listFolder(const std::string& path) {
    std::error_code error;
    FolderList list;
    list.path = fs::weakly_canonical(withoutTilde(path.empty() ? "~" : path), error).string();
    fs::directory_iterator folder;
    if (!error) folder = fs::directory_iterator(list.path, error);
    for (; !error && folder != fs::directory_iterator(); folder.increment(error)) {
        FolderEntry entry = entryOf(*folder);
        if (!isShown(entry)) continue;
        list.whole = list.entries.size() < kMostEntries;
        if (!list.whole) break;
        list.entries.push_back(std::move(entry));
    }
    if (error)
        return failure(ErrorCode::kUnreadable, "the folder " + path + " cannot be listed (" +
                                                   error.message() + "): choose another");
    std::sort(list.entries.begin(), list.entries.end(),
              [](const FolderEntry& a, const FolderEntry& b) {
                  return std::tuple(!a.isFolder, a.name) < std::tuple(!b.isFolder, b.name);
              });
    return list;
}

}  // namespace shardscope::storage::remote
