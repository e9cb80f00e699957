#include "app/cli/console.h"

#include "storage/model/plain_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace shardscope::cli {
namespace {

/// A pipe that is ready takes so much without waiting.
constexpr std::size_t kAtOnce = 4096;
/// For a reader that is slow; one that stands still (Ctrl-S, a pager) is waited for once.
constexpr int kPatienceMs = 100;

struct Standing {
    int error = 0;           ///< errno of the first failure, -1: no reader took it
    bool waitedFor = false;  ///< in vain, since it last took something
};
Standing standing;

bool isReady(int descriptor, int milliseconds) {
    pollfd entry{descriptor, POLLOUT, 0};
    // A coming error is reported by write().
    return ::poll(&entry, 1, milliseconds) != 0;
}

/// Writes all, waiting as long as it takes; errno of a failure, else 0.
int writeAll(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(descriptor, text.data(), text.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) {
            isReady(descriptor, -1);
            continue;
        }
        if (count < 0) return errno;
        text.remove_prefix(static_cast<std::size_t>(count));
    }
    return 0;
}

void note(int error) {
    if (standing.error == 0) standing.error = error;
}

/// Bytes of the UTF-8 character at the front, at least 1.
std::size_t characterLength(std::string_view text) {
    std::size_t length = 1;
    while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80)
        ++length;
    return length;
}

std::size_t columnsOf(std::string_view text) {
    std::size_t columns = 0;
    for (; !text.empty(); text.remove_prefix(characterLength(text))) ++columns;
    return columns;
}

/// Bytes of at most `columns` columns, up to a space where there is one behind `indent`.
std::size_t breakAt(std::string_view line, std::size_t columns, std::size_t indent) {
    std::size_t end = 0;
    std::size_t space = 0;
    for (std::size_t used = 0; end < line.size() && used < columns; ++used) {
        end += characterLength(line.substr(end));
        if (end < line.size() && line[end] == ' ' && end > indent) space = end;
    }
    return end == line.size() || space == 0 ? end : space;
}

}  // namespace

void occupyStandardDescriptors() {
    // Descriptors are given out from the lowest: what is closed among them is taken in order.
    // Reading only, so that writing to it is the error that it would have been.
    for (int descriptor = ::open("/dev/null", O_RDONLY); descriptor >= 0;
         descriptor = ::open("/dev/null", O_RDONLY)) {
        if (descriptor <= STDERR_FILENO) continue;
        ::close(descriptor);
        return;
    }
}

void tell(std::string_view text) {
    draw(printable(std::string(text)));
}

void draw(std::string_view text) {
    while (!text.empty()) {
        if (!isReady(STDERR_FILENO, standing.waitedFor ? 0 : kPatienceMs)) {
            standing.waitedFor = true;
            return note(-1);
        }
        const std::string_view part = text.substr(0, kAtOnce);
        const ssize_t count = ::write(STDERR_FILENO, part.data(), part.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return note(errno);
        standing.waitedFor = false;
        text.remove_prefix(static_cast<std::size_t>(count));
    }
}

void tellLine(std::string text) {
    draw(asLine(std::move(text)));
}

void tellError(std::string_view sentence) {
    tell(fmt::format("shardscope: {}\n", quotedLines(std::string(sentence))));
}

std::optional<std::string> lostWords() {
    if (standing.error == 0) return std::nullopt;
    return standing.error < 0 ? "the reader closed it" : std::strerror(standing.error);
}

std::string asLine(std::string text) {
    return printableLine(std::move(text)) + '\n';
}

Result<void> print(std::string_view text) {
    const int error = writeAll(STDOUT_FILENO, text);
    if (error == 0) return {};
    return failure(ErrorCode::kFailure,
                   fmt::format("cannot write to standard output: {}; the output is incomplete",
                               std::strerror(error)));
}

int printLast(std::string text, int status) {
    const auto printed = print(printableDocument(std::move(text)));
    if (printed) return status;
    tellError(printed.error().message);
    return status == 0 ? exitStatus(printed.error()) : status;
}

std::optional<int> terminalColumns(int descriptor) {
    winsize size{};
    if (::isatty(descriptor) != 1 || ::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col < 1)
        return std::nullopt;
    return size.ws_col;
}

std::string fitted(const std::string& line, int columns) {
    std::size_t end = 0;
    for (int used = 0; used < columns && end < line.size(); ++used)
        end += characterLength(std::string_view(line).substr(end));
    return line.substr(0, end);
}

std::string wrapped(const std::string& text, int columns) {
    // Narrower than this nothing can be read anyway.
    const auto width = static_cast<std::size_t>(std::max(columns, 20));
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = std::string_view(text).substr(at, end - at);
        at = end + 1;
        const std::size_t own = std::min(line.find_first_not_of(' '), line.size());
        const std::size_t indent = std::min(own + 2, width / 2);
        std::string front;
        while (columnsOf(line) + front.size() > width) {
            const std::size_t part = breakAt(line, width - front.size(), front.empty() ? own : 0);
            out += front + std::string(line.substr(0, part)) + '\n';
            line.remove_prefix(std::min(part, line.size()));
            line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
            front.assign(indent, ' ');
        }
        if (!line.empty() || front.empty()) out += front + std::string(line) + '\n';
    }
    if (!text.ends_with('\n') && !out.empty()) out.pop_back();
    return out;
}

}  // namespace shardscope::cli
