#include "storage/recording/beside/kept_results.h"

#include "storage/model/input_file.h"
#include "storage/sqlite/connection.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace shardscope::storage {
namespace {

/// "sscR": so that nothing but such a file is ever written to.
constexpr std::int64_t kKeptId = 0x73736352;
constexpr std::int64_t kVersion = 1;

std::string targetOf(std::string path) {
    std::error_code none;
    const auto target = std::filesystem::canonical(path, none);
    return none ? std::move(path) : target.string();
}

enum class Found { kNothing, kOurs, kForeign };

/// A file of another user is not trusted, and a link or a pipe is none of our files.
Found lookAt(const std::string& path) {
    struct stat facts {};
    if (::lstat(path.c_str(), &facts) != 0) return Found::kNothing;
    const bool ours = S_ISREG(facts.st_mode) && facts.st_uid == ::geteuid();
    return ours ? Found::kOurs : Found::kForeign;
}

bool isOfThisKind(Connection& connection) {
    const auto id = connection.integer("PRAGMA application_id");
    const auto version = connection.integer("PRAGMA user_version");
    return id && version && *id == kKeptId && *version == kVersion;
}

bool make(Connection& connection) {
    return connection
        .execute(
            "CREATE TABLE results(question TEXT NOT NULL, recording TEXT NOT NULL, "
            "program TEXT NOT NULL, result TEXT NOT NULL, "
            "PRIMARY KEY(question)) STRICT;"
            "PRAGMA application_id=" +
            std::to_string(kKeptId) + ";PRAGMA user_version=" + std::to_string(kVersion))
        .has_value();
}

/// Results of another state of the recording or another program go, and then those that were kept
/// first until `more` bytes fit.
bool makeRoom(Connection& connection, std::string_view state, std::string_view program,
              std::int64_t more) {
    auto others = connection.prepare("DELETE FROM results WHERE recording<>?1 OR program<>?2");
    if (!others || !others->bind(1, state).bind(2, program).run()) return false;
    auto oldest = connection.prepare(
        "DELETE FROM results WHERE rowid IN (SELECT rowid FROM (SELECT rowid, sum(length(result)) "
        "OVER (ORDER BY rowid DESC) AS kept FROM results) WHERE kept>?1)");
    return oldest && oldest->bind(1, KeptResults::kMostBytes - more).run();
}

bool insert(Connection& connection, std::string_view question, std::string_view state,
            std::string_view program, std::string_view result) {
    auto into = connection.prepare("INSERT OR REPLACE INTO results VALUES(?1,?2,?3,?4)");
    if (!into) return false;
    into->bind(1, question).bind(2, state).bind(3, program).bind(4, result);
    return into->run().has_value();
}

}  // namespace

/// Where a link leads: there lies the log, and there the results.
KeptResults::KeptResults(std::string recording, std::string program)
    : m_recording(targetOf(std::move(recording))),
      m_program(std::move(program)),
      m_state(fileState(m_recording)) {}

std::string KeptResults::pathOf(const std::string& recording) {
    return recording + "-results";
}

std::optional<std::string> KeptResults::find(std::string_view question) const {
    const std::string path = pathOf(m_recording);
    if (m_state.empty() || lookAt(path) != Found::kOurs) return std::nullopt;
    auto connection = Connection::open(path, Connection::Mode::kReadOnly);
    if (!connection || !isOfThisKind(*connection)) return std::nullopt;
    connection->distrustSchema();
    auto select = connection->prepare(
        "SELECT result FROM results WHERE question=?1 AND recording=?2 AND program=?3");
    if (!select) return std::nullopt;
    const auto row = select->bind(1, question).bind(2, m_state).bind(3, m_program).step();
    if (!row || !*row) return std::nullopt;
    return std::string(select->text(0));
}

void KeptResults::keep(std::string_view question, std::string_view result) const {
    const auto size = static_cast<std::int64_t>(result.size());
    if (m_state.empty() || size > kMostBytes || fileState(m_recording) != m_state) return;
    const std::string path = pathOf(m_recording);
    const Found found = lookAt(path);
    if (found == Found::kForeign) return;
    auto connection = Connection::open(path, Connection::Mode::kCreate);
    if (!connection) return;
    connection->distrustSchema();
    auto transaction = Transaction::begin(*connection);
    if (!transaction) return;
    const auto tables = connection->integer("SELECT count(*) FROM sqlite_master");
    if (!tables) return;
    if (*tables == 0 ? !make(*connection) : !isOfThisKind(*connection)) return;
    if (makeRoom(*connection, m_state, m_program, size) &&
        insert(*connection, question, m_state, m_program, result))
        static_cast<void>(transaction->commit());
}

}  // namespace shardscope::storage
