#include "storage/recording/remote/calls.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

namespace shardscope::storage::remote {
namespace {

constexpr std::size_t kCalls = std::variant_size_v<Call>;

struct CallType {
    const Shape* asked;
    const Shape* answer;
    void* (*emplace)(Call&);
};

template <class Any>
struct Types;
template <class... Asked>
struct Types<std::variant<Asked...>> {
    static constexpr std::array<CallType, kCalls> kAll{
        CallType{&kShape<Asked>, &kShape<typename Asked::Answer>,
                 [](Call& call) -> void* { return &call.emplace<Asked>(); }}...};
};
constexpr const auto& kTypes = Types<Call>::kAll;

namespace fs = std::filesystem;

/// More than a person looks through.
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

const Shape& shapeOfAnswer(std::size_t number) {
    return *kTypes[number].answer;
}

std::vector<std::byte> encodeCall(const Call& call) {
    columns::wire::Writer out;
    out.putOne(*kTypes[call.index()].asked,
               std::visit([](const auto& asked) -> const void* { return &asked; }, call));
    std::vector<std::byte> bytes = out.take();
    bytes.insert(bytes.begin(), static_cast<std::byte>(call.index()));
    return bytes;
}

std::optional<Call> decodeCall(std::span<const std::byte> bytes, std::size_t budget) {
    const std::size_t number = bytes.empty() ? kCalls : std::to_integer<std::size_t>(bytes[0]);
    if (number >= kCalls) return std::nullopt;
    Call call;
    columns::wire::Reader in(bytes.subspan(1), budget);
    in.getOne(*kTypes[number].asked, kTypes[number].emplace(call));
    return in.isWhole() ? std::optional(std::move(call)) : std::nullopt;
}

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
