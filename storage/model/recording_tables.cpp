#include "storage/model/recording_tables.h"

#include "storage/model/host_facts.h"
#include "storage/model/process_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"

namespace shardscope {
namespace {

/// A column that a format added to a table of earlier ones.
template <class Row, class Member>
FieldIn<Row> later(const char* name, Member Row::*member) {
    FieldIn<Row> column(name, member);
    column.later = true;
    return column;
}

}  // namespace

// Here, where all rows are known.
RecordingSummary::RecordingSummary() = default;
RecordingSummary::RecordingSummary(const RecordingSummary& other) = default;
RecordingSummary::RecordingSummary(RecordingSummary&& other) noexcept = default;
RecordingSummary& RecordingSummary::operator=(const RecordingSummary& other) = default;
RecordingSummary& RecordingSummary::operator=(RecordingSummary&& other) noexcept = default;
RecordingSummary::~RecordingSummary() = default;

const Table& tableOf(Of<RunFacts>) {
    using R = RunFacts;
    static const Table table{{.name = "run", .more = "finalised", .row = "the run"},
                             FieldsOf<R>{{"id", &R::id},
                                         {"config_json", &R::configJson},
                                         {"command_line", &R::commandLine},
                                         {"product", &R::product},
                                         {"libraries_json", &R::librariesJson},
                                         {"environment_json", &R::environmentJson},
                                         {"model", &R::model},
                                         {"strategy", &R::strategy},
                                         {"world_size", &R::worldSize},
                                         {"parameters", &R::parameters},
                                         {"started_unix_ns", &R::startedUnixNs},
                                         {"status", &R::status},
                                         {"ended_ns", &R::ended}}};
    return table;
}

const Table& tableOf(Of<HostFacts>) {
    using R = HostFacts;
    static const Table table{
        {.name = "hosts", .order = "host", .key = "host", .row = "host {host}"},
        FieldsOf<R>{{"host", &R::host},
                    {"name", &R::name},
                    {"cpu", &R::cpu},
                    {"cores", &R::cores},
                    {"memory_bytes", &R::memory},
                    {"boot_id", &R::bootId},
                    {"clock_offset_ns", &R::clockOffsetNs},
                    {"clock_error_ns", &R::clockErrorNs}}};
    return table;
}

const Table& tableOf(Of<ClockFacts>) {
    using R = ClockFacts;
    static const Table table{{.name = "clocks",
                              .order = "id",
                              .key = "id",
                              .since = 1,
                              .row = "comparison of clocks {id}"},
                             FieldsOf<R>{{"host", &R::host},
                                         {"time_ns", &R::time},
                                         {"offset_ns", &R::offsetNs},
                                         {"drift_ppb", &R::driftPpb},
                                         {"error_ns", &R::errorNs},
                                         {"residual_ns", &R::residualNs},
                                         {"stepped", &R::stepped}}};
    return table;
}

const Table& tableOf(Of<RankFacts>) {
    using R = RankFacts;
    static const Table table{
        {.name = "ranks", .order = "rank", .key = "rank", .row = "rank {rank}"},
        FieldsOf<R>{{"rank", &R::rank},
                    {"host", &R::host},
                    {"pid", &R::pid},
                    {"device", &R::device},
                    {"peak_flops", &R::peakFlops},
                    {"peak_source", &R::peakSource},
                    {"emitted", &R::emitted},
                    {"dropped", &R::dropped},
                    {"exit_code", &R::exitCode},
                    {"exit_signal", &R::exitSignal}}};
    return table;
}

const Table& tableOf(Of<DeviceFacts>) {
    using R = DeviceFacts;
    static const Table table{{.name = "devices",
                              .order = "rank",
                              .key = "rank",
                              .since = 1,
                              .row = "the device of rank {rank}"},
                             FieldsOf<R>{{"rank", &R::rank},
                                         {"name", &R::name},
                                         {"uuid", &R::uuid},
                                         {"pci_bus_id", &R::pciBusId},
                                         {"memory_bytes", &R::memory},
                                         {"driver", &R::driver},
                                         {"shared_by", &R::sharedBy},
                                         {"mig", &R::mig},
                                         {"attention", &R::attention},
                                         {"tracing", &R::tracing},
                                         {"vendor_peak_flops", &R::vendorPeak},
                                         {"vendor_peak_source", &R::vendorPeakSource},
                                         {"measured_peak_flops", &R::measuredPeak},
                                         {"measured_peak_source", &R::measuredPeakSource},
                                         {"clock_error_ns", &R::clockErrorNs}}};
    return table;
}

const Table& tableOf(Of<LaneFacts>) {
    using R = LaneFacts;
    static const Table table{{.name = "lanes",
                              .order = "rank, position, lane",
                              .key = "lane",
                              .keyedByRank = true,
                              .row = "lane {lane} of rank {rank}"},
                             FieldsOf<R>{{"rank", &R::rank},
                                         {"lane", &R::lane},
                                         {"role", &R::role},
                                         {"name", &R::name},
                                         {"unit", &R::unit},
                                         {"position", &R::order}}};
    return table;
}

const Table& tableOf(Of<StepFacts>) {
    using R = StepFacts;
    static const Table table{{.name = "steps",
                              .order = "step, rank",
                              .key = "step",
                              .keyedByRank = true,
                              .row = "step {step} of rank {rank}"},
                             FieldsOf<R>{{"rank", &R::rank},
                                         {"step", &R::step},
                                         {"start_ns", &R::start},
                                         {"end_ns", &R::end},
                                         {"tokens", &R::tokens},
                                         {"expected_gathers", &R::expectedGathers},
                                         {"expected_reductions", &R::expectedReductions},
                                         {"expected_phases", &R::expectedPhases},
                                         {"emitted", &R::emitted},
                                         {"dropped", &R::dropped},
                                         {"cpu_time_ns", &R::cpuTimeNs},
                                         {"resident_set_bytes", &R::residentSet},
                                         later<R>("core_wait_ns", &R::coreWaitNs),
                                         later<R>("stolen_ns", &R::stolenNs),
                                         later<R>("busy_ns", &R::busyNs),
                                         later<R>("expected_exchanges", &R::expectedExchanges)}};
    return table;
}

const Table& tableOf(Of<MetricPoint>) {
    using R = MetricPoint;
    static const Table table{
        {.name = "metrics", .order = "rowid", .row = "a value of {name}"},
        FieldsOf<R>{
            {"name", &R::name}, {"step", &R::step}, {"time_ns", &R::time}, {"value", &R::value}}};
    return table;
}

const Table& tableOf(Of<MemoryTheory>) {
    using R = MemoryTheory;
    static const Table table{
        {.name = "memory_theory",
         .order = "rank, category",
         .key = "category",
         .keyedByRank = true,
         .row = "category {category} of rank {rank}"},
        FieldsOf<R>{{"rank", &R::rank}, {"category", &R::category}, {"size_bytes", &R::size}}};
    return table;
}

const Table& tableOf(Of<FactRow>) {
    using R = FactRow;
    static const Table table{
        {.name = "facts",
         .order = "name, host, rank",
         .since = 3,
         .row = "the fact {name} of host {host}"},
        FieldsOf<R>{
            {"name", &R::name}, {"host", &R::host}, {"rank", &R::rank}, {"value", &R::value}}};
    return table;
}

const Table& tableOf(Of<ProcessFacts>) {
    using R = ProcessFacts;
    static const Table table{{.name = "processes",
                              .order = "host, started_ns, pid",
                              .since = 4,
                              .row = "process {pid} of host {host}"},
                             FieldsOf<R>{{"host", &R::host},
                                         {"pid", &R::pid},
                                         {"parent", &R::parent},
                                         {"role", &R::role},
                                         {"rank", &R::rank},
                                         {"attempt", &R::attempt},
                                         {"command", &R::command},
                                         {"started_ns", &R::started},
                                         {"ended_ns", &R::ended},
                                         {"exit_code", &R::exitCode},
                                         {"exit_signal", &R::exitSignal},
                                         {"cpu_time_ns", &R::cpuTimeNs},
                                         {"peak_resident_bytes", &R::peakResident},
                                         {"not_recorded", &R::notRecorded}}};
    return table;
}

const Table& tableOf(Of<Diagnostic>) {
    using R = Diagnostic;
    static const Table table{
        {.name = "diagnostics", .order = "id", .key = "id", .row = "diagnostic {id}"},
        FieldsOf<R>{{"severity", &R::severity},
                    {"code", &R::code},
                    {"message", &R::message},
                    {"remedy", &R::remedy},
                    {"rank", &R::rank},
                    {"time_ns", &R::time},
                    {"count", &R::count}}};
    return table;
}

const Table& tableOf(Of<DetailFacts>) {
    using R = DetailFacts;
    static const Table table{{.name = "detail",
                              .order = "rank, first_step, id",
                              .key = "id",
                              .since = 3,
                              .more = "peak_ns, peak_bytes, peak",
                              .row = "steps {first_step} to {last_step} of rank {rank}"},
                             FieldsOf<R>{{"rank", &R::rank},
                                         {"first_step", &R::first},
                                         {"last_step", &R::last},
                                         {"start_ns", &R::range, &TimeRange::begin},
                                         {"end_ns", &R::range, &TimeRange::end},
                                         {"level", &R::level},
                                         {"reason", &R::reason},
                                         {"removed", &R::removed}}};
    return table;
}

FieldsOf<DetailFacts> fieldsOf(Of<DetailFacts>) {
    FieldsOf<DetailFacts> fields;
    fields.list = tableOf(Of<DetailFacts>{}).columns.list;
    fields.list.push_back(FieldIn<DetailFacts>("peak", &DetailFacts::peak));
    return fields;
}

}  // namespace shardscope
