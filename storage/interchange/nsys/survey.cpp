#include "storage/interchange/nsys/survey.h"

#include "storage/interchange/json_text.h"
#include "storage/interchange/nsys/table_specs.h"

#include <simdjson.h>

#include <algorithm>
#include <limits>

namespace shardscope::interchange::nsys {
namespace {

constexpr std::uint64_t kRowsACheck = 8192;
constexpr std::size_t kMostNames = 65'536;
constexpr std::size_t kLongestName = 256;

class Surveyor {
public:
    Surveyor(NsysFile& file, Texts& texts, const std::function<bool()>& goOn)
        : m_file(file), m_texts(texts), m_goOn(goOn) {}

    Result<Survey> run() {
        if (auto done = threadNames(); !done) return failure(done);
        for (const TableSpec& spec : tableSpecs())
            if (auto done = table(spec); !done) return failure(done);
        if (auto done = contexts(); !done) return failure(done);
        if (auto done = nvtxEvents(); !done) return failure(done);
        for (const char* name : {"GPU_METRICS", "CUDA_GPU_MEMORY_USAGE_EVENTS"})
            if (auto done = samples(name); !done) return failure(done);
        m_found.first = m_first == kNone ? 0 : m_first;
        return std::move(m_found);
    }

private:
    static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

    /// Calls `look` for each row.
    template <class Look>
    Result<void> each(std::string_view table, const std::vector<std::string>& columns, Look look) {
        auto rows = m_file.scan(table, columns);
        if (!rows) return failure(rows);
        while (*rows) {
            auto more = (*rows)->next();
            if (!more) return failure(more);
            if (!*more) break;
            if (++m_seen % kRowsACheck == 0 && m_goOn && !m_goOn())
                return failure(ErrorCode::kCancelled, "the import was stopped");
            QueryRow row((*rows)->row());
            if (auto done = look(row); !done) return done;
        }
        return {};
    }

    void noteTime(std::optional<std::int64_t> start, std::optional<std::int64_t> end) {
        ++m_found.rows;
        if (start && *start >= 0 && *start <= kMostTime) m_first = std::min(m_first, *start);
        for (const auto& time : {start, end})
            if (time && *time <= kMostTime) m_found.last = std::max(m_found.last, *time);
    }

    Result<void> table(const TableSpec& spec) {
        const bool kernel = spec.activity == Activity::kKernel;
        // Waits and events name device 0 whatever the process runs on.
        const bool work = spec.activity <= Activity::kGraphTrace;
        // Any program of the machine may have calls of the operating system.
        const bool counts = spec.activity != Activity::kOsRuntime;
        return each(spec.table,
                    {spec.instant ? "timestamp" : "start", "end",
                     spec.ofProcess ? "globalPid" : "globalTid", "deviceId", "contextId"},
                    [&](QueryRow& row) -> Result<void> {
                        // An event that was not timed says 0.
                        if (!spec.instant || row.integer(0).value_or(0) != 0)
                            noteTime(row.integer(0), row.integer(1));
                        const auto owner = row.integer(2);
                        const std::int64_t process =
                            owner ? processOf(*owner) : ProcessRanks::kUnknownProcess;
                        const auto device = row.integer(3), context = row.integer(4);
                        if (device && context && work)
                            m_found.contexts.add(process, *context, *device);
                        if (device && work)
                            m_found.ranks.addDevice(process, *device, kernel);
                        else if (counts)
                            m_found.ranks.addHost(process);
                        return {};
                    });
    }

    Result<std::string> nameOf(QueryRow& row, int text, int id) {
        std::uint64_t changed = 0;
        if (const auto own = row.text(text)) return soundText(*own, changed);
        const auto number = row.integer(id);
        if (!number) return std::string();
        auto known = m_texts.find(*number);
        if (!known) return failure(known);
        return *known == nullptr ? std::string() : (*known)->plain;
    }

    Result<void> nvtxEvents() {
        return each(
            "NVTX_EVENTS",
            {"start", "end", "globalTid", "eventType", "domainId", "category", "text", "textId"},
            [&](QueryRow& row) -> Result<void> {
                noteTime(row.integer(0), row.integer(1));
                const std::int64_t thread = row.integer(2).value_or(0);
                const std::int64_t type = row.integer(3).value_or(nvtx::kPushPop);
                m_found.ranks.addHost(row.integer(2) ? processOf(thread)
                                                     : ProcessRanks::kUnknownProcess);
                const bool names =
                    type == nvtx::kDomainCreate || type == nvtx::kCategory || type == nvtx::kThread;
                if (!names) return {};
                auto name = nameOf(row, 6, 7);
                if (!name) return failure(name);
                note(type, thread, row.integer(4).value_or(0), row.integer(5).value_or(0),
                     std::move(*name));
                return {};
            });
    }

    void note(std::int64_t type, std::int64_t thread, std::int64_t domain, std::int64_t category,
              std::string name) {
        const Survey::InProcess place{processOf(thread), domain};
        shorten(name);
        if (type == nvtx::kThread && m_found.threads.size() < kMostNames)
            m_found.threads[thread] = std::move(name);
        else if (type == nvtx::kDomainCreate && m_found.domains.size() < kMostNames)
            m_found.domains[place] = std::move(name);
        else if (type == nvtx::kCategory && m_found.categories.size() < kMostNames)
            m_found.categories[{place, category}] = std::move(name);
    }

