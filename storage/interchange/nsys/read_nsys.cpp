// One Nsight Systems export into a builder: who is which rank, where its clock begins, and then
// table by table.
#include "storage/interchange/import.h"
#include "storage/interchange/nsys/import_state.h"

#include <fstream>

namespace shardscope::interchange {
namespace nsys {
namespace {

/// UTC of the file's time 0, when it says when the session began.
Result<std::optional<std::int64_t>> sessionBase(NsysFile& file) {
    auto rows = file.scan("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs", "systemClockNs"});
    if (!rows) return failure(rows);
    std::optional<std::int64_t> base;
    if (!*rows) return base;
    auto more = (*rows)->next();
    if (!more) return failure(more);
    if (!*more) return base;
    QueryRow row((*rows)->row());
    const auto epoch = row.integer(0);
    const std::int64_t clock = row.integer(1).value_or(0);
    constexpr std::int64_t kMostEpoch = std::int64_t{1} << 61;
    if (epoch && *epoch > 0 && *epoch < kMostEpoch && clock >= 0 && clock <= kMostTime)
        base = *epoch - clock;
    return base;
}

class NsysReader {
public:
    NsysReader(const ReaderRequest& request, NsysFile file)
        : m_request(request), m_file(std::move(file)), m_texts(m_file) {}

    Result<ReaderResult> read() {
        auto found =
            survey(m_file, m_texts, [&] { return !m_request.progress || m_request.progress(0); });
        if (!found) return failure(found);
        m_survey = std::move(*found);
        if (auto settled = m_survey.ranks.settle(m_request.rank, m_request.title); !settled)
            return failure(settled);
        auto base = sessionBase(m_file);
        if (!base) return failure(base);
        begin(*base);
        ImportState state{m_request, m_file, m_texts, m_survey,
                          Lanes(*m_request.builder, m_survey)};
        state.shiftNs = m_result.clockBaseNs - m_result.zeroNs;
        for (const ProcessRanks::Entry& entry : m_survey.ranks.entries())
            m_request.builder->deriveSteps(entry.rank);
        if (auto done = readTables(state); !done) return failure(done);
        if (auto done = describe(state); !done) return failure(done);
        return m_result;
    }

private:
    /// The earliest event is time 0, or where an earlier file's was.
    void begin(std::optional<std::int64_t> base) {
        m_result.rank = m_request.rank;
        for (const ProcessRanks::Entry& entry : m_survey.ranks.entries())
            if (entry.rank != m_result.rank) m_result.moreRanks.push_back(entry.rank);
        m_result.clockBaseNs = base.value_or(m_request.clockBaseNs.value_or(0));
        m_result.zeroNs = m_request.zeroNs.value_or(m_result.clockBaseNs + m_survey.first);
        m_result.stated.clockBaseNs = base;
        if (base) m_result.baseUnixNs = m_result.zeroNs;
    }

    Result<void> readTables(ImportState& state) {
        for (const TableSpec& spec : tableSpecs())
            if (auto done = readSpans(state, spec); !done) return done;
        if (auto done = readNvtx(state); !done) return done;
        if (auto done = readMetrics(state); !done) return done;
        if (auto done = readMemory(state); !done) return done;
        if (const auto& built = state.builder().state(); !built)
            return failure(built, m_request.title);
        return {};
    }

    Result<void> describe(ImportState& state) {
        auto devices = readDevices(state);
        if (!devices) return failure(devices);
        m_result.account = std::move(state.account);
        addNotes(state);
        m_result.ended = state.ended;
        m_result.run.worldSize = static_cast<std::int32_t>(m_survey.ranks.entries().size());
        m_result.run.startedUnixNs = m_result.baseUnixNs;
        m_result.run.librariesJson = "{}";
        if (!m_file.product().empty())
            m_result.run.librariesJson = "{\"nsys\":\"" + m_file.product() + "\"}";
        m_result.run.ended = state.ended;
        // Every rank is a trace of its own there.
        for (const ProcessRanks::Entry& entry : m_survey.ranks.entries()) {
            std::string& json = m_result.run.configJson;
            if (!json.empty()) json += ',';
            json += "{\"imported\":\"nsys\",\"rank\":" + std::to_string(entry.rank.value) +
                    ",\"schema\":\"" + m_file.schema() + "\",\"device\":" + (*devices)[entry.rank] +
                    ",\"threads\":" + state.lanes.threadsJson(entry) +
                    ",\"domains\":" + state.lanes.domainsJson(entry) +
                    ",\"lanes\":" + state.lanes.toJson(entry.rank) + "}";
        }
        return {};
    }

    void addNotes(const ImportState& state) {
        auto& notes = m_result.account.notes;
        if (const auto changed = state.changedTexts + m_texts.changed(); changed > 0)
            notes.push_back(std::to_string(changed) +
                            " texts were longer than 64 KiB, no UTF-8 or had control characters: "
                            "they were cut or mended");
        if (state.timeless > 0)
            notes.push_back(std::to_string(state.timeless) +
                            " records of CUDA events have no time in this export: left out");
        std::string tables;
        for (const std::string& name : m_file.leftOut())
            tables += (tables.empty() ? "" : ", ") + name;
        if (!tables.empty())
            notes.push_back("a recording has no place for what these tables hold: " + tables);
        if (!m_file.has("TARGET_INFO_SESSION_START_TIME"))
            notes.push_back(m_request.title +
                            " does not say when it was recorded: its wall clock is not known");
    }

    const ReaderRequest& m_request;
    NsysFile m_file;
    Texts m_texts;
    Survey m_survey;
    ReaderResult m_result;
};

}  // namespace
}  // namespace nsys

Result<ReaderResult> readNsysSqlite(const ReaderRequest& request) {
    char front[2] = {};
    if (std::ifstream(request.path, std::ios::binary).read(front, sizeof front) &&
        front[0] == '\x1f' && front[1] == '\x8b')
        return failure(ErrorCode::kUnreadable,
                       request.title + " is an SQLite database within gzip: unpack it first");
    auto file = nsys::NsysFile::open(request.path);
    if (!file) return failure(file);
    return nsys::NsysReader(request, std::move(*file)).read();
}

}  // namespace shardscope::interchange
