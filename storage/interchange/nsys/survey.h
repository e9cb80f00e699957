// The first look at an export: when it begins and ends, whose events it holds, how many, and what
// its NVTX domains, categories and threads are called.
#pragma once

#include "storage/interchange/nsys/nsys_file.h"
#include "storage/interchange/process_ranks.h"
#include "storage/sqlite/statement.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace shardscope::interchange::nsys {

// Texts of StringIds, read as events name them.
//
// The table holds whatever the profiler saw, the machine's environment too: no text is read, let
// alone kept, that no event refers to. One thread.

/// Sound UTF-8 of bounded length without control characters. `changed` counts those that were not.
[[nodiscard]] std::string soundText(std::string_view text, std::uint64_t& changed);

class Texts {
public:
    explicit Texts(NsysFile& file) : m_file(&file) {}

    struct Text {
        std::string plain;
        std::string json;  ///< with quotes
    };
    /// Null when there is no such id; valid until the next call.
    Result<const Text*> find(std::int64_t id);

    [[nodiscard]] std::uint64_t changed() const { return m_changed; }

private:
    static constexpr std::size_t kMostBytes = std::size_t{24} << 20;

    Result<std::string> lookUp(std::int64_t id, bool& found);
    Result<void> loadAll();
    const Text* keep(std::int64_t id, std::string plain);

    NsysFile* m_file;
    std::optional<storage::Statement> m_lookUp;
    std::unordered_map<std::int64_t, Text> m_known;
    std::size_t m_bytes = 0;
    std::uint64_t m_changed = 0;
    bool m_loaded = false;
};

/// Bits 24 and up of globalTid and globalPid (trace_formats.md 3.2).
[[nodiscard]] constexpr std::int64_t processOf(std::int64_t global) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(global) & ~std::uint64_t{0xFFFFFF});
}
[[nodiscard]] constexpr std::int64_t pidOf(std::int64_t global) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(global) >> 24 & 0xFFFFFF);
}
[[nodiscard]] constexpr std::int64_t tidOf(std::int64_t global) {
    return global & 0xFFFFFF;
}

/// Devices of contexts: what waits and events run on, whose own column says 0 whatever that is.
class Contexts {
public:
    /// Of work on a device, which says both; the first that says it counts.
    void add(std::int64_t process, std::int64_t context, std::int64_t device) {
        if (m_used.size() < kMost) m_used.try_emplace({process, context}, device);
    }
    /// The export's own table of contexts: whose process it knows by its number only.
    void addListed(std::int64_t pid, std::int64_t context, std::int64_t device) {
        if (m_listed.size() < kMost) m_listed.try_emplace({pid, context}, device);
    }
    [[nodiscard]] std::optional<std::int64_t> deviceOf(std::int64_t process,
                                                       std::int64_t context) const {
        if (const auto at = m_used.find({process, context}); at != m_used.end()) return at->second;
        if (process == ProcessRanks::kUnknownProcess) return std::nullopt;
        const auto at = m_listed.find({pidOf(process), context});
        return at == m_listed.end() ? std::nullopt : std::optional(at->second);
    }

private:
    static constexpr std::size_t kMost = 65'536;
    using ByContext = std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>;
    ByContext m_used, m_listed;  ///< by process, or its number, and context
};

/// Times beyond this are none (storage/interchange/trace_builder.h).
inline constexpr std::int64_t kMostTime = std::int64_t{1} << 60;

struct Survey {
    std::int64_t first = 0;  ///< earliest start that is not negative, on the file's clock
    std::int64_t last = 0;   ///< latest end
    std::uint64_t rows = 0;
    ProcessRanks ranks;
    Contexts contexts;
    std::map<std::int64_t, std::string> threads;  ///< by globalTid
    using InProcess = std::pair<std::int64_t, std::int64_t>;
    std::map<InProcess, std::string> domains;                              ///< process, domain
    std::map<std::pair<InProcess, std::int64_t>, std::string> categories;  ///< and category
};

/// `goOn` is asked every few thousand rows; kCancelled when it says no.
Result<Survey> survey(NsysFile& file, Texts& texts, const std::function<bool()>& goOn);

/// Cells of a row that may be of any type, whatever the column says.
class QueryRow {
public:
    explicit QueryRow(const storage::Statement& statement) : m_statement(&statement) {}

    [[nodiscard]] std::optional<std::int64_t> integer(int column) {
        switch (m_statement->type(column)) {
            case storage::Statement::Type::kInteger:
                return m_statement->integer(column);
            case storage::Statement::Type::kNull:
                return std::nullopt;
            default:
                return wrong<std::int64_t>();
        }
    }
    [[nodiscard]] std::optional<double> real(int column) {
        const auto type = m_statement->type(column);
        if (type == storage::Statement::Type::kNull) return std::nullopt;
        if (type != storage::Statement::Type::kReal && type != storage::Statement::Type::kInteger)
            return wrong<double>();
        const double value = m_statement->real(column);
        return std::isfinite(value) ? std::optional(value) : wrong<double>();
    }
    /// Valid until the next row.
    [[nodiscard]] std::optional<std::string_view> text(int column) {
        const auto type = m_statement->type(column);
        if (type == storage::Statement::Type::kNull) return std::nullopt;
        if (type != storage::Statement::Type::kText) return wrong<std::string_view>();
        return m_statement->text(column);
    }
    [[nodiscard]] bool isNull(int column) const { return m_statement->isNull(column); }
    /// Some cell asked for held what its column cannot.
    [[nodiscard]] bool anyWrong() const { return m_wrong; }

private:
    template <class T>
    std::optional<T> wrong() {
        m_wrong = true;
        return std::nullopt;
    }
    const storage::Statement* m_statement;
    bool m_wrong = false;
};

}  // namespace shardscope::interchange::nsys