    Result<void> contexts() {
        return each("TARGET_INFO_CUDA_CONTEXT_INFO", {"processId", "contextId", "deviceId"},
                    [&](QueryRow& row) -> Result<void> {
                        const auto pid = row.integer(0), context = row.integer(1),
                                   device = row.integer(2);
                        if (pid && context && device)
                            m_found.contexts.addListed(*pid, *context, *device);
                        return {};
                    });
    }

    Result<void> threadNames() {
        return each("ThreadNames", {"globalTid", "nameId"}, [&](QueryRow& row) -> Result<void> {
            const auto thread = row.integer(0);
            const auto id = row.integer(1);
            if (!thread || !id || m_found.threads.size() >= kMostNames) return {};
            auto text = m_texts.find(*id);
            if (!text) return failure(text);
            if (*text == nullptr) return {};
            std::string name = (*text)->plain;
            shorten(name);
            m_found.threads[*thread] = std::move(name);
            return {};
        });
    }

    static void shorten(std::string& name) {
        if (name.size() <= kLongestName) return;
        std::size_t end = kLongestName;
        while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0u) == 0x80u) --end;
        name.resize(end);
    }

    Result<void> samples(const char* table) {
        const bool memory = m_file.has(table, "globalPid");
        return each(table, {m_file.has(table, "timestamp") ? "timestamp" : "start", "globalPid"},
                    [&](QueryRow& row) -> Result<void> {
                        noteTime(row.integer(0), std::nullopt);
                        if (const auto owner = row.integer(1); memory && owner)
                            m_found.ranks.addHost(processOf(*owner));
                        return {};
                    });
    }

    NsysFile& m_file;
    Texts& m_texts;
    const std::function<bool()>& m_goOn;
    Survey m_found;
    std::int64_t m_first = kNone;
    std::uint64_t m_seen = 0;
};

constexpr std::size_t kLongestText = std::size_t{64} << 10;
/// What an entry costs beside its texts.
constexpr std::size_t kEntryBytes = 128;

}  // namespace

Result<Survey> survey(NsysFile& file, Texts& texts, const std::function<bool()>& goOn) {
    return Surveyor(file, texts, goOn).run();
}

std::string soundText(std::string_view text, std::uint64_t& changed) {
    std::string sound(text.substr(0, kLongestText));
    if (sound.size() < text.size()) {
        // Not within a character.
        while (!sound.empty() && (static_cast<unsigned char>(text[sound.size()]) & 0xC0u) == 0x80u)
            sound.pop_back();
        sound += "...";
    }
    bool repaired = sound.size() != text.size();
    for (char& c : sound)
        if (static_cast<unsigned char>(c) < 0x20) c = ' ', repaired = true;
    if (!simdjson::validate_utf8(sound.data(), sound.size())) {
        repaired = true;
        for (char& c : sound)
            if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    }
    changed += repaired ? 1 : 0;
    return sound;
}

const Texts::Text* Texts::keep(std::int64_t id, std::string plain) {
    Text text{std::move(plain), {}};
    text.json = jsonString(text.plain);
    m_bytes += text.plain.size() + text.json.size() + kEntryBytes;
    return &m_known.insert_or_assign(id, std::move(text)).first->second;
}

/// A table without a key would be read whole for every text: it is read once, if it is small.
Result<void> Texts::loadAll() {
    m_loaded = true;
    auto rows = m_file->scan("StringIds", {"id", "value"});
    if (!rows) return failure(rows);
    while (*rows) {
        auto row = (*rows)->next();
        if (!row) return failure(row);
        if (!*row) break;
        keep((*rows)->row().integer(0), soundText((*rows)->row().text(1), m_changed));
        if (m_bytes > kMostBytes)
            return failure(ErrorCode::kUnreadable,
                           m_file->path() +
                               ": StringIds has no primary key and is too large to be read "
                               "without, export it again");
    }
    return {};
}

Result<std::string> Texts::lookUp(std::int64_t id, bool& found) {
    if (!m_lookUp) {
        auto statement = m_file->textLookUp();
        if (!statement) return failure(statement);
        m_lookUp.emplace(std::move(*statement));
    }
    m_lookUp->bind(1, id);
    auto row = m_lookUp->step();
    if (!row)
        return failure(ErrorCode::kUnreadable, m_file->path() +
                                                   " is damaged or truncated in table StringIds (" +
                                                   row.error().message + "): export it again");
    found = *row;
    std::string text = found ? soundText(m_lookUp->text(0), m_changed) : std::string();
    m_lookUp->reset();
    return text;
}

Result<const Texts::Text*> Texts::find(std::int64_t id) {
    if (const auto at = m_known.find(id); at != m_known.end()) return &at->second;
    if (!m_file->has("StringIds", "value")) return nullptr;
    if (!m_file->hasTextKey()) {
        if (!m_loaded)
            if (auto loaded = loadAll(); !loaded) return failure(loaded);
        const auto at = m_known.find(id);
        return at == m_known.end() ? nullptr : &at->second;
    }
    bool found = false;
    auto text = lookUp(id, found);
    if (!text) return failure(text);
    if (!found) return nullptr;
    if (m_bytes > kMostBytes) {
        m_known.clear();
        m_bytes = 0;
    }
    return keep(id, std::move(*text));
}

}  // namespace shardscope::interchange::nsys
