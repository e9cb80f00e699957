// Rows of the CUDA tables as spans.
#include "storage/interchange/collective_kernels.h"
#include "storage/interchange/nsys/import_state.h"

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace shardscope::interchange::nsys {
namespace {

struct SpanName {
    StringId id;
    bool collective = false;   ///< a kernel of NCCL or its kin
    std::string_view version;  ///< of a call; valid until the next name
};

class SpanNames {
public:
    SpanNames(ImportState& state, const TableSpec& spec) : m_state(state), m_spec(spec) {}

    /// Of a row with the id of its name in `column` and its fields from `firstField` on.
    Result<SpanName> of(QueryRow& row, int column, int firstField, RankId rank);

private:
    static constexpr std::size_t kMostKnown = 65'536;

    struct Known {
        StringId id;
        bool collective = false;
        std::string version;
        [[nodiscard]] SpanName name() const { return {id, collective, version}; }
    };
    Result<SpanName> byText(std::int64_t id, RankId rank);
    [[nodiscard]] std::string byKind(QueryRow& row, int firstField) const;
    [[nodiscard]] const Word* word(QueryRow& row, int firstField, std::string_view column) const;

    ImportState& m_state;
    const TableSpec& m_spec;
    std::map<RankId, std::unordered_map<std::int64_t, Known>> m_known;
    std::size_t m_count = 0;
};

/// "cudaLaunchKernel_v7000" is cudaLaunchKernel as of CUDA 7.0; "_v2" is part of a name.
struct CallName {
    std::string_view name;
    std::string_view version;
};
CallName splitVersion(std::string_view name) {
    const std::size_t at = name.rfind("_v");
    constexpr std::size_t kFewestDigits = 4, kMostDigits = 9;
    if (at == std::string_view::npos || at == 0) return {name, {}};
    const std::string_view digits = name.substr(at + 2);
    const bool version =
        digits.size() >= kFewestDigits && digits.size() <= kMostDigits && digits[0] != '0' &&
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    return version ? CallName{name.substr(0, at), digits} : CallName{name, {}};
}

std::string copyName(const Word* kind) {
    return kind == nullptr || kind->id == 0 ? "copy" : "copy " + std::string(kind->word);
}
std::string waitName(const Word* type) {
    if (type == nullptr || type->id == 0) return "wait";
    constexpr std::int64_t kStreamWait = 2;
    return type->id == kStreamWait ? std::string(type->word)
                                   : "wait for " + std::string(type->word);
}

Result<SpanName> SpanNames::of(QueryRow& row, int column, int firstField, RankId rank) {
    if (m_spec.nameColumn.empty())
        return SpanName{m_state.builder().intern(rank, byKind(row, firstField)), false, {}};
    const auto id = row.integer(column);
    if (!id) return SpanName{m_state.builder().intern(rank, "(unnamed)"), false, {}};
    auto& known = m_known[rank];
    if (const auto at = known.find(*id); at != known.end()) return at->second.name();
    return byText(*id, rank);
}

Result<SpanName> SpanNames::byText(std::int64_t id, RankId rank) {
    auto text = m_state.texts.find(id);
    if (!text) return failure(text);
    if (*text == nullptr) {
        m_state.account.repair("a name that is not in StringIds");
        return SpanName{m_state.builder().intern(rank, "text " + std::to_string(id)), false, {}};
    }
    const std::string_view plain = (*text)->plain;
    const CallName call =
        m_spec.activity == Activity::kRuntime ? splitVersion(plain) : CallName{plain, {}};
    Known fresh{m_state.builder().intern(rank, call.name),
                m_spec.activity == Activity::kKernel && isCollectiveKernel(plain),
                std::string(call.version)};
    if (++m_count > kMostKnown) {
        m_known.clear();
        m_count = 1;
    }
    return m_known[rank].emplace(id, std::move(fresh)).first->second.name();
}

std::string SpanNames::byKind(QueryRow& row, int firstField) const {
    switch (m_spec.activity) {
        case Activity::kMemcpy:
            return copyName(word(row, firstField, "copyKind"));
        case Activity::kMemset:
            return "set memory";
        case Activity::kGraphTrace:
            return "CUDA graph";
        case Activity::kSynchronization:
            return waitName(word(row, firstField, "syncType"));
        default:
            return "event recorded";
    }
}

const Word* SpanNames::word(QueryRow& row, int firstField, std::string_view columnName) const {
    int column = firstField;
    for (const Field& field : m_spec.fields) {
        if (field.column == columnName) {
            const auto id = row.integer(column);
            return id ? wordOf(field.words, *id) : nullptr;
        }
        column += field.form == Form::kTriple ? 3 : 1;
    }
    return nullptr;
}

/// Fixed columns, before those of the fields.
enum Column : int {
    kStart,
    kEnd,
    kOwner,
    kCorrelation,
    kName,
    kDevice,
    kContext,
    kStream,
    kFirstField,
};

/// A list that every kernel has, mostly empty.
constexpr std::string_view kNoList = "[]";

class SpanReader {
public:
    SpanReader(ImportState& state, const TableSpec& spec)
        : m_state(state), m_spec(spec), m_names(state, spec) {}

    Result<void> run() {
        std::vector<std::string> columns = {m_spec.instant ? "timestamp" : "start",
                                            m_spec.instant ? "" : "end",
                                            m_spec.ofProcess ? "globalPid" : "globalTid",
                                            m_spec.correlated ? "correlationId" : "",
                                            std::string(m_spec.nameColumn),
                                            m_spec.ofProcess ? "deviceId" : "",
                                            m_spec.ofProcess ? "contextId" : "",
                                            m_spec.ofProcess ? "streamId" : ""};
        appendColumns(columns, m_spec.fields);
        auto rows = m_state.file.scan(m_spec.table, columns);
        if (!rows) return failure(rows);
        while (*rows) {
            auto more = (*rows)->next();
            if (!more) return failure(more);
            if (!*more) break;
            QueryRow row((*rows)->row());
            // Before 3.25 events have no time; 0 says that none was taken.
            if (m_spec.instant && row.integer(kStart).value_or(0) == 0) {
                ++m_state.timeless;
                continue;
            }
            if (auto counted = m_state.tick(); !counted) return counted;
            if (auto done = add(row); !done) return done;
        }
        return {};
    }

private:
    Result<void> add(QueryRow& row) {
        const auto place = m_state.place(row.integer(kStart), row.integer(kEnd), !m_spec.instant);
        if (!place) return {};
        SpanEvent span;
        span.start = place->first;
        span.duration = place->second;
        m_arguments.clear();
        auto owner = placeOf(row, span);
        if (!owner) return failure(owner);
        const RankId rank = *owner;
        int column = kFirstField;
        for (const Field& field : m_spec.fields)
            if (auto done = addArgument(m_state, field, row, column, m_arguments); !done)
                return done;
        addDerived(row);
        if (!m_name.version.empty()) m_arguments.json("version", m_name.version);
        m_state.builder().add(rank, span, m_arguments.done());
        if (m_spec.activity == Activity::kRuntime && m_state.survey.ranks.entries().size() > 1)
            shareLaunch(row, span);
        m_state.ended = std::max(m_state.ended, span.end());
        m_state.keep(row.anyWrong());
        return {};
    }

    /// A call may have launched work of another device of its process, which is a rank of its own.
    void shareLaunch(QueryRow& row, const SpanEvent& span) {
        const auto& ranks = m_state.survey.ranks;
        const auto global = row.integer(kOwner);
        if (span.correlation == 0 || !global) return;
        for (const RankId other : ranks.othersOf(ranks.of(processOf(*global))))
            m_state.builder().addLaunch(other, span.correlation, span.start);
    }

    /// Whose it is, how it is called and on which lane.
    Result<RankId> placeOf(QueryRow& row, SpanEvent& span) {
        const auto global = row.integer(kOwner);
        const std::int64_t process = global ? processOf(*global) : ProcessRanks::kUnknownProcess;
        const std::int64_t context = m_spec.ofProcess ? row.integer(kContext).value_or(0) : 0;
        const std::int64_t named = m_spec.ofProcess ? row.integer(kDevice).value_or(0) : 0;
        const std::int64_t device = deviceOf(process, context, named);
        const ProcessRanks::Entry& owner = m_spec.ofProcess
                                               ? m_state.survey.ranks.of(process, device)
                                               : m_state.survey.ranks.of(process);
        auto name = m_names.of(row, kName, kFirstField, owner.rank);
        if (!name) return failure(name);
        m_name = *name;
        span.name = m_name.id;
        if (m_spec.ofProcess) {
            const std::int64_t stream = row.integer(kStream).value_or(0);
            span.lane = m_state.lanes.stream(owner, m_spec.activity, m_name.collective, device,
                                             context, stream);
            m_arguments.integer("device", device);
            m_arguments.integer("context", context);
            m_arguments.integer("stream", stream);
            if (device != named) m_arguments.integer(kDeviceOfRow, named);
        } else {
            span.lane = m_state.lanes.thread(owner, m_spec.activity, global.value_or(0));
        }
        // Numbers of another process would join what does not belong together.
        const bool own = owner.process == process ||
                         owner.process == ProcessRanks::kUnknownProcess ||
                         process == ProcessRanks::kUnknownProcess;
        const std::int64_t correlation = row.integer(kCorrelation).value_or(0);
        if (own && correlation > 0)
            span.correlation = static_cast<std::uint64_t>(correlation);
        else if (correlation != 0)
            m_arguments.integer("correlationId", correlation);
        return owner.rank;
    }

    [[nodiscard]] std::int64_t deviceOf(std::int64_t process, std::int64_t context,
                                        std::int64_t named) const {
        const bool namesItself = m_spec.activity != Activity::kSynchronization &&
                                 m_spec.activity != Activity::kCudaEvent;
        if (namesItself) return named;
        return m_state.survey.contexts.deviceOf(process, context).value_or(named);
    }

    /// What recordings of our own say of a kernel.
    void addDerived(QueryRow& row) {
        if (m_spec.activity != Activity::kKernel) return;
        std::int64_t sum = 0;
        int column = kFirstField;
        for (const Field& field : m_spec.fields) {
            const bool shared =
                field.column == "staticSharedMemory" || field.column == "dynamicSharedMemory";
            const std::int64_t bytes = shared ? row.integer(column).value_or(0) : 0;
            constexpr std::int64_t kMost = std::int64_t{1} << 40;
            sum += bytes > 0 && bytes < kMost ? bytes : 0;
            column += field.form == Form::kTriple ? 3 : 1;
        }
        m_arguments.integer("shared_bytes", sum);
    }

    ImportState& m_state;
    const TableSpec& m_spec;
    ArgumentWriter m_arguments;
    SpanNames m_names;
    SpanName m_name;
};

}  // namespace

std::optional<std::pair<Timestamp, Duration>> ImportState::place(std::optional<std::int64_t> start,
                                                                 std::optional<std::int64_t> end,
                                                                 bool needsEnd) {
    if (!start || (needsEnd && !end)) {
        account.reject(kNoTime);
        return std::nullopt;
    }
    const std::int64_t until = end.value_or(*start);
    const auto fits = [](std::int64_t time) { return time >= -kMostTime && time <= kMostTime; };
    if (!fits(*start) || !fits(until) || !fits(*start + shiftNs) || !fits(until + shiftNs) ||
        until - *start > kMostTime) {
        account.reject("a time out of range");
        return std::nullopt;
    }
    if (until < *start) account.repair("an end before its start");
    return std::pair(Timestamp{*start + shiftNs},
                     Duration{std::max<std::int64_t>(0, until - *start)});
}

void appendColumns(std::vector<std::string>& columns, std::span<const Field> fields) {
    for (const Field& field : fields) {
        const std::string name(field.column);
        if (field.form != Form::kTriple) {
            columns.push_back(name);
            continue;
        }
        for (const char axis : {'X', 'Y', 'Z'}) columns.push_back(name + axis);
    }
}

Result<void> addArgument(ImportState& state, const Field& field, QueryRow& row, int& column,
                         ArgumentWriter& arguments) {
    const int at = column;
    column += field.form == Form::kTriple ? 3 : 1;
    switch (field.form) {
        case Form::kInteger:
            if (const auto value = row.integer(at); value && !(field.required && *value == 0)) {
                if (const Word* word = wordOf(field.words, *value))
                    arguments.word(field.key, word->word);
                else
                    arguments.integer(field.key, *value);
            }
            return {};
        case Form::kReal:
            if (const auto value = row.real(at)) arguments.real(field.key, *value);
            return {};
        case Form::kText:
            if (const auto value = row.text(at); value && !(field.required && *value == kNoList))
                arguments.json(field.key, jsonString(soundText(*value, state.changedTexts)));
            return {};
        case Form::kString:
            if (const auto id = row.integer(at)) {
                auto text = state.texts.find(*id);
                if (!text) return failure(text);
                if (*text != nullptr) arguments.json(field.key, (*text)->json);
            }
            return {};
        case Form::kTriple:
            break;
    }
    const auto x = row.integer(at), y = row.integer(at + 1), z = row.integer(at + 2);
    if (x && y && z) arguments.triple(field.key, *x, *y, *z);
    return {};
}

Result<void> readSpans(ImportState& state, const TableSpec& spec) {
    return SpanReader(state, spec).run();
}

}  // namespace shardscope::interchange::nsys
