#include "storage/recording/file/part_files.h"

#include "storage/sqlite/sqlite_error.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string_view>

namespace shardscope::storage {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKinds[] = {"part", "new"};

std::string hostName() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) return "host";
    return name.data();
}

std::string front(const char* kind) {
    return std::string(".") + kind + "-" + hostName() + "-";
}

/// A journal of SQLite's, a copy of the input or a further try at the output (numbered where there
/// are several), or the new file of a part. Not any text: "HOST" may begin another's name.
bool mayFollow(std::string_view rest) {
    for (const std::string_view numbered : {"-in", "-again"}) {
        if (!rest.starts_with(numbered)) continue;
        rest.remove_prefix(numbered.size());
        while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') rest.remove_prefix(1);
        break;
    }
    return rest.empty() || rest == "-wal" || rest == "-shm" || rest == "-journal" ||
           rest.starts_with(".new-");
}

/// Of "part-HOST-PID..." behind the output's own name.
std::optional<pid_t> writerOf(std::string_view ending) {
    for (const char* kind : kKinds) {
        const std::string expected = front(kind);
        if (!ending.starts_with(expected)) continue;
        const std::string_view number = ending.substr(expected.size());
        pid_t pid = 0;
        const auto parsed = std::from_chars(number.begin(), number.end(), pid);
        const std::string_view rest(parsed.ptr, number.end());
        if (parsed.ec == std::errc{} && pid > 0 && mayFollow(rest)) return pid;
    }
    return std::nullopt;
}

bool isGone(pid_t pid) {
    return kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace

std::string partName(const std::string& path, const char* kind) {
    return path + front(kind) + std::to_string(getpid());
}

std::string withoutPart(std::string sentence, const std::string& part, const std::string& path) {
    for (std::size_t at = 0; !part.empty() && (at = sentence.find(part, at)) != std::string::npos;
         at += path.size())
        sentence.replace(at, part.size(), path);
    // Said of recordings that are being recorded; the part is removed.
    const std::size_t promise = sentence.find(kStaysReadable);
    if (promise != std::string::npos)
        sentence.replace(promise, std::string_view(kStaysReadable).size(), "no file was written");
    return sentence;
}

void removeDeadParts(const std::string& path) {
    std::error_code error;
    const fs::path output = fs::absolute(path, error);
    const std::string name = output.filename().string();
    for (const auto& entry : fs::directory_iterator(output.parent_path(), error)) {
        const std::string other = entry.path().filename().string();
        if (!other.starts_with(name) || !entry.is_regular_file(error)) continue;
        const auto writer = writerOf(std::string_view(other).substr(name.size()));
        if (writer && isGone(*writer)) fs::remove(entry.path(), error);
    }
}

}  // namespace shardscope::storage
