// One Kineto trace into a builder: windows of events, metadata, and where its clock begins.
#include "storage/interchange/byte_source.h"
#include "storage/interchange/decimal.h"
#include "storage/interchange/import.h"
#include "storage/interchange/kineto/in/event_stream.h"
#include "storage/interchange/kineto/in/trace_router.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"

#include <simdjson.h>

#include <algorithm>
#include <memory>
#include <utility>

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
    void noteLayout();
    [[nodiscard]] std::string processOf() const;
    void describeRank(const TraceMapper& mapper, const std::string& process);
    [[nodiscard]] DeviceFacts deviceFacts(const TraceMapper& mapper) const;
    [[nodiscard]] std::string librariesJson() const;
    [[nodiscard]] std::string configJson(const TraceMapper& mapper) const;

    const ReaderRequest* m_request;
    ByteSource* m_source;
    EventStream m_stream;
    ReaderResult m_result;
    std::optional<TraceRouter> m_router;
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
    const bool stated = rankInFile().has_value();
    TraceStart start = startOf(window, m_request->layout.get(), stated, worldSize());
    m_result.zeroNs = m_request->zeroNs.value_or(m_result.clockBaseNs + start.firstNs);
    TraceRouter::Setting setting;
    setting.rank = m_result.rank;
    setting.shiftNs = m_result.clockBaseNs - m_result.zeroNs;
    setting.firstNs = start.firstNs;
    setting.firstStep = m_request->firstStep;
    setting.withoutDevices = metadata("deviceProperties") == "[]";
    m_router.emplace(*m_request->builder, m_result.account, setting, std::move(start.layout));
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
        m_router->add(m_event);
        if (repair != nullptr && m_result.account.kept > kept) m_result.account.repair(repair);
        text.remove_prefix(length);
    }
}

Result<ReaderResult> KinetoReader::read() {
    while (true) {
        auto window = m_stream.next();
        if (!window) return failure(window);
        if (!*window) break;
        if (!m_router) begin({(*window)->data(), (*window)->size()});
        take(**window);
        if (const auto& state = m_request->builder->state(); !state)
            return failure(state, m_request->title);
        if (m_request->progress && !m_request->progress(m_source->share()))
            return failure(ErrorCode::kCancelled, "the import was stopped");
    }
    if (!m_router) begin({});
    noteEnd();
    m_router->finish();
    noteLayout();
    describe();
    return m_result;
}

/// What is wrong with how the file ends.
void KinetoReader::noteEnd() {
    ImportAccount& account = m_result.account;
    const std::string fault = m_source->fault();
    for (std::uint64_t i = 0; i < m_stream.malformed(); ++i) {
        ++account.read;
        account.reject(kMalformed);
    }
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
    m_result.ended = m_router->ended();
    m_result.run.worldSize = static_cast<std::int32_t>(worldSize());
    m_result.run.startedUnixNs = m_result.baseUnixNs;
    m_result.run.librariesJson = librariesJson();
    m_result.run.ended = m_result.ended;
    for (const std::string& note : m_stream.notes()) m_result.account.notes.push_back(note);
    std::uint64_t without = 0;
    const auto& mappers = m_router->mappers();
    for (std::size_t place = 0; place < mappers.size(); ++place) {
        const TraceMapper& mapper = mappers[place];
        std::string& json = m_result.run.configJson;
        json.append(json.empty() ? "" : ",") += configJson(mapper);
        without += mapper.collectives().withoutOperation();
        describeRank(mapper, mappers[m_router->layout().ranks[place].first].hostProcess());
    }
    m_result.account.note(
        without, "communication kernels do not say that they are one of these operations: " +
                     listOfWords<CollectiveOp>(", ") +
                     ". They count as communication, but are no rows of collectives");
}

/// Traces of one process have its number, and the name of its host where they say it.
std::string KinetoReader::processOf() const {
    const std::string& pid = m_router->mappers().front().hostProcess();
    const auto number = parseInteger(pid);
    if (!number || *number <= 0) return {};
    return textOf(metadata("host_name")) + "/" + pid;
}

