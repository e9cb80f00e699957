// Files and folders into one recording: which files, which reader, whose ranks.
#include "storage/interchange/import.h"

#include "storage/interchange/clock_groups.h"
#include "storage/interchange/formats.h"
#include "storage/interchange/import_inputs.h"
#include "storage/model/quantity_text.h"
#include "storage/recording/file/output_file.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <utility>

namespace shardscope::interchange {
namespace {

namespace fs = std::filesystem;

std::string randomId() {
    constexpr const char* kHex = "0123456789abcdef";
    std::random_device random;
    std::string id;
    while (id.size() < 32) id += kHex[random() & 15u];
    return id;
}

Result<ReaderResult> readAny(const ReaderRequest& request) {
    auto format = recogniseTrace(request.path, request.title);
    if (!format) return failure(format);
    if ((*format)->read != nullptr) return (*format)->read(request);
    return failure(ErrorCode::kUnreadable,
                   request.title + " is " + (*format)->file + ", which cannot be imported");
}

/// Our own recordings are copied, not translated: all of them, or none. An input that cannot be
/// recognised is left to its reader, which says why.
Result<bool> areRecordings(const std::vector<Input>& inputs) {
    std::size_t recordings = 0;
    for (const Input& input : inputs) {
        const auto format = recogniseTrace(input.path, input.title);
        if (format && (*format)->read == nullptr) ++recordings;
    }
    if (recordings != 0 && recordings != inputs.size())
        return failure(ErrorCode::kUsage,
                       "recordings and traces of other tools cannot be joined: import the traces "
                       "first, then join the recordings");
    return recordings != 0;
}

/// What a round over all inputs knows from the ones before it.
struct Learned {
    std::vector<StatedByFile> files;     ///< one for each input; empty in the first round
    std::optional<std::int64_t> zeroNs;  ///< where time 0 must lie for nothing to come before it
    TraceBuilder::StepsOfRanks steps;
    ClockGroups clocks;               ///< of all inputs, where they are not on one clock
    std::optional<Duration> later{};  ///< than in the round before all events will be
};

/// What one of the rounds has made readable, if any.
struct Readable {
    std::optional<storage::OutputFile> kept;  ///< of a round that was given up
    bool announced = false;
    int tries = 0;  ///< rounds that were given up with something to read

    void add(std::optional<storage::OutputFile> file) {
        if (!file) return;
        kept = std::move(file);
        announced = true;
        ++tries;
    }
};

/// Of all inputs, as far as that is known before they are read.
std::vector<RankId> ranksBefore(const std::vector<Input>& inputs, const ImportOptions& options) {
    if (options.traced && options.traced->ranks.size() == inputs.size())
        return options.traced->ranks;
    return inputs.size() > 1 ? ranksByName(inputs) : std::vector<RankId>{};
}

/// One round over all inputs.
class Import {
public:
    Import(const std::vector<Input>& inputs, const ImportOptions& options, const Learned& known,
           const std::string& id, const Readable& readable)
        : m_inputs(&inputs),
          m_options(&options),
          m_known(&known),
          m_readable(&readable),
          m_id(id),
          m_named(ranksBefore(inputs, options)),
          m_mayPublish(options.readable && !readable.announced),
          m_zeroNs(known.zeroNs) {}

    /// Nothing: the recording is finished. Else what the next round is to know, because the files
    /// said it too late for this one.
    Result<std::optional<Learned>> run();
    [[nodiscard]] const ImportAccount& account() const { return m_account; }
    /// Of a round that is not the last: what it made readable, if anything.
    [[nodiscard]] std::optional<storage::OutputFile> takeReadable();

private:
    Result<void> read(std::size_t index);
    void addRank(RankId rank, std::size_t index);
    [[nodiscard]] bool findContinued();
    [[nodiscard]] bool report(std::size_t index, double share);
    void publish();
    [[nodiscard]] ReaderRequest requestFor(std::size_t index);
    [[nodiscard]] std::optional<Learned> learn();
    [[nodiscard]] Result<void> checkYield() const;
    /// Where its events are: nothing of an input that has none, or none that could be placed.
    [[nodiscard]] std::optional<InputSpan> spanOf(const ReaderResult& result) const;
    [[nodiscard]] Learned unrelated(ClockGroups clocks) const;
    void noteClocks();
    Result<void> finish();
    void addTraced();
    [[nodiscard]] std::optional<std::int32_t> firstStepOf(std::size_t index) const;
    [[nodiscard]] std::string sourceText() const;

