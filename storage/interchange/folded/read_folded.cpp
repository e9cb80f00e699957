// Folded stacks into a recording: one lane on which the stacks lie side by side, as a flame graph
// draws them. A count is taken for nanoseconds: the file does not say its unit, nor any order.
#include "storage/interchange/byte_source.h"
#include "storage/interchange/import.h"
#include "storage/model/rank_facts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardscope::interchange {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kMostNodes = std::size_t{8} << 20;  ///< about half a gigabyte
constexpr std::int64_t kMostTime = std::int64_t{1} << 60;

struct Line {
    std::string_view stack;
    std::int64_t count = 0;
    bool fraction = false;  ///< there was one, and it was dropped
};

/// `stack COUNT`, as flamegraph.pl reads it.
std::optional<Line> parseLine(std::string_view text) {
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
    const std::size_t space = text.find_last_of(" \t");
    if (space == std::string_view::npos || space == 0) return std::nullopt;
    Line line{text.substr(0, space), 0, false};
    const char* const end = text.data() + text.size();
    const auto number = std::from_chars(text.data() + space + 1, end, line.count);
    if (number.ec != std::errc() || line.count < 0 || line.count > kMostTime) return std::nullopt;
    if (number.ptr == end) return line;
    line.fraction = *number.ptr == '.';
    const bool digits =
        std::all_of(number.ptr + 1, end, [](char c) { return c >= '0' && c <= '9'; });
    return line.fraction && digits ? std::optional(line) : std::nullopt;
}

class FoldedImport {
public:
    explicit FoldedImport(const ReaderRequest& request) : m_request(request) {}

    Result<void> line(std::string_view text) {
        if (text.find_first_not_of(" \t\r") == std::string_view::npos) return {};
        ++m_account.read;
        const auto line = parseLine(text);
        if (!line) return m_account.reject("a line without a count"), Result<void>{};
        if (line->count > kMostTime - m_total)
            return m_account.reject("a count out of range"), Result<void>{};
        ++m_account.kept;
        if (line->fraction) m_account.repair("fraction of a count dropped");
        m_total += line->count;
        std::uint32_t node = 0;
        m_nodes[0].time += line->count;
        for (std::string_view rest = line->stack; !rest.empty();) {
            const std::size_t end = std::min(rest.find(';'), rest.size());
            if (end > 0) node = child(node, rest.substr(0, end));
            m_nodes[node].time += end > 0 ? line->count : 0;
            rest.remove_prefix(std::min(rest.size(), end + 1));
        }
        if (m_nodes.size() <= kMostNodes) return {};
        return failure(ErrorCode::kUnreadable, "it has more than " + std::to_string(kMostNodes) +
                                                   " different stacks: fold it coarser");
    }

    /// In order of time, enclosing spans first.
    ReaderResult build() {
        TraceBuilder& builder = *m_request.builder;
        RankFacts rank;
        rank.rank = m_request.rank;
        rank.peakSource = "folded stacks do not say it";
        builder.putRank(rank);
        const LaneId lane = builder.lane(m_request.rank, {"", "stacks"}, LaneRole::kHost, "stacks");
        struct Place {
            std::uint32_t node;
            std::int64_t start;
        };
        std::vector<Place> open{{0, 0}};
        while (!open.empty()) {
            const Place place = open.back();
            open.pop_back();
            if (place.node != 0) {
                SpanEvent span;
                span.start = {place.start};
                span.duration = {m_nodes[place.node].time};
                span.lane = lane;
                span.name = builder.intern(m_request.rank, m_names[m_nodes[place.node].name]);
                builder.add(m_request.rank, span);
            }
            // Children stand at the end: what is before them is the span's own time.
            std::int64_t end = place.start + m_nodes[place.node].time;
            for (auto at = m_nodes[place.node].lastChild; at != 0; at = m_nodes[at].sibling) {
                end -= m_nodes[at].time;
                open.push_back({at, end});
            }
        }
        ReaderResult result;
        result.account = m_account;
        result.account.notes.emplace_back(
            "folded stacks say neither unit nor order: counts were taken for nanoseconds, and "
            "times on the lane mean nothing but their lengths");
        result.rank = m_request.rank;
        result.zeroNs = m_request.zeroNs.value_or(0);
        result.run.configJson = "{}";
        result.run.worldSize = 1;
        result.ended = {m_total};
        return result;
    }

private:
    struct Node {
        std::uint32_t name = 0;
        std::uint32_t lastChild = 0;  ///< 0: none
        std::uint32_t sibling = 0;    ///< the one before
        std::int64_t time = 0;        ///< own and of all within
    };
    std::uint32_t child(std::uint32_t parent, std::string_view name) {
        const auto [known, newName] =
            m_ids.try_emplace(std::string(name), static_cast<std::uint32_t>(m_names.size()));
        if (newName) m_names.emplace_back(name);
        const auto [at, fresh] = m_children.try_emplace(std::uint64_t{parent} << 32 | known->second,
                                                        static_cast<std::uint32_t>(m_nodes.size()));
        if (fresh) {
            m_nodes.push_back({known->second, 0, m_nodes[parent].lastChild, 0});
            m_nodes[parent].lastChild = at->second;
        }
        return at->second;
    }

    const ReaderRequest& m_request;
    ImportAccount m_account;
    std::int64_t m_total = 0;
    std::vector<Node> m_nodes{Node{}};
    std::vector<std::string> m_names;
    std::unordered_map<std::string, std::uint32_t> m_ids;
    std::unordered_map<std::uint64_t, std::uint32_t> m_children;  ///< parent and name
};

Result<void> readLines(ByteSource& source, FoldedImport& import, const ReaderRequest& request) {
    std::vector<char> buffer(std::size_t{1} << 18);
    std::string line;
    while (true) {
        auto count = source.read(buffer);
        if (!count) return failure(count);
        if (*count == 0) break;
        for (std::string_view rest(buffer.data(), *count); !rest.empty();) {
            const std::size_t end = rest.find('\n');
            line += rest.substr(0, end);
            if (line.size() > kLongestLine)
                return failure(ErrorCode::kUnreadable, "it has a line of more than a megabyte");
            if (end == std::string_view::npos) break;
            if (auto done = import.line(line); !done) return done;
            line.clear();
            rest.remove_prefix(end + 1);
        }
        if (request.progress && !request.progress(source.share()))
            return failure(ErrorCode::kCancelled, "the import was cancelled");
    }
    return import.line(line);
}

}  // namespace

Result<ReaderResult> readFolded(const ReaderRequest& request) {
    auto source = openBytes(request.path, request.title);
    if (!source) return failure(source);
    FoldedImport import(request);
    if (auto done = readLines(**source, import, request); !done)
        return failure(done, request.title);
    ReaderResult result = import.build();
    if (result.account.kept == 0)
        return failure(ErrorCode::kUnreadable,
                       request.title + " holds no folded stacks: no line ends in a count");
    if (auto fine = request.builder->state(); !fine) return failure(fine);
    return result;
}

}  // namespace shardscope::interchange
