#include "storage/recording/repair/damaged_file.h"

#include "storage/recording/file/recording_file.h"

#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace shardscope::storage {
namespace {

namespace fs = std::filesystem;

/// Of recordings that were finalised before small ones got kSmallPage.
constexpr std::uint32_t kFormerSmallPage = 1024;
/// Pages of trees among those that the first kLooked bytes would be.
constexpr std::uintmax_t kLooked = std::uintmax_t{16} << 10;

void putWord(std::array<char, 100>& header, std::size_t at, std::uint64_t value) {
    for (std::size_t i = 0; i < 4; ++i) header[at + i] = static_cast<char>(value >> (24 - 8 * i));
}

/// Whether what begins at `at` looks like a page of a B-tree of that size.
bool looksLikePage(std::fstream& file, std::uintmax_t at, std::uintmax_t size) {
    std::array<char, 8> front{};
    file.clear();
    file.seekg(static_cast<std::streamoff>(at));
    file.read(front.data(), front.size());
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(front[i]); };
    const bool tree = byte(0) == 2 || byte(0) == 5 || byte(0) == 10 || byte(0) == 13;
    const std::uintmax_t content = byte(5) * 256u + byte(6);
    return file && tree && content >= front.size() && content <= size;
}

std::uint32_t word(const std::array<char, 100>& header, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
        value = value << 8 | static_cast<unsigned char>(header[at + i]);
    return value;
}

/// What the header should say, when it says something impossible: what the number of pages beside
/// it and the file's size agree on, else the smallest size that pages of trees are found at.
std::uintmax_t guessPageSize(std::fstream& file, const std::array<char, 100>& header,
                             std::uintmax_t bytes) {
    const std::uintmax_t pages = word(header, 28);
    for (const std::uint32_t size : {kSmallPage, kFormerSmallPage, kLargePage})
        if (pages * size == bytes) return size;
    for (const std::uint32_t size : {kSmallPage, kFormerSmallPage}) {
        std::uintmax_t found = 0;
        for (std::uintmax_t at = size; at < kLooked; at += size)
            if (at % (2 * size) != 0 && looksLikePage(file, at, size)) ++found;
        if (found >= 2) return size;
    }
    return kLargePage;
}

std::uintmax_t pageSizeOf(std::fstream& file, const std::array<char, 100>& header,
                          std::uintmax_t bytes) {
    const auto high = static_cast<unsigned char>(header[16]);
    const auto low = static_cast<unsigned char>(header[17]);
    const std::uintmax_t size = high * 256u + low;
    const bool possible = size >= 512 && (size & (size - 1)) == 0;
    return possible ? size : guessPageSize(file, header, bytes);
}

/// Everything in SQLite's header that is the same in all our files, so that a flipped bit there
/// does not make the rest unreadable.
std::error_code mendHeader(const std::string& path, std::int64_t claimed, bool withLog) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    std::array<char, 100> header{};
    file.read(header.data(), header.size());
    const std::uintmax_t page = pageSizeOf(file, header, fs::file_size(path));
    file.clear();
    const std::uintmax_t size = std::max(fs::file_size(path), static_cast<std::uintmax_t>(claimed));
    const std::uintmax_t pages = (size + page - 1) / page;
    header[16] = static_cast<char>(page >> 8);
    header[17] = static_cast<char>(page & 255);
    header[18] = header[19] = static_cast<char>(withLog ? 2 : 1);
    header[20] = 0;
    header[21] = 64;
    header[22] = header[23] = 32;
    // Whether pages are free matters only to writers; no list to follow, no auto-vacuum.
    for (const std::size_t at :
         {std::size_t{32}, std::size_t{36}, std::size_t{52}, std::size_t{64}})
        putWord(header, at, 0);
    putWord(header, 28, pages);
    putWord(header, 44, 4);
    putWord(header, 56, 1);
    for (std::size_t i = 0; i < 4; ++i) header[92 + i] = header[24 + i];
    file.seekp(0);
    file.write(header.data(), header.size());
    file.close();
    std::error_code error;
    fs::resize_file(path, pages * page, error);
    return file || error ? error : std::error_code(errno, std::generic_category());
}

