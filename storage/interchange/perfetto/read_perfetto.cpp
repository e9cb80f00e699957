// A Perfetto trace of our own back into a recording.
#include "storage/interchange/import.h"
#include "storage/interchange/perfetto/fact_instants.h"
#include "storage/interchange/perfetto/read_packets.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace shardscope::interchange {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
/// Lanes that a recording derives from its memory events.

class IntoBuilder : public PerfettoHandler {
public:
    IntoBuilder(const ReaderRequest& request, ReaderResult& result)
        : m_request(&request), m_builder(request.builder), m_result(&result) {}

    void process(const ProcessDescription& process) override {
        if (m_ranks.empty()) {
            m_result->run = process.run;
            m_result->rank = process.rank.rank;
            m_result->baseUnixNs = process.run.startedUnixNs;
            m_result->zeroNs = m_request->zeroNs.value_or(process.run.startedUnixNs);
            m_shift = {process.run.startedUnixNs - m_result->zeroNs};
        }
        m_ranks.insert(process.rank.rank);
        m_builder->putRank(process.rank);
    }
    void lane(const LaneFacts& lane) override {
        if (!isMemoryLane(lane.lane)) m_builder->declare(lane);
    }
    void slice(RankId rank, const ReadSlice& slice) override {
        SpanEvent span = slice.span;
        span.start = at(span.start);
        span.name = m_builder->intern(rank, slice.name);
        if (slice.arguments.empty())
            m_builder->add(rank, span);
        else
            m_builder->add(rank, span, slice.arguments);
        keep(span.end());
    }
    void instant(RankId rank, const ReadInstant& read) override {
        InstantEvent instant = read.instant;
        instant.time = at(instant.time);
        instant.name = m_builder->intern(rank, read.name);
        m_builder->add(rank, instant, read.arguments);
        keep(instant.time);
    }
    void sample(RankId rank, const CounterEvent& sample) override {
        if (isMemoryLane(sample.lane)) return;
        CounterEvent event = sample;
        event.time = at(sample.time);
        m_builder->add(rank, event);
        keep(event.time);
    }
    void fact(RankId rank, const ReadFact& fact) override {
        std::vector<Member> members;
        TextFlags flags;
        const char* end = fact.members.data() + fact.members.size();
        if (readMembers(fact.members.data(), end, members, flags) != end) members.clear();
        const Timestamp time = at(fact.time);
        if (fact.category == kMemoryFact) {
            MemoryEvent event = memoryOf(members, time);
            event.owner = m_builder->intern(rank, fact.name);
            m_builder->add(rank, event, argumentsOf(members));
        } else if (fact.category == kFlowFact) {
            addFlow(rank, members, fact);
        } else if (fact.category == kCollectiveFact) {
            addCollective(rank, members, fact.time);
        } else if (fact.category == kStepFact) {
            StepFacts step = stepOf(members, fact.time);
            step.rank = rank;
            step.start = at(step.start);
            step.end = at(step.end);
            if (m_steps.insert({rank, step.step}).second) m_builder->addStep(step);
        } else if (fact.category == kMetricFact) {
            MetricPoint metric = metricOf(members, time);
            metric.name = fact.name;
            m_builder->addMetric(metric);
        } else {
            return reject("an instant of no known kind");
        }
        keep(time);
    }
    void reject(const char* reason) override {
        ++m_result->account.read;
        m_result->account.reject(reason);
    }

    [[nodiscard]] const std::set<RankId>& ranks() const { return m_ranks; }

private:
    [[nodiscard]] Timestamp at(Timestamp time) const { return time + m_shift; }
    void keep(Timestamp end) {
        ++m_result->account.read;
        ++m_result->account.kept;
        m_result->ended = std::max(m_result->ended, end);
    }
    static std::string textIn(const std::vector<Member>& members, std::string_view key) {
        const std::string_view value = valueOf(members, key);
        return value.empty() ? std::string() : textOf(value);
    }
    void addFlow(RankId rank, const std::vector<Member>& members, const ReadFact& fact) {
        FlowEvent flow = flowOf(members, fact.time);
        flow.time = at(flow.time);
        if (flow.bound) flow.spanStart = at(flow.spanStart);
        flow.name = m_builder->intern(rank, fact.name);
        flow.category = m_builder->intern(rank, textIn(members, "category"));
        flow.idText = m_builder->intern(rank, textIn(members, "id_text"));
        m_builder->addAsItIs(rank, flow, textIn(members, "args"));
    }
    void addCollective(RankId rank, const std::vector<Member>& members, Timestamp start) {
        CollectiveEvent event = collectiveOf(members, start);
        const auto text = [&](std::string_view key) {
            const std::string_view value = valueOf(members, key);
            return m_builder->intern(rank, value.empty() ? std::string() : textOf(value));
        };
        event.algorithm = text("algorithm");
        event.protocol = text("protocol");
        for (Timestamp* time : {&event.issue, &event.start, &event.end}) *time = at(*time);
        event.arrivals = {event.arrivals.size(), [&, there = event.arrivals](std::size_t place) {
                              return at(there[place]);
                          }};
        m_builder->add(rank, event);
    }

    const ReaderRequest* m_request;
    TraceBuilder* m_builder;
    ReaderResult* m_result;
    Duration m_shift;
    std::set<RankId> m_ranks;
    std::set<std::pair<RankId, StepIndex>> m_steps;
};

}  // namespace

Result<ReaderResult> readPerfetto(const ReaderRequest& request) {
    auto source = openBytes(request.path, request.title);
    if (!source) return failure(source);
    ReaderResult result;
    IntoBuilder into(request, result);
    PerfettoReader reader(into, request.title);
    std::vector<char> buffer(kBlock);
    std::size_t filled = 0;
    while (true) {
        if (filled == buffer.size()) buffer.resize(buffer.size() * 2);  // a packet larger than it
        auto count = (*source)->read(std::span(buffer).subspan(filled));
        if (!count) return failure(count);
        if (*count == 0) break;
        filled += *count;
        auto taken = reader.take({buffer.data(), filled});
        if (!taken) return failure(taken);
        filled -= *taken;
        std::memmove(buffer.data(), buffer.data() + *taken, filled);
        if (const auto& state = request.builder->state(); !state) return failure(state);
        if (request.progress && !request.progress((*source)->share()))
            return failure(ErrorCode::kCancelled, "the import was stopped");
    }
    reader.finish(filled);
    if (into.ranks().empty())
        return failure(
            ErrorCode::kUnreadable,
            request.title + " is a Perfetto trace without a rank: there is nothing in it");
    for (const RankId rank : into.ranks())
        if (rank != result.rank) result.moreRanks.push_back(rank);
    result.wholeRun = true;
    return result;
}

}  // namespace shardscope::interchange
