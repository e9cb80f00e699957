// A damaged recording, opened in spite of it: a copy with a mended header. Part of salvage.
#pragma once

#include "storage/sqlite/connection.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::storage {

/// The copy is removed with it.
class DamagedFile {
public:
    /// Copies `input` (and its WAL) to `scratch`, mends what a recording's header always holds and
    /// fills up what was cut off with zeros, which SQLite knows for damaged pages.
    static Result<DamagedFile> open(const std::string& input, const std::string& scratch);
    DamagedFile(DamagedFile&& other) noexcept
        : m_path(std::exchange(other.m_path, {})), m_connection(std::move(other.m_connection)) {}
    DamagedFile& operator=(DamagedFile&&) = delete;
    ~DamagedFile();

    [[nodiscard]] Connection& connection() { return *m_connection; }

private:
    explicit DamagedFile(std::string path) : m_path(std::move(path)) {}

    std::string m_path;
    std::optional<Connection> m_connection;
};

/// Reads rows of a table by an integer key around whatever cannot be read.
class TolerantScan {
public:
    using Use = std::function<void(const Statement&)>;

    /// `select` ends in a WHERE clause that takes the key's bounds as ?1 and ?2; column 0 is `key`.
    TolerantScan(Connection& connection, std::string select, std::string key)
        : m_connection(connection), m_select(std::move(select)), m_key(std::move(key)) {}

    /// Calls `use` for every row with a key in [low, high]; some rows may come twice.
    void read(std::int64_t low, std::int64_t high, const Use& use);

    struct Gap {
        std::int64_t from, to;
    };
    /// Stretches of keys in which rows may have been lost.
    [[nodiscard]] const std::vector<Gap>& gaps() const { return m_gaps; }

private:
    /// The last key read in that direction, and whether the end was reached without an error.
    struct Reach {
        std::optional<std::int64_t> last;
        bool whole = false;
    };
    Reach run(const char* order, std::int64_t low, std::int64_t high, const Use& use);
    void noteGap(std::int64_t from, std::int64_t to);

    /// Each takes some microseconds.
    static constexpr int kMaxProbes = 20'000;

    Connection& m_connection;
    std::string m_select;
    std::string m_key;
    std::vector<Gap> m_gaps;
    int m_probes = 0;
};

}  // namespace shardscope::storage