/// Why there is no copy at `scratch`, which takes `needed` bytes.
tl::unexpected<Error> noCopy(const std::string& input, const std::string& scratch,
                             std::uintmax_t needed, const std::error_code& error) {
    std::error_code unknown;
    const std::string folder = fs::absolute(scratch, unknown).parent_path().string();
    // A full disk may read "Input/output error".
    const bool full = fs::space(folder, unknown).available < needed;
    rlimit limit{};
    const bool limited = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < needed;
    const std::string why = full && !unknown ? "its disk is full, free some space there"
                            : limited && !unknown
                                ? "the file is too large for the limit on files (ulimit -f)"
                                : error.message();
    return failure(ErrorCode::kFailure, "cannot make the copy of " + input +
                                            " that repair works on in " + folder + ": " + why);
}

}  // namespace

Result<DamagedFile> DamagedFile::open(const std::string& input, const std::string& scratch) {
    const auto claimed = claimedFileSize(input);
    if (!claimed) return failure(claimed);
    DamagedFile copy(scratch);
    std::error_code error;
    fs::copy_file(input, scratch, fs::copy_options::overwrite_existing, error);
    const bool withLog = fs::exists(input + "-wal");
    if (!error && withLog)
        fs::copy_file(input + "-wal", scratch + "-wal", fs::copy_options::overwrite_existing,
                      error);
    // Of a file that may only be read, its copy may be written.
    for (const std::string& copied : {scratch, scratch + "-wal"})
        if (!error && fs::exists(copied))
            fs::permissions(copied, fs::perms::owner_read | fs::perms::owner_write,
                            fs::perm_options::replace, error);
    std::error_code unknown;
    if (error) return noCopy(input, scratch, fs::file_size(input, unknown), error);
    // A header may claim anything: no file of ours is a hundred times larger than what is there.
    const auto size = static_cast<std::int64_t>(fs::file_size(scratch));
    const std::int64_t plausible = *claimed <= 100 * size ? *claimed : 0;
    error = mendHeader(scratch, plausible, withLog);
    if (error)
        return noCopy(input, scratch, static_cast<std::uintmax_t>(std::max(plausible, size)),
                      error);
    auto connection = Connection::open(scratch, Connection::Mode::kCreate);
    if (!connection) return failure(connection);
    copy.m_connection.emplace(std::move(*connection));
    copy.m_connection->distrustSchema();
    // Takes tables as they are even where the description of another one is damaged.
    copy.m_connection->allowSchemaRepair();
    auto set = copy.m_connection->execute("PRAGMA writable_schema=ON; PRAGMA cell_size_check=ON");
    if (set) set = copy.m_connection->execute("SELECT count(*) FROM sqlite_master");
    if (!set)
        return failure(ErrorCode::kUnreadable,
                       input +
                           " cannot be repaired: the pages that list its tables are "
                           "damaged; restore the file from a copy");
    return copy;
}

DamagedFile::~DamagedFile() {
    if (m_path.empty()) return;
    m_connection.reset();
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
        std::error_code ignored;
        fs::remove(m_path + suffix, ignored);
    }
}

TolerantScan::Reach TolerantScan::run(std::optional<Statement>& statement, const char* order,
                                      std::int64_t low, std::int64_t high, const Use& use) {
    ++m_probes;
    if (!statement) {
        auto prepared = m_connection.prepare(m_select + " ORDER BY " + m_key + order);
        if (!prepared) return {{}, false, false};
        statement = std::move(*prepared);
    }
    Statement* const select = &*statement;
    select->bind(1, low).bind(2, high);
    Reach reach;
    while (true) {
        auto row = select->step();
        if (!row) return reach;
        if (!*row) break;
        // A damaged page may hold any key.
        const std::int64_t key = select->integer(0);
        if (key < low || key > high) continue;
        reach.last = key;
        use(*select);
    }
    reach.whole = true;
    return reach;
}

void TolerantScan::noteGap(std::int64_t from, std::int64_t to) {
    if (!m_gaps.empty() && m_gaps.back().to + 1 == from)
        m_gaps.back().to = to;
    else
        m_gaps.push_back({from, to});
}

void TolerantScan::read(std::int64_t low, std::int64_t high, const Use& use) {
    if (low > high) return;
    if (m_probes > kMaxProbes) return noteGap(low, high);
    const Reach up = run(m_upwards, " ASC", low, high, use);
    if (up.whole) return;
    if (!up.prepared) return noteGap(low, high);
    low = up.last ? *up.last + 1 : low;
    if (low > high) return;
    const Reach down = run(m_downwards, " DESC", low, high, use);
    if (down.whole) return;
    high = down.last ? *down.last - 1 : high;
    if (low > high) return;
    if (low == high) return noteGap(low, high);
    const std::int64_t middle = low + (high - low) / 2;
    read(low, middle, use);
    read(middle + 1, high, use);
}

}  // namespace shardscope::storage