/// Whose rows are whose is known for sure at the end only.
void KinetoReader::noteLayout() {
    auto found =
        std::make_shared<const RankLayout>(m_router->found(rankInFile().has_value(), worldSize()));
    m_result.misread = m_request->layout == nullptr && m_router->isMisread(*found);
    m_result.stated.layout = m_request->layout != nullptr ? m_request->layout : std::move(found);
    m_result.process = processOf();
    const auto& mappers = m_router->mappers();
    for (const TraceMapper& mapper : mappers)
        if (mapper.rank() != m_result.rank) m_result.moreRanks.push_back(mapper.rank());
    if (mappers.size() > 1)
        m_result.account.notes.push_back(m_request->title + " has " +
                                         std::to_string(mappers.size()) +
                                         " devices: each became a rank of its own");
}

DeviceFacts KinetoReader::deviceFacts(const TraceMapper& mapper) const {
    DeviceFacts device;
    device.rank = mapper.rank();
    device.tracing = "the PyTorch profiler";
    device.name = m_router->layout().rows.nameOf(mapper.device());
    const std::string devices = metadata("deviceProperties");
    std::string_view rest = devices;
    while (rest.find('{') != std::string_view::npos) {
        rest.remove_prefix(rest.find('{'));
        std::vector<Member> members;
        TextFlags flags;
        const char* after = readMembers(rest.data(), rest.data() + rest.size(), members, flags);
        if (after == nullptr) break;
        if (valueOf(members, "id") == mapper.device()) {
            device.name = textOf(valueOf(members, "name"));
            device.memory = {std::clamp<std::int64_t>(
                parseInteger(valueOf(members, "totalGlobalMem")).value_or(0), 0,
                std::int64_t{1} << 50)};
        }
        rest.remove_prefix(static_cast<std::size_t>(after - rest.data()));
    }
    // ROCm's tracer leaves it blank.
    if (device.name.find_first_not_of(" \t") == std::string::npos) device.name.clear();
    return device;
}

/// A rank, and the device that its kernels ran on, out of those its host has.
void KinetoReader::describeRank(const TraceMapper& mapper, const std::string& process) {
    RankFacts rank;
    rank.rank = mapper.rank();
    rank.pid = parseInteger(process).value_or(0);
    rank.device = "cpu";
    rank.peakSource = "an imported trace does not say it";
    if (const std::string host = textOf(metadata("host_name")); !host.empty()) {
        // Which ranks share a host is known by name only, and each file names one.
        HostFacts facts;
        facts.host = rank.host = static_cast<std::int32_t>(m_result.rank.value);
        facts.name = host;
        if (rank.rank == m_result.rank) m_request->builder->addHost(facts);
    }
    if (!mapper.device().empty()) {
        DeviceFacts device = deviceFacts(mapper);
        const bool numbered = m_router->layout().rows.nameOf(mapper.device()).empty();
        const std::string number = numbered ? "GPU " + mapper.device() : device.name;
        rank.device = device.name.empty() || !numbered ? number : device.name + " (" + number + ")";
        // Of several of one kind each says which it is.
        if (device.name.empty() || m_router->mappers().size() > 1) device.name = rank.device;
        device.vendorPeakSource = device.measuredPeakSource = rank.peakSource;
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
std::string KinetoReader::configJson(const TraceMapper& mapper) const {
    std::string json =
        "{\"imported\":\"kineto\",\"rank\":" + std::to_string(mapper.rank().value) +
        (mapper.rank() == m_result.rank ? std::string()
                                        : ",\"part_of\":" + std::to_string(m_result.rank.value)) +
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
           ",\"lanes\":" + mapper.lanes().toJson() +
           ",\"counters\":" + mapper.lanes().countersToJson() +
           ",\"flows\":\"events\",\"metadata_events\":[" + mapper.metadataEvents() + "]}";
}

}  // namespace
}  // namespace kineto

bool hasTraceEvents(const std::string& path) {
    const auto source = openBytes(path, path, CutGzip::kSalvaged);
    return source && kineto::EventStream(**source, path).next();
}

Result<ReaderResult> readKineto(const ReaderRequest& request) {
    auto source = openBytes(request.path, request.title, CutGzip::kSalvaged);
    if (!source) return failure(source);
    return kineto::KinetoReader(request, **source).read();
}

}  // namespace shardscope::interchange