    const std::vector<Input>* m_inputs;
    const ImportOptions* m_options;
    const Learned* m_known;
    const Readable* m_readable;
    std::string m_id;             ///< of the run, the same in all rounds
    std::vector<RankId> m_named;  ///< ranks of the inputs by their names, if all have one
    bool m_mayPublish = false;    ///< no round before has
    bool m_isReadable = false;
    std::chrono::steady_clock::time_point m_published;
    std::vector<StatedByFile> m_found;  ///< of the inputs read so far
    bool m_misread = false;             ///< a file states something else than it was read with
    bool m_anyRead = false;
    bool m_mayBeEmpty = true;
    std::vector<std::optional<InputSpan>> m_spans;
    std::vector<std::vector<RankId>> m_ranksOf;  ///< each input
    std::vector<InputProcess> m_processes;       ///< each input
    std::uint32_t m_continued = 0;               ///< inputs that are of no ranks of their own
    std::optional<std::string> m_twice;          ///< why a rank cannot be of two inputs
    std::optional<TraceBuilder> m_builder;
    ImportAccount m_account;
    RunFacts m_run;
    Timestamp m_ended;
    std::optional<std::int64_t> m_zeroNs;
    std::optional<std::int64_t> m_clockBaseNs;
    std::map<RankId, std::string> m_ranks;
    std::string m_configs;
    bool m_wholeRun = false;
    std::uint32_t m_extraRanks = 0;  ///< of files with several
};

bool Import::report(std::size_t index, double share) {
    if (m_mayPublish) publish();
    if (!m_options->progress) return true;
    return m_options->progress((static_cast<double>(index) + share) /
                               static_cast<double>(m_inputs->size()));
}

void Import::publish() {
    constexpr std::chrono::milliseconds kBetween{500};
    const auto now = std::chrono::steady_clock::now();
    if (m_isReadable && now - m_published < kBetween) return;
    if (!m_builder->publish()) return;
    m_published = now;
    if (!std::exchange(m_isReadable, true)) m_options->readable(m_builder->partFile());
}

std::optional<storage::OutputFile> Import::takeReadable() {
    if (!m_isReadable) return std::nullopt;
    static_cast<void>(m_builder->publish());
    return m_builder->abandon();
}

/// A rank may be of several inputs that one process wrote; which these are is known at the end.
void Import::addRank(RankId rank, std::size_t index) {
    const std::string& path = (*m_inputs)[index].title;
    const auto [at, added] = m_ranks.emplace(rank, path);
    const bool continues = !m_known->files.empty() && m_known->files[index].continues;
    if (!added && !continues && !m_twice)
        m_twice = at->second + " and " + path + " are both of rank " + std::to_string(rank.value) +
                  ", at the same time or of different processes: import traces of one run, one "
                  "file per rank";
}

/// Whether some inputs turn out to be of ranks of others.
bool Import::findContinued() {
    if (!clockGroups(m_spans).areOne()) return false;
    const auto continued = continuedInputs(m_processes);
    bool changed = false;
    for (std::size_t i = 0; i < continued.size(); ++i) {
        changed = changed || continued[i] != m_found[i].continues;
        m_found[i].continues = continued[i];
    }
    return changed;
}

/// Whatever the file says of itself in a later round is known already.
ReaderRequest Import::requestFor(std::size_t index) {
    const StatedByFile known = m_known->files.empty() ? StatedByFile{} : m_known->files[index];
    // Files before it may have had several ranks.
    const RankId next =
        !m_named.empty() && m_extraRanks == 0
            ? m_named[index]
            : RankId{static_cast<std::uint32_t>(index) + m_extraRanks - m_continued};
    const RankId own = known.continues ? m_ranksOf[*known.continues].front() : next;
    const Input& input = (*m_inputs)[index];
    const ClockGroups& clocks = m_known->clocks;
    return {input.path,
            input.title,
            &*m_builder,
            known.rank.value_or(own),
            known.clockBaseNs ? known.clockBaseNs : m_clockBaseNs,
            clocks.areOne() ? m_zeroNs : clocks.zeroOf[index],
            [this, index](double share) { return report(index, share); },
            known.layout,
            firstStepOf(index)};
}

std::optional<std::int32_t> Import::firstStepOf(std::size_t index) const {
    if (!m_options->traced || index >= m_options->traced->firstSteps.size()) return std::nullopt;
    return m_options->traced->firstSteps[index];
}

Result<void> Import::read(std::size_t index) {
    m_builder->beginInput();
    auto result = readAny(requestFor(index));
    if (!result) return failure(result);
    m_spans.push_back(spanOf(*result));
    const std::optional<std::size_t> continues =
        m_known->files.empty() ? std::nullopt : m_known->files[index].continues;
    const StatedByFile found{result->stated.rank,
                             result->stated.clockBaseNs.value_or(result->clockBaseNs), continues,
                             result->stated.layout};
    const std::optional<RankId> named =
        m_named.empty() ? std::nullopt : std::optional(m_named[index]);
    m_processes.push_back(
        {result->process, result->stated.rank ? result->stated.rank : named, m_spans.back()});
    m_continued += continues ? 1 : 0;
    m_misread |= result->misread || found.rank.value_or(result->rank) != result->rank ||
                 found.clockBaseNs != result->clockBaseNs;
    m_found.push_back(found);
    std::vector<RankId>& ranks = m_ranksOf.emplace_back(result->moreRanks);
    ranks.insert(ranks.begin(), found.rank.value_or(result->rank));
    for (const RankId rank : ranks) addRank(rank, index);
    if (!continues) m_extraRanks += static_cast<std::uint32_t>(result->moreRanks.size());
    if (!m_anyRead) {
        m_zeroNs = result->zeroNs;
        m_clockBaseNs = found.clockBaseNs;
        m_run = result->run;
    }
    m_anyRead = true;
    m_run.worldSize = std::max(m_run.worldSize, result->run.worldSize);
    m_ended = std::max(m_ended, result->ended);
    m_mayBeEmpty = m_mayBeEmpty && result->mayBeEmpty;
    m_wholeRun = result->wholeRun && m_inputs->size() == 1;
    m_configs += (m_configs.empty() ? "" : ",") + result->run.configJson;
    m_account.add(result->account);
    return {};
}

/// Another round is better when a file was misread, files are on clocks of their own, events lie
/// before time 0, or a step was marked after events that it may hold were stored.
std::optional<Learned> Import::learn() {
    m_misread |= !m_wholeRun && findContinued();
    if (m_misread) return Learned{m_found, m_known->zeroNs, m_known->steps, m_known->clocks, {}};
    if (m_wholeRun || m_known->zeroNs || !m_known->clocks.areOne()) return std::nullopt;
    if (ClockGroups clocks = clockGroups(m_spans); !clocks.areOne())
        return unrelated(std::move(clocks));
    const std::int64_t early =
        std::min<std::int64_t>(0, m_builder->earliest().value_or(Timestamp{}).ns);
    if (early == 0 && !m_builder->stepsCameLate()) return std::nullopt;
    Learned learned{m_found, *m_zeroNs + early, m_builder->markedSteps(), {}, Duration{-early}};
    for (const auto& [rank, marks] : learned.steps) marks->shift(Duration{-early});
    return learned;
}

std::optional<InputSpan> Import::spanOf(const ReaderResult& result) const {
    const std::int64_t zero = result.zeroNs;
    const auto seen = m_builder->timesOfInput();
    if (!seen && result.account.rejected() > 0) return std::nullopt;
    if (!seen) return m_spans.empty() ? InputSpan{zero, zero, false} : m_spans.front();
    // Where all lies before time 0 the reader's end says nothing.
    const Timestamp last = seen->end.ns < 0 ? seen->end : std::max(seen->end, result.ended);
    const bool wallClock = result.clockBaseNs == 0 && result.baseUnixNs != 0;
    return InputSpan{zero + seen->begin.ns, zero + last.ns, result.stated.clockBaseNs || wallClock};
}

/// Each group begins at its own start.
Learned Import::unrelated(ClockGroups clocks) const {
    Learned learned{m_found, std::nullopt, m_builder->markedSteps(), std::move(clocks), {}};
    for (std::size_t i = 0; i < m_found.size(); ++i) {
        const std::optional<std::int64_t> zero = learned.clocks.zeroOf[i];
        if (!zero) continue;
        for (const RankId rank : m_ranksOf[i])
            if (const auto marks = learned.steps.find(rank); marks != learned.steps.end())
                marks->second->shift(Duration{*m_zeroNs - *zero});
    }
    return learned;
}

void Import::noteClocks() {
    if (m_known->clocks.areOne()) return;
    std::vector<std::string> names;
    for (const Input& input : *m_inputs) names.push_back(fs::path(input.title).filename().string());
    const std::string sentence = clocksShareNoStart(m_known->clocks, names);
    m_account.notes.push_back(sentence);
    m_builder->addDiagnostic({Severity::kWarning,
                              kClocksUnrelated,
                              sentence,
                              kClocksUnrelatedAdvice,
                              std::nullopt,
                              {},
                              1});
}

/// What keeps nothing, or hardly anything, of its input has not imported it.
Result<void> Import::checkYield() const {
    constexpr std::uint64_t kMostRejectedAKept = 99;
    const std::string of = m_inputs->size() == 1 ? (*m_inputs)[0].title : "the traces";
    if (m_account.read == 0 && !m_mayBeEmpty)
        return failure(ErrorCode::kUnreadable, of + ": there is no event in it: nothing to import");
    const std::uint64_t rejected = m_account.rejected();
    const bool nothing = rejected > 0 && m_builder->events() == 0;
    if (!nothing && (rejected == 0 || rejected <= kMostRejectedAKept * m_account.kept)) return {};
    return failure(ErrorCode::kUnreadable,
                   of + ": " + std::to_string(rejected) + " of " + std::to_string(m_account.read) +
                       " events cannot be kept (" + m_account.rejections.begin()->first +
                       "): it is damaged, or no trace of a profiler");
}

Result<void> Import::finish() {
    m_run.worldSize = std::max(m_run.worldSize, static_cast<std::int32_t>(m_ranks.size()));
    m_run.configJson = m_wholeRun ? m_configs : "{\"traces\":[" + m_configs + "]}";
    if (m_options->strict && m_account.rejected() > 0)
        return failure(ErrorCode::kUnreadable, std::to_string(m_account.rejected()) +
                                                   " events were rejected (the first reason: " +
                                                   m_account.rejections.begin()->first +
                                                   "), which --strict does not allow");
    if (auto worth = checkYield(); !worth) return worth;
    noteClocks();
    for (const std::string& note : m_builder->notes()) m_account.notes.push_back(note);
    const bool cutOff = m_account.rejections.contains(kCutOff);
    if (m_account.rejected() > 0)
        m_builder->addDiagnostic(
            {Severity::kWarning,
             "events-rejected",
             (cutOff ? "the imported trace ends early, and what came after is missing: " : "") +
                 std::to_string(m_account.rejected()) + " of " + std::to_string(m_account.read) +
                 " events of the imported trace could not be read (" +
                 m_account.rejections.begin()->first + ")",
             cutOff ? "fetch the file again, or record again; import with --strict to refuse such "
                      "traces"
                    : "the rest is complete; import with --strict to refuse such traces",
             std::nullopt,
             {},
             static_cast<std::int64_t>(m_account.rejected())});
    m_builder->addDiagnostic({Severity::kNote, "imported", sourceText(), "", std::nullopt, {}, 1});
    if (m_options->traced) addTraced();
    return m_builder->finish(m_run, m_ended);
}

void Import::addTraced() {
    const TracedRun& traced = *m_options->traced;
    m_run.worldSize = std::max(m_run.worldSize, traced.worldSize);
    m_run.commandLine = traced.commandLine;
    m_run.product = traced.product;
    for (const Diagnostic& each : traced.diagnostics) m_builder->addDiagnostic(each);
    for (const FactRow& each : rowsOf(traced.label)) m_builder->addFact(each);
}

/// What the recording says of where it comes from; folders stay private.
std::string Import::sourceText() const {
    std::string names;
    constexpr std::size_t kMostNamed = 4;
    for (std::size_t i = 0; i < std::min(kMostNamed, m_inputs->size()); ++i)
        names += (i == 0 ? "" : ", ") + fs::path((*m_inputs)[i].title).filename().string();
    if (m_inputs->size() > kMostNamed)
        names += " and " + std::to_string(m_inputs->size() - kMostNamed) + " more";
    const auto count = [](std::uint64_t events) {
        return grouped(static_cast<std::int64_t>(events));
    };
    const std::uint64_t here = m_builder->events();
    return "imported from " + names + ": " + count(m_account.read) + " events read, " +
           count(m_account.kept) + " kept, " + count(m_account.repaired) + " repaired" +
           (here == m_account.kept ? "" : "; stored as " + count(here) + " events");
}

Result<std::optional<Learned>> Import::run() {
    m_run.id = m_id;
    m_run.product = "shardscope import";
    auto builder =
        TraceBuilder::create(m_options->output, m_run, m_options->overwrite, m_readable->tries);
    if (!builder) return failure(builder);
    m_builder.emplace(std::move(*builder));
    m_builder->knowSteps(m_known->steps);
    for (std::size_t i = 0; i < m_inputs->size(); ++i)
        if (auto done = read(i); !done) return failure(done);
    m_run.id = m_id;
    m_run.product = "shardscope import";
    if (auto learned = learn()) return learned;
    if (m_twice) return failure(ErrorCode::kUnreadable, *m_twice);
    if (auto done = finish(); !done) return failure(done);
    return std::optional<Learned>();
}

}  // namespace

Result<ImportAccount> importTraces(const std::vector<std::string>& paths,
                                   const ImportOptions& options) {
    std::vector<std::string> left;
    auto inputs = collectInputs(paths, left);
    if (!inputs) return failure(inputs);
    if (auto fine = refuseOverwritingInputs(*inputs, options.output); !fine) return failure(fine);
    auto copies = copyStreams(*inputs, options);
    if (!copies) return failure(copies);
    auto own = areRecordings(*inputs);
    if (!own) return failure(own);
    if (*own) {
        std::vector<std::string> recordings;
        for (const Input& input : *inputs) recordings.push_back(input.path);
        return importRecordings(recordings, randomId(), options);
    }
    // The second round knows what files say only at their end, the third what only then could be
    // known of their times.
    constexpr int kRounds = 3;
    Learned known;
    Readable readable;
    const std::string id = randomId();
    for (int round = 0; round < kRounds; ++round) {
        Import import(*inputs, options, known, id, readable);
        auto learned = import.run();
        if (!learned) return failure(learned);
        if (!*learned) {
            ImportAccount account = import.account();
            if (!left.empty()) account.notes.push_back(leftOutText(left));
            return account;
        }
        known = std::move(**learned);
        readable.add(import.takeReadable());
        if (readable.announced && options.readAgain) options.readAgain(known.later);
    }
    return failure(ErrorCode::kUnreadable, "the traces changed while they were read");
}

}  // namespace shardscope::interchange
