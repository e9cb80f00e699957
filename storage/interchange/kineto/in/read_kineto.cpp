// One Kineto trace into a builder: windows of events, metadata, and where its clock begins.
#include "storage/interchange/byte_source.h"
#include "storage/interchange/decimal.h"
#include "storage/interchange/import.h"
#include "storage/interchange/kineto/in/event_stream.h"
#include "storage/interchange/kineto/in/trace_mapper.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"

#include <simdjson.h>

#include <algorithm>
#include <limits>

namespace shardscope::interchange {
namespace kineto {
namespace {

/// Wall clocks before September 2001 are none: times count from some other zero.
constexpr std::int64_t kFirstWallClockNs = 1'000'000'000'000'000'000;

std::vector<Member> membersOf(const std::string& json) {
    // Metadata keeps its white space, which readMembers() does not know; texts stay as they are.
    std::vector<Member> members;
    TextFlags flags;
    if (readMembers(json.data(), json.data() + json.size(), members, flags) == nullptr) return {};
    return members;
}

std::string minified(const std::string& json) {
    std::string dense(json.size() + 64, '\0');
    std::size_t length = 0;
    if (simdjson::minify(json.data(), json.size(), dense.data(), length) != simdjson::SUCCESS)
        return {};
    dense.resize(length);
    return dense;
}

bool isSound(const std::string& dense) {
    TextFlags flags;
    const char* end = dense.data() + dense.size();
    return skipValue(dense.data(), end, flags) == end && !flags.nonFinite &&
           !flags.controlCharacter && simdjson::validate_utf8(dense.data(), dense.size());
}

class KinetoReader {
public:
    KinetoReader(const ReaderRequest& request, ByteSource& source)
        : m_request(&request), m_source(&source), m_stream(source, request.title) {}

    Result<ReaderResult> read();

private:
    [[nodiscard]] std::string metadata(const std::string& key) const {
        const auto at = m_stream.metadata().find(key);
        return at == m_stream.metadata().end() ? std::string() : minified(at->second);
    }
    [[nodiscard]] std::optional<std::int64_t> rankInFile() const;
    [[nodiscard]] std::optional<std::int64_t> baseInFile() const;
    [[nodiscard]] std::int64_t worldSize() const;
    void begin(std::string_view window);
    void take(std::span<char> window);
    static const char* repairText(Event& event);
    void noteEnd();
    void describe();
    void describeDevice();
    [[nodiscard]] std::string librariesJson() const;
    [[nodiscard]] std::string configJson() const;

