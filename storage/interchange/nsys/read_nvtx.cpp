// NVTX_EVENTS: ranges and marks, with their domains, categories and payloads.
#include "storage/interchange/nsys/arguments.h"
#include "storage/interchange/nsys/import_state.h"

namespace shardscope::interchange::nsys {
namespace {

enum Column : int {
    kStart,
    kEnd,
    kThread,
    kType,
    kText,
    kTextId,
    kDomain,
    kCategory,
    kEndThread,
    kFirstField,
};

class NvtxReader {
public:
    explicit NvtxReader(ImportState& state) : m_state(state) {}

    Result<void> run() {
        std::vector<std::string> columns = {"start",     "end",      "globalTid",
                                            "eventType", "text",     "textId",
                                            "domainId",  "category", "endGlobalTid"};
        appendColumns(columns, nvtxFields());
        auto rows = m_state.file.scan("NVTX_EVENTS", columns);
        return forEachRow(m_state, rows, [this](QueryRow& row) { return add(row); });
    }

private:
    Result<void> add(QueryRow& row) {
        const std::int64_t type = row.integer(kType).value_or(nvtx::kPushPop);
        switch (type) {
            case nvtx::kPushPop:
            case nvtx::kStartEnd:
                return addRange(row, type);
            case nvtx::kMark:
                return addMark(row);
            default:
                // Names of domains, categories, threads and CUDA objects: no events of their own.
                m_state.keep(false);
                return {};
        }
    }

    Result<void> addRange(QueryRow& row, std::int64_t type) {
        const auto start = row.integer(kStart);
        auto end = row.integer(kEnd);
        const bool open = row.isNull(kEnd) && start;
        // It had not ended when the profiler stopped.
        if (open) end = std::max(m_state.survey.last, *start);
        const auto place = m_state.place(start, end, true);
        if (!place) return {};
        if (open) m_state.account.repair("a range without an end, ended with the trace");
        SpanEvent span;
        span.start = place->first;
        span.duration = place->second;
        const Whose whose = whoseIs(row);
        span.lane = m_state.lanes.nvtx(*whose.owner, whose.thread, whose.domain, type);
        auto name = describe(row, type, whose);
        if (!name) return failure(name);
        span.name = m_state.builder().intern(whose.owner->rank, *name);
        if (const auto step = stepIn(*name)) {
            m_state.builder().markStep(whose.owner->rank, *step, span.range());
            for (const RankId other : m_state.survey.ranks.othersOf(*whose.owner))
                m_state.builder().markStep(other, *step, span.range());
        }
        m_state.builder().add(whose.owner->rank, span, m_arguments.done());
        m_state.ended = std::max(m_state.ended, span.end());
        m_state.keep(row.anyWrong());
        return {};
    }

    Result<void> addMark(QueryRow& row) {
        const auto place = m_state.place(row.integer(kStart), std::nullopt, false);
        if (!place) return {};
        const Whose whose = whoseIs(row);
        InstantEvent mark;
        mark.time = place->first;
        mark.scope = InstantScope::kThread;
        mark.lane = m_state.lanes.nvtx(*whose.owner, whose.thread, whose.domain, nvtx::kMark);
        auto name = describe(row, nvtx::kMark, whose);
        if (!name) return failure(name);
        mark.name = m_state.builder().intern(whose.owner->rank, *name);
        m_state.builder().add(whose.owner->rank, mark, m_arguments.done());
        m_state.ended = std::max(m_state.ended, mark.time);
        m_state.keep(row.anyWrong());
        return {};
    }

    struct Whose {
        const ProcessRanks::Entry* owner = nullptr;
        std::int64_t thread = 0, domain = 0;
    };
    [[nodiscard]] Whose whoseIs(QueryRow& row) const {
        const std::int64_t thread = row.integer(kThread).value_or(0);
        const auto process =
            row.integer(kThread) ? processOf(thread) : ProcessRanks::kUnknownProcess;
        return {&m_state.survey.ranks.of(process), thread, row.integer(kDomain).value_or(0)};
    }

    /// The name, with all else that the row says in m_arguments. Valid until the next call.
    Result<std::string_view> describe(QueryRow& row, std::int64_t type, const Whose& whose) {
        auto name = nameOf(row);
        if (!name) return name;
        m_arguments.clear();
        const std::string_view plain = splitEmitted(*name, m_arguments);
        if (auto done = addArguments(row, type, whose.thread, whose.domain); !done)
            return failure(done);
        return plain;
    }

    Result<void> addArguments(QueryRow& row, std::int64_t type, std::int64_t thread,
                              std::int64_t domain) {
        if (type == nvtx::kStartEnd) m_arguments.word("nvtx", "start/end range");
        int column = kFirstField;
        for (const Field& field : nvtxFields()) {
            if (field.column == "domainId" && domain == 0)
                ++column;
            else if (auto done = addArgument(m_state, field, row, column, m_arguments); !done)
                return done;
        }
        if (const auto category = row.integer(kCategory)) {
            const auto at =
                m_state.survey.categories.find({{processOf(thread), domain}, *category});
            if (at != m_state.survey.categories.end())
                m_arguments.json("category_name", jsonString(at->second));
        }
        const auto endThread = row.integer(kEndThread);
        if (type == nvtx::kStartEnd && endThread && *endThread != thread)
            m_arguments.integer("end_thread", tidOf(*endThread));
        return {};
    }

    /// Valid until the next call.
    Result<std::string_view> nameOf(QueryRow& row) {
        if (const auto own = row.text(kText)) {
            m_name = soundText(*own, m_state.changedTexts);
            return std::string_view(m_name);
        }
        if (const auto id = row.integer(kTextId)) {
            auto text = m_state.texts.find(*id);
            if (!text) return failure(text);
            if (*text != nullptr) return std::string_view((*text)->plain);
            m_state.account.repair("a name that is not in StringIds");
        }
        return std::string_view("(unnamed)");
    }

    ImportState& m_state;
    ArgumentWriter m_arguments;
    std::string m_name;
};

}  // namespace

Result<void> readNvtx(ImportState& state) {
    return NvtxReader(state).run();
}

}  // namespace shardscope::interchange::nsys
