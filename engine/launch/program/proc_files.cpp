#include "engine/launch/program/proc_files.h"

#include "storage/model/file_descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>

namespace shardscope::launch {
namespace {

/// Calls `use` with each entry until it returns true.
template <class Use>
bool anyEntry(std::string_view entries, Use use) {
    while (!entries.empty()) {
        const std::size_t end = std::min(entries.find('\0'), entries.size());
        if (use(entries.substr(0, end))) return true;
        entries.remove_prefix(std::min(end + 1, entries.size()));
    }
    return false;
}

}  // namespace

std::string procText(const std::string& path, std::size_t mostBytes) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    constexpr std::size_t kPiece = 65'536;
    // The kernel hands out less than asked for long before the end.
    while (file.valid() && text.size() < mostBytes) {
        const std::size_t had = text.size();
        text.resize(std::min(mostBytes, had + kPiece));
        const ssize_t got = ::read(file.get(), text.data() + had, text.size() - had);
        text.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got <= 0) break;
    }
    return text;
}

std::string linkText(const std::string& path) {
    std::string text(PATH_MAX, '\0');
    const ssize_t got = ::readlink(path.c_str(), text.data(), text.size());
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
}

ProcStat procStat(std::string_view text) {
    ProcStat stat;
    // The name may hold anything, blanks and parentheses too.
    const std::size_t begin = text.find('('), end = text.rfind(')');
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin)
        return stat;
    stat.name = text.substr(begin + 1, end - begin - 1);
    std::string_view rest = text.substr(std::min(text.size(), end + 2));
    if (!rest.empty()) stat.state = rest.front();
    for (std::size_t field = 3; field < stat.fields.size() && !rest.empty(); ++field) {
        const std::size_t blank = std::min(rest.find(' '), rest.size());
        std::from_chars(rest.data(), rest.data() + blank, stat.fields[field]);
        rest.remove_prefix(std::min(blank + 1, rest.size()));
    }
    return stat;
}

std::int64_t statusNumber(std::string_view status, std::string_view name) {
    for (std::size_t line = 0; line < status.size();) {
        const std::size_t end = std::min(status.find('\n', line), status.size());
        std::string_view text = status.substr(line, end - line);
        line = end + 1;
        if (!text.starts_with(name) || text.substr(name.size(), 1) != ":") continue;
        text.remove_prefix(name.size() + 1);
        text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
        std::int64_t number = 0;
        std::from_chars(text.data(), text.data() + text.size(), number);
        return number;
    }
    return 0;
}

bool hasEntry(std::string_view entries, std::string_view entry) {
    return anyEntry(entries, [&](std::string_view each) { return each == entry; });
}

std::string_view variableIn(std::string_view entries, std::string_view name) {
    std::string_view value;
    anyEntry(entries, [&](std::string_view each) {
        if (!each.starts_with(name) || each.substr(name.size(), 1) != "=") return false;
        value = each.substr(name.size() + 1);
        return true;
    });
    return value;
}

}  // namespace shardscope::launch
