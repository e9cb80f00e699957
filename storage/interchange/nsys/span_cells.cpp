#include "storage/interchange/nsys/span_cells.h"

#include "storage/interchange/nsys/arguments.h"

#include <charconv>
#include <cmath>

namespace shardscope::interchange::nsys {
namespace {

constexpr std::int64_t kMostCorrelation = 0xFFFF'FFFF;

std::optional<std::int64_t> integerIn(std::string_view value) {
    std::int64_t number = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
    if (value.empty() || parsed.ec != std::errc() || parsed.ptr != value.data() + value.size())
        return std::nullopt;
    return number;
}

/// "Memcpy HtoD (Pinned -> Device)" of PyTorch's profiler.
std::optional<std::int64_t> copyKindIn(std::string_view name) {
    if (name.starts_with("copy "))
        if (const auto id = idOf(copyKinds(), name.substr(5))) return id;
    constexpr std::pair<std::string_view, std::int64_t> kShort[] = {
        {"HtoD", 1}, {"DtoH", 2}, {"HtoA", 3}, {"AtoH", 4}, {"AtoA", 5},
        {"AtoD", 6}, {"DtoA", 7}, {"DtoD", 8}, {"HtoH", 9}, {"PtoP", 10}};
    if (name.starts_with("Memcpy "))
        for (const auto& [word, id] : kShort)
            if (name.substr(7).starts_with(word)) return id;
    return std::nullopt;
}

/// "wait for stream", "Stream Sync", "Stream Wait Event"
std::optional<std::int64_t> syncTypeIn(std::string_view name) {
    if (name.starts_with("wait for ")) return idOf(syncTypes(), name.substr(9));
    constexpr std::pair<std::string_view, std::int64_t> kKineto[] = {
        {"Event Sync", 1}, {"Stream Wait", 2}, {"Stream Sync", 3}, {"Context Sync", 4}};
    for (const auto& [word, id] : kKineto)
        if (name.starts_with(word)) return id;
    return idOf(syncTypes(), name);
}

/// "Pinned", as PyTorch's profiler writes it in a copy's name.
std::optional<std::int64_t> memoryIn(const Field& field, std::string_view name) {
    const std::size_t open = name.find('('), arrow = name.find(" -> ");
    if (open == std::string_view::npos || arrow == std::string_view::npos || name.back() != ')')
        return std::nullopt;
    const std::string_view word = field.key == "from"
                                      ? name.substr(open + 1, arrow - open - 1)
                                      : name.substr(arrow + 4, name.size() - arrow - 5);
    for (const Word& each : field.words)
        if (each.label == word) return each.id;
    return std::nullopt;
}

/// Without template arguments and namespaces: what nsys calls the short name.
std::string_view shortNameOf(std::string_view name) {
    std::string_view front = name.substr(0, name.find_first_of("<("));
    if (const std::size_t space = front.rfind(' '); space != std::string_view::npos)
        front.remove_prefix(space + 1);
    if (const std::size_t colon = front.rfind("::"); colon != std::string_view::npos)
        front.remove_prefix(colon + 2);
    return front.empty() ? name : front;
}

}  // namespace

void Arguments::parse(std::string_view json) {
    m_members.clear();
    m_next = 0;
    TextFlags flags;
    if (!json.empty() &&
        readMembers(json.data(), json.data() + json.size(), m_members, flags) == nullptr)
        m_members.clear();
}

std::string_view Arguments::find(std::string_view key) const {
    if (key.empty()) return {};
    for (std::size_t i = 0; i < m_members.size(); ++i) {
        const std::size_t at = (m_next + i) % m_members.size();
        if (m_members[at].key != key) continue;
        m_next = at + 1;
        return m_members[at].value;
    }
    return {};
}

std::optional<std::int64_t> Arguments::integer(std::string_view key) const {
    return integerIn(find(key));
}

void SpanCells::begin(std::string_view arguments) {
    m_arguments.parse(arguments);
    m_scratch.clear();
    m_cells.clear();
    ++m_rows;
}

void SpanCells::add(LaneTarget target, const SpanEvent& span, std::string_view name,
                    std::string_view arguments) {
    begin(arguments);
    if (target.kind == LaneTarget::Kind::kTable) {
        target.activity = activityOf(target, name);
        addRow(target, span, name);
    } else {
        addNvtx(target, span.range(), nvtxType(target, span), name, arguments);
    }
}

void SpanCells::add(const LaneTarget& target, const InstantEvent& instant, std::string_view name,
                    std::string_view arguments) {
    begin(arguments);
    addNvtx(target, {instant.time, instant.time}, nvtx::kMark, name, arguments);
}

/// Lanes of our own carry copies and sets, kernels and graphs, calls and the tracer's own work.
Activity SpanCells::activityOf(const LaneTarget& target, std::string_view name) const {
    if (target.ofExport) return target.activity;
    switch (target.activity) {
        case Activity::kMemcpy:
            return name == "set memory" || name.starts_with("Memset") ? Activity::kMemset
                                                                      : Activity::kMemcpy;
        case Activity::kKernel:
            return name == "CUDA graph" && m_arguments.find("grid").empty() ? Activity::kGraphTrace
                                                                            : Activity::kKernel;
        case Activity::kRuntime:
            for (const Field& field : specOf(Activity::kOverhead).fields)
                if (idOf(field.words, name)) return Activity::kOverhead;
            return Activity::kRuntime;
        default:
            return target.activity;
    }
}

/// The whole name of a kernel, and a call's with the version that the export gives it.
std::string_view SpanCells::rowName(Activity activity, std::string_view name) {
    if (activity == Activity::kKernel)
        if (const std::string_view whole = m_arguments.find("kernel"); isString(whole))
            return m_scratch.emplace_back(interchange::textOf(whole));
    if (activity == Activity::kRuntime)
        if (const std::string_view version = m_arguments.find("version"); !version.empty())
            return m_scratch.emplace_back(std::string(name) + "_v" + std::string(version));
    return name;
}

void SpanCells::addRow(const LaneTarget& target, const SpanEvent& span, std::string_view name) {
    const TableSpec& spec = specOf(target.activity);
    m_cells.emplace_back(span.start.ns);
    if (!spec.instant) m_cells.emplace_back(span.end().ns);
    m_cells.emplace_back(spec.ofProcess ? target.globalPid : target.globalTid);
    if (spec.correlated) {
        const bool known = target.correlated && span.correlation > 0 &&
                           span.correlation <= static_cast<std::uint64_t>(kMostCorrelation);
        const auto own = m_arguments.integer("correlationId");
        m_cells.push_back(known ? Cell(static_cast<std::int64_t>(span.correlation))
                          : own ? Cell(*own)
                                : Cell());
    }
    if (spec.ofProcess) {
        const auto device = m_arguments.integer("device").value_or(target.device);
        m_cells.emplace_back(m_arguments.integer(kDeviceOfRow).value_or(device));
        m_cells.emplace_back(m_arguments.integer("context").value_or(1));
        m_cells.emplace_back(m_arguments.integer("stream").value_or(target.stream));
    }
    if (!spec.nameColumn.empty())
        m_cells.emplace_back(m_database->textId(rowName(target.activity, name)));
    for (const Field& field : spec.fields) addField(field, name);
    m_database->insert(spec.table, m_cells);
}

void SpanCells::addField(const Field& field, std::string_view name) {
    std::string_view value = m_arguments.find(field.key);
    if (value.empty()) value = m_arguments.find(field.otherKey);
    switch (field.form) {
        case Form::kInteger:
            m_cells.push_back(integerCell(field, name));
            return;
        case Form::kReal: {
            double number = 0;
            const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
            const bool good = !value.empty() && parsed.ec == std::errc() && std::isfinite(number);
            m_cells.push_back(good ? Cell(number) : Cell());
            return;
        }
        case Form::kText:
            if (value.empty())
                m_cells.push_back(field.required ? Cell(std::string_view("[]")) : Cell());
            else
                m_cells.push_back(textCell(value));
            return;
        case Form::kString:
            if (isString(value))
                m_cells.emplace_back(m_database->textId(interchange::textOf(value)));
            else
                m_cells.push_back(field.required ? Cell(m_database->textId(shortNameOf(name)))
                                                 : Cell());
            return;
        case Form::kTriple:
            break;
    }
    std::int64_t parts[3] = {0, 0, 0};
    const char* at = value.data();
    const char* const end = at + value.size();
    for (std::int64_t& part : parts) {
        if (at == nullptr || at == end) break;
        at = std::from_chars(at + 1, end, part).ptr;  // past the bracket or comma
    }
    for (const std::int64_t part : parts)
        m_cells.push_back(value.empty() && !field.required ? Cell() : Cell(part));
}

Cell SpanCells::integerCell(const Field& field, std::string_view name) const {
    std::string_view value = m_arguments.find(field.key);
    if (value.empty()) value = m_arguments.find(field.otherKey);
    std::optional<std::int64_t> number = integerIn(value);
    if (!number && isString(value)) number = idOf(field.words, value.substr(1, value.size() - 2));
    if (!number && value.empty()) {
        if (field.column == "copyKind") number = copyKindIn(name);
        if (field.column == "syncType") number = syncTypeIn(name);
        if (field.column == "overheadType") number = idOf(field.words, name);
        if (field.column == "srcKind" || field.column == "dstKind") number = memoryIn(field, name);
        if (field.column == "dynamicSharedMemory" &&
            m_arguments.find("static_shared_bytes").empty())
            number = m_arguments.integer("shared_bytes");
        if (!number && field.column == "dynamicSharedMemory")
            number = m_arguments.integer("shared memory");
    }
    if (number) return *number;
    return field.required ? Cell(std::int64_t{0}) : Cell();
}

Cell SpanCells::textCell(std::string_view value) {
    if (!isString(value)) return std::string_view(m_scratch.emplace_back(value));
    return std::string_view(m_scratch.emplace_back(interchange::textOf(value)));
}

void SpanCells::addNaming(const LaneTarget& target, Timestamp time, std::int64_t type,
                          std::int64_t domain, Cell category, std::string_view name) {
    std::vector<Cell> cells = {time.ns, Cell(), type, target.globalTid, Cell(), name, Cell()};
    for (const Field& field : nvtxFields())
        cells.push_back(field.column == "domainId"   ? Cell(domain)
                        : field.column == "category" ? category
                                                     : Cell());
    m_database->insert("NVTX_EVENTS", cells);
}

void SpanCells::nameDomain(const LaneTarget& target, Timestamp time) {
    const std::int64_t domain = m_arguments.integer("domain").value_or(0);
    const std::int64_t process = target.globalTid & ~std::int64_t{0xFFFFFF};
    const auto name = target.domains->find(domain);
    if (name != target.domains->end() && m_named.insert({process, domain, -1}).second)
        addNaming(target, time, nvtx::kDomainCreate, domain, {}, name->second);
    const auto category = m_arguments.integer("category");
    const std::string_view text = m_arguments.find("category_name");
    if (category && isString(text) && m_named.insert({process, domain, *category}).second)
        addNaming(target, time, nvtx::kCategory, domain, *category, interchange::textOf(text));
}

std::int64_t SpanCells::nvtxType(const LaneTarget& target, const SpanEvent& span) const {
    const std::string_view kind = m_arguments.find("nvtx");
    // Marks in recordings of format 1 are spans.
    if (target.ofExport ? kind == "\"mark\"" : span.duration.ns == 0) return nvtx::kMark;
    return kind == "\"start/end range\"" ? nvtx::kStartEnd : nvtx::kPushPop;
}

void SpanCells::addNvtx(const LaneTarget& target, TimeRange range, std::int64_t type,
                        std::string_view name, std::string_view arguments) {
    if (target.ofExport) nameDomain(target, range.begin);
    const bool startEnd = type == nvtx::kStartEnd;
    m_cells.emplace_back(range.begin.ns);
    m_cells.push_back(type == nvtx::kMark ? Cell() : Cell(range.end.ns));
    m_cells.emplace_back(type);
    m_cells.emplace_back(target.globalTid);
    const auto endThread = m_arguments.integer("end_thread");
    m_cells.push_back(startEnd ? Cell((target.globalTid & ~std::int64_t{0xFFFFFF}) |
                                      endThread.value_or(target.globalTid & 0xFFFFFF))
                               : Cell());
    if (target.ofExport)
        m_cells.emplace_back(
            std::string_view(m_scratch.emplace_back(joinEmitted(name, m_arguments.members()))));
    else
        m_cells.emplace_back(name);
    m_cells.emplace_back();
    if (!target.ofExport) {
        // What another tool said of it, whole.
        m_arguments.parse({});
        for (const Field& field : nvtxFields())
            m_cells.push_back(field.column == "jsonText" && !arguments.empty()
                                  ? Cell(std::string_view(m_scratch.emplace_back(arguments)))
                              : field.column == "domainId" ? Cell(std::int64_t{0})
                                                           : Cell());
    } else {
        for (const Field& field : nvtxFields()) {
            addField(field, name);
            if (field.column == "domainId" &&
                std::holds_alternative<std::monostate>(m_cells.back()))
                m_cells.back() = std::int64_t{0};
        }
    }
    m_database->insert("NVTX_EVENTS", m_cells);
}

}  // namespace shardscope::interchange::nsys