    const ReaderRequest* m_request;
    ByteSource* m_source;
    EventStream m_stream;
    ReaderResult m_result;
    std::optional<TraceMapper> m_mapper;
    Event m_event;
};

std::optional<std::int64_t> KinetoReader::rankInFile() const {
    const std::string info = metadata("distributedInfo");
    const auto rank = parseInteger(valueOf(membersOf(info), "rank"));
    if (!rank || *rank < 0 || *rank >= kMostRanks) return std::nullopt;
    return rank;
}

std::optional<std::int64_t> KinetoReader::baseInFile() const {
    const auto base = parseInteger(metadata("baseTimeNanoseconds"));
    constexpr std::int64_t kLimit = (std::int64_t{1} << 61) - 1;
    if (!base || *base < 0 || *base > kLimit) return std::nullopt;
    return base;
}

std::int64_t KinetoReader::worldSize() const {
    const std::string info = metadata("distributedInfo");
    const std::int64_t size = parseInteger(valueOf(membersOf(info), "world_size")).value_or(0);
    return size > 0 && size <= kMostRanks ? size : 0;
}

/// Decides where time begins: where an earlier file or round did, or at the first window's earliest
/// event. Where one comes before that, the import begins anew.
void KinetoReader::begin(std::string_view window) {
    const std::int64_t rank = rankInFile().value_or(std::int64_t{m_request->rank.value});
    m_result.rank = {static_cast<std::uint32_t>(rank)};
    m_result.mayBeEmpty = false;
    m_result.clockBaseNs = baseInFile().value_or(m_request->clockBaseNs.value_or(0));
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    while (const std::size_t length = readEvent(window, m_event)) {
        const auto time = parseMicroseconds(m_event.time);
        // Names of processes and threads are often given at time 0.
        if (time && m_event.phase != "\"M\"") first = std::min(first, time->value);
        window.remove_prefix(length);
    }
    if (first == std::numeric_limits<std::int64_t>::max()) first = 0;
    m_result.zeroNs = m_request->zeroNs.value_or(m_result.clockBaseNs + first);
    m_mapper.emplace(
        *m_request->builder, m_result.account,
        TraceMapper::Setting{m_result.rank, m_result.clockBaseNs - m_result.zeroNs, worldSize()});
}

/// In place: what has no meaning in JSON text becomes spaces and question marks. Says which.
const char* KinetoReader::repairText(Event& event) {
    char* text = const_cast<char*>(event.text.data());  // of the window, which is ours
    for (std::size_t i = 0; i < event.text.size(); ++i)
        if (static_cast<unsigned char>(text[i]) < 0x20) text[i] = ' ';
    if (simdjson::validate_utf8(text, event.text.size()))
        return "control characters in a text, made blanks";
    for (std::size_t i = 0; i < event.text.size(); ++i)
        if (static_cast<unsigned char>(text[i]) >= 0x80) text[i] = '?';
    return "a text that is not UTF-8";
}

void KinetoReader::take(std::span<char> window) {
    std::string_view text(window.data(), window.size());
    const bool unicode = simdjson::validate_utf8(text.data(), text.size());
    while (const std::size_t length = readEvent(text, m_event)) {
        const bool sound =
            unicode || simdjson::validate_utf8(m_event.text.data(), m_event.text.size());
        const std::uint64_t kept = m_result.account.kept;
        const char* repair =
            sound && !m_event.flags.controlCharacter ? nullptr : repairText(m_event);
        m_mapper->add(m_event);
        if (repair != nullptr && m_result.account.kept > kept) m_result.account.repair(repair);
        text.remove_prefix(length);
    }
}

Result<ReaderResult> KinetoReader::read() {
    while (true) {
        auto window = m_stream.next();
        if (!window) return failure(window);
        if (!*window) break;
        if (!m_mapper) begin({(*window)->data(), (*window)->size()});
        take(**window);
        if (const auto& state = m_request->builder->state(); !state)
            return failure(state, m_request->title);
        if (m_request->progress && !m_request->progress(m_source->share()))
            return failure(ErrorCode::kCancelled, "the import was stopped");
    }
    if (!m_mapper) begin({});
    noteEnd();
    m_mapper->finish();
    describe();
    return m_result;
}

/// What is wrong with how the file ends.
void KinetoReader::noteEnd() {
    ImportAccount& account = m_result.account;
    const std::string fault = m_source->fault();
    if (m_stream.cutOff()) {
        ++account.read;
        account.reject(kCutOff);
    }
    if (!fault.empty() && !m_stream.cutOff()) {
        ++account.read;
        account.reject("an end that is no sound gzip");
    }
    if (!fault.empty())
        account.notes.push_back(m_request->title + " " + fault + "; what is whole was kept");
    else if (m_stream.cutOff())
        account.notes.push_back(m_request->title +
                                " ends before its JSON does; what is whole was kept");
    if (m_stream.trailingBytes() == 0) return;
    ++account.read;
    account.reject("data behind the end of the trace");
    account.notes.push_back(m_request->title + " goes on behind the end of its JSON: " +
                            std::to_string(m_stream.trailingBytes()) +
                            " bytes were left out; another trace there belongs into a file of its "
                            "own");
}

void KinetoReader::describe() {
    const auto rank = rankInFile();
    const auto base = baseInFile();
    const bool firstFile = !m_request->zeroNs;
    if (rank) m_result.stated.rank = RankId{static_cast<std::uint32_t>(*rank)};
    m_result.stated.clockBaseNs = base;
    if (base && firstFile) {
        // Of the first file only the wall clock of time 0 depends on it.
        m_result.zeroNs += *base - m_result.clockBaseNs;
        m_result.clockBaseNs = *base;
    }
    if (m_result.zeroNs >= kFirstWallClockNs) m_result.baseUnixNs = m_result.zeroNs;
    m_result.ended = m_mapper->ended();
    m_result.run.worldSize = static_cast<std::int32_t>(worldSize());
    m_result.run.startedUnixNs = m_result.baseUnixNs;
    m_result.run.librariesJson = librariesJson();
    m_result.run.configJson = configJson();
    m_result.run.ended = m_result.ended;
    for (const std::string& note : m_stream.notes()) m_result.account.notes.push_back(note);
    m_result.account.note(
        m_mapper->collectives().withoutOperation(),
        "communication kernels do not say that they are one of these operations: " +
            listOfWords<CollectiveOp>(", ") +
            ". They count as communication, but are no rows of collectives");
    describeDevice();
}

/// The device that the trace's kernels ran on, out of those its host has.
void KinetoReader::describeDevice() {
    RankFacts rank;
    rank.rank = m_result.rank;
    rank.pid = parseInteger(m_mapper->hostProcess()).value_or(0);
    rank.device = "cpu";
    rank.peakSource = "an imported trace does not say it";
    if (const std::string host = textOf(metadata("host_name")); !host.empty()) {
        // Which ranks share a host is known by name only, and each file names one.
        HostFacts facts;
        facts.host = rank.host = static_cast<std::int32_t>(m_result.rank.value);
        facts.name = host;
        m_request->builder->addHost(facts);
    }
    const std::string& used = m_mapper->device();
    const std::string devices = metadata("deviceProperties");
    DeviceFacts device;
    device.rank = m_result.rank;
    device.tracing = "the PyTorch profiler";
    device.vendorPeakSource = device.measuredPeakSource = rank.peakSource;
    std::string_view rest = devices;
    while (!used.empty() && rest.find('{') != std::string_view::npos) {
        rest.remove_prefix(rest.find('{'));
        std::vector<Member> members;
        TextFlags flags;
        const char* after = readMembers(rest.data(), rest.data() + rest.size(), members, flags);
        if (after == nullptr) break;
        if (valueOf(members, "id") == used) {
            device.name = textOf(valueOf(members, "name"));
            device.memory = {std::clamp<std::int64_t>(
                parseInteger(valueOf(members, "totalGlobalMem")).value_or(0), 0,
                std::int64_t{1} << 50)};
        }
        rest.remove_prefix(static_cast<std::size_t>(after - rest.data()));
    }
    if (!used.empty()) {
        // ROCm's tracer leaves it blank.
        const bool named = device.name.find_first_not_of(" \t") != std::string::npos;
        rank.device = named ? device.name + " (GPU " + used + ")" : "GPU " + used;
        if (!named) device.name = rank.device;
        m_request->builder->putDevice(device);
    }
    m_request->builder->putRank(rank);
}

std::string KinetoReader::librariesJson() const {
    std::string json = "{";
    for (const char* key : {"cuda_runtime_version", "cuda_driver_version", "cupti_version",
                            "hip_runtime_version", "hip_driver_version", "roctracer_version"}) {
        const std::string value = metadata(key);
        if (value.empty() || !isSound(value)) continue;
        if (json.size() > 1) json += ',';
        json += jsonString(key) + ":" + (isString(value) ? value : "\"" + value + "\"");
    }
    return json + "}";
}

/// Everything the file says beside its events, and which lane stands for which pid and tid: what
/// an exporter needs to write the trace again.
std::string KinetoReader::configJson() const {
    std::string json = "{\"imported\":\"kineto\",\"rank\":" + std::to_string(m_result.rank.value) +
                       ",\"metadata\":{";
    bool first = true;
    for (const auto& [key, value] : m_stream.metadata()) {
        const std::string dense = minified(value);
        const std::string name = "\"" + key + "\"";
        if (dense.empty() || !isSound(dense) || !isSound(name)) continue;
        if (!first) json += ',';
        first = false;
        json += name + ":" + dense;
    }
    return json + "},\"zero_ns\":" + std::to_string(m_result.zeroNs) +
           ",\"lanes\":" + m_mapper->lanes().toJson() +
           ",\"counters\":" + m_mapper->lanes().countersToJson() +
           ",\"flows\":\"events\",\"metadata_events\":[" + m_mapper->metadataEvents() + "]}";
}

}  // namespace
}  // namespace kineto

Result<ReaderResult> readKineto(const ReaderRequest& request) {
    auto source = openBytes(request.path, request.title, CutGzip::kSalvaged);
    if (!source) return failure(source);
    return kineto::KinetoReader(request, **source).read();
}

}  // namespace shardscope::interchange
