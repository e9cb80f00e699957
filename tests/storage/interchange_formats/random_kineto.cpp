#include "tests/storage/interchange_formats/random_kineto.h"

#include "storage/interchange/decimal.h"

#include <cmath>
#include <random>
#include <set>
#include <sstream>

namespace shardscope::test {
namespace {

using Json = nlohmann::json;

/// 1e5 and 100000 are the same number.
void equalise(Json& value) {
    if (value.is_number_float()) {
        const double number = value.get<double>();
        if (std::abs(number) < 0x1p53 && number == std::floor(number))
            value = static_cast<std::int64_t>(number);
    }
    if (value.is_structured())
        for (Json& element : value) equalise(element);
}

std::string textOfId(const Json& id) {
    return id.is_string() ? id.get<std::string>() : id.dump();
}

/// What an event must say, with times in ns.
std::string canonical(Json event, std::int64_t ns, std::int64_t durationNs) {
    event["pid"] = textOfId(event["pid"]);
    event["tid"] = textOfId(event["tid"]);
    event.erase("ts");
    event.erase("dur");
    event["ns"] = ns;
    const std::string phase = event["ph"];
    if (phase == "X") event["duration"] = durationNs;
    if (phase == "C") event.erase("tid");
    if (phase == "i" && event["name"] == "[memory]") {
        event.erase("pid");
        event.erase("tid");
    }
    if (phase == "X" && !event.contains("cat")) event["cat"] = "";
    if (phase == "X" && !event.contains("args")) event["args"] = Json::object();
    equalise(event);
    return event.dump();
}

class Maker {
public:
    explicit Maker(std::uint32_t seed) : m_random(seed) {}

    RandomKineto make() {
        m_base = chance(2) ? std::int64_t{1'700'000'000} * 1'000'000'000 : 0;
        // Either small times, or microseconds of the wall clock: beyond what a double holds.
        m_origin = chance(2) ? 0 : std::int64_t{1'700'000'123} * 1'000'000'000;
        const int count = number(1, 250);
        for (int i = 0; i < count; ++i) one();
        RandomKineto trace;
        trace.text = "{";
        if (m_base > 0)
            trace.text.append("\"baseTimeNanoseconds\": ")
                .append(std::to_string(m_base))
                .append(",");
        trace.text.append("\"schemaVersion\": 1, \"traceEvents\": [").append(m_text).append("]}");
        trace.events = std::move(m_events);
        return trace;
    }

private:
    int number(int least, int most) {
        return std::uniform_int_distribution<int>(least, most)(m_random);
    }
    bool chance(int of) { return number(1, of) == 1; }
    template <class List>
    auto oneOf(const List& list) {
        return list[static_cast<std::size_t>(number(0, static_cast<int>(std::size(list)) - 1))];
    }

    /// JSON texts.
    std::string anyString() {
        const char* const kStrings[] = {R"("")",          R"("a")",           R"("stream 7")",
                                        R"("ünïcode ✓")", R"("\u00e9")",      R"("\ud83d\ude00")",
                                        R"("q\"b\\s\/")", R"("tab\tline\n")", R"("[1,2]")",
                                        R"("{\"a\":1}")", R"("0.10")",        R"("NaN")"};
        return oneOf(kStrings);
    }
    std::string anyNumber() {
        const char* const kNumbers[] = {"0",        "-1",
                                        "7",        "0.10",
                                        "1e5",      "-2.5E-7",
                                        "3.14",     "9007199254740993",
                                        "1e22",     "18446744073709551615",
                                        "-0.5",     "-9223372036854775808",
                                        "1234.500", "123456789012345678901234567890"};
        if (chance(3)) return std::to_string(number(-100000, 100000));
        return oneOf(kNumbers);
    }
    std::string anyValue(int depth) {
        switch (number(0, depth > 2 ? 4 : 6)) {
            case 0:
            case 1:
                return anyNumber();
            case 2:
                return anyString();
            case 3:
                return chance(2) ? "true" : "false";
            case 4:
                return "null";
            case 5: {
                std::string list = "[";
                for (int i = number(0, 4); i > 0; --i)
                    list.append(list.size() > 1 ? "," : "").append(anyValue(depth + 1));
                return list + "]";
            }
            default:
                return anyObject(depth + 1);
        }
    }
    std::string anyObject(int depth, const std::string& first = {}) {
        std::string object = "{" + first;
        for (int i = number(0, 5); i > 0; --i) {
            // Numbered, because a key that is there twice has no meaning.
            const std::string key = anyString();
            object.append(object.size() > 1 ? ", " : "").append(key, 0, key.size() - 1);
            object.append(std::to_string(i)).append("\": ").append(anyValue(depth));
        }
        return object + "}";
    }

    std::string anyId() {
        const char* const kIds[] = {"0",        "1",          "7",         "25772",
                                    "-1",       R"("Spans")", R"("")",     R"("stream 7")",
                                    R"("007")", R"("é\"q")",  "4294967296"};
        return oneOf(kIds);
    }

    /// A time as text in one of the ways traces write it.
    std::string microseconds(std::int64_t ns) {
        std::string text = std::to_string(ns / 1000);
        const std::int64_t rest = ns % 1000;
        if (rest == 0 && chance(2)) return text;
        const std::string digits = std::to_string(1000 + rest).substr(1);
        text += "." + digits;
        if (chance(4))
            while (text.back() == '0' && text[text.size() - 2] != '.') text.pop_back();
        return text;
    }
    std::int64_t anyTime() {
        const std::int64_t ns = m_origin + number(1000, 2'000'000'000);
        return chance(3) ? ns / 1000 * 1000 : ns;
    }

    void put(const std::string& event) { m_text.append(m_text.empty() ? "" : ",\n").append(event); }

    struct Place {
        std::string pid, tid;
        std::int64_t ns = 0;
    };
    /// What is the same in an event as it is written and as it is to come back.
    static Json base(const char* phase, const std::string& name, const Place& place) {
        return {{"ph", phase},
                {"name", Json::parse(name)},
                {"pid", Json::parse(place.pid)},
                {"tid", Json::parse(place.tid)}};
    }
    std::string head(const char* phase, const std::string& name, const Place& place) {
        return std::string("{\"ph\": \"") + phase + "\", \"name\": " + name +
               ", \"pid\": " + place.pid + ", \"tid\": " + place.tid +
               ", \"ts\": " + microseconds(place.ns);
    }
    void expect(const Json& event, std::int64_t ns, std::int64_t durationNs = 0) {
        m_events.push_back(canonical(event, ns, durationNs));
    }

    void one() {
        switch (number(0, 9)) {
            case 0:
            case 1:
            case 2:
                return complete();
            case 3:
                return launch();
            case 4:
                return forwardAndBackward();
            case 5:
                return instant();
            case 6:
                return chance(2) ? counter() : metadata();
            case 7:
                return beginAndEnd();
            case 8:
                return looseFlow();
            default:
                return memory();
        }
    }

    Place anywhere() { return {anyId(), anyId(), anyTime()}; }

    Place writeComplete(const std::string& category, const std::string& today,
                        const std::string& name, const Place& place, const std::string& arguments) {
        const std::int64_t duration = chance(5) ? 0 : number(0, 3'000'000);
        std::string text = head("X", name, place) + ", \"dur\": " + microseconds(duration);
        Json event = base("X", name, place);
        if (!category.empty()) text += ", \"cat\": \"" + category + "\"";
        event["cat"] = today;
        if (!arguments.empty()) {
            text += ", \"args\": " + arguments;
            event["args"] = Json::parse(arguments);
        }
        put(text + "}");
        expect(event, place.ns, duration);
        return place;
    }

    void complete() {
        const std::pair<const char*, const char*> kCategories[] = {
            {"cpu_op", "cpu_op"},
            {"user_annotation", "user_annotation"},
            {"python_function", "python_function"},
            {"gpu_user_annotation", "gpu_user_annotation"},
            {"cuda_sync", "cuda_sync"},
            {"cuda_event", "cuda_event"},
            {"overhead", "overhead"},
            {"Trace", "Trace"},
            {"mtia_ccp_events", "mtia_ccp_events"},
            {"hpu_op", "hpu_op"},
            {"collective_comm", "collective_comm"},
            {"xpu_runtime", "xpu_runtime"},
            {"xpu_driver", "xpu_driver"},
            {"privateuse1_runtime", "privateuse1_runtime"},
            {"external_correlation", "external_correlation"},
            {"glow_runtime", "glow_runtime"},
            {"Operator", "cpu_op"},
            {"Memcpy", "gpu_memcpy"},
            {"Memset", "gpu_memset"},
            {"Kernel", "kernel"},
            {"kernel", "kernel"},
            {"gpu_memcpy", "gpu_memcpy"},
            {"a new one", "a new one"},
            {"", ""}};
        const auto [category, today] = oneOf(kCategories);
        const std::string arguments = chance(6) ? "" : chance(5) ? "{}" : anyObject(0);
        writeComplete(category, today, anyString(), anywhere(), arguments);
    }

    void flow(const char* phase, const char* category, const std::string& id, const Place& place) {
        const std::string name = std::string("\"") + category + "\"";
        std::string text = head(phase, name, place) + ", \"id\": " + id + ", \"cat\": " + name;
        Json event = base(phase, name, place);
        event["id"] = Json::parse(id);
        event["cat"] = category;
        if (chance(5)) {
            const std::string arguments = anyObject(0);
            text += ", \"args\": " + arguments;
            if (const Json object = Json::parse(arguments); !object.empty()) event["args"] = object;
        }
        if (*phase == 'f' && !chance(4)) {
            text += ", \"bp\": \"e\"";
            event["bp"] = "e";
        }
        put(text + "}");
        expect(event, place.ns);
    }

    void launch() {
        const std::string id = std::to_string(++m_correlation);
        const std::string correlation = "\"correlation\": " + id;
        const bool launched = !chance(4), ran = !chance(4);
        if (launched) {
            const std::string category = chance(4) ? "cuda_driver" : "cuda_runtime";
            const Place place = writeComplete(category, category, R"("cudaLaunchKernel")",
                                              anywhere(), "{" + correlation + R"(, "cbid": 211})");
            if (chance(2) || ran) flow("s", "ac2g", id, place);
        }
        if (!ran) return;
        const char* const kNames[] = {R"("ncclDevKernel_AllReduce_Sum_f32_RING_LL")",
                                      R"("void gemm<float, 4>")"};
        const Place place =
            writeComplete("kernel", "kernel", oneOf(kNames), anywhere(),
                          anyObject(0, correlation + R"(, "stream": 7, "grid": [1, 2, 3])"));
        if (launched || chance(2)) flow("f", "ac2g", id, place);
    }
    void forwardAndBackward() {
        const std::string id = std::to_string(++m_flow);
        for (const char* phase : {"s", "f"}) {
            if (chance(5)) continue;
            const Place place =
                writeComplete("cpu_op", "cpu_op", anyString(), anywhere(), anyObject(0));
            flow(phase, "fwdbwd", id, place);
        }
    }

    /// Binds to nothing: nothing begins when it does.
    void looseFlow() {
        metadata();
        const Place place{R"("nowhere")", "3", anyTime()};
        const char* const kPhases[] = {"s", "t", "f"};
        const std::string id = chance(3) ? R"("0x)" + std::to_string(number(1, 99)) + '"'
                                         : std::to_string(number(0, 99));
        flow(oneOf(kPhases), chance(2) ? "async" : "ac2g", id, place);
    }

    void instant() {
        const Place place = anywhere();
        const std::string name = anyString();
        const char* const kScopes[] = {"t", "p", "g"};
        const std::string scope = oneOf(kScopes);
        std::string text = head(chance(3) ? "I" : "i", name, place) + ", \"s\": \"" + scope + "\"";
        Json event = base("i", name, place);
        event["s"] = scope;
        if (chance(2)) {
            const char* const kCategories[] = {"cpu_instant_event", "cpu_op", "anything"};
            const std::string category = oneOf(kCategories);
            text += ", \"cat\": \"" + category + "\"";
            event["cat"] = category;
        }
        const std::string arguments = anyObject(0);
        event["args"] = Json::parse(arguments);
        put(text + ", \"args\": " + arguments + "}");
        expect(event, place.ns);
    }

    void counter() {
        const Place place = anywhere();
        const std::string name = anyString();
        std::string arguments;
        for (const char* series : {"W", "", "é"}) {
            if (chance(2)) continue;
            const std::string value = chance(2) ? std::to_string(number(-5, 5)) : "0.10";
            arguments.append(arguments.empty() ? "\"" : ", \"").append(series);
            arguments.append("\": ").append(value);
            Json event = base("C", name, place);
            event["args"] = {{series, Json::parse(value)}};
            expect(event, place.ns);
        }
        if (!arguments.empty()) put(head("C", name, place) + ", \"args\": {" + arguments + "}}");
    }

    void metadata() {
        const Place place{anyId(), anyId(), 0};
        const char* const kNames[] = {R"("process_name")", R"("process_labels")",
                                      R"("thread_name")", R"("thread_sort_index")"};
        const std::string name = oneOf(kNames);
        const std::string arguments = R"({"name": )" + anyString() + R"(, "labels": "CPU"})";
        Json event = base("M", name, place);
        event["args"] = Json::parse(arguments);
        const std::string text = head("M", name, place) + ", \"args\": " + arguments + "}";
        put(text);
        // What repeats is kept once.
        if (m_metadata.insert(text).second) expect(event, 0);
    }

    void beginAndEnd() {
        Place place = anywhere();
        place.pid = std::to_string(9000 + ++m_correlation);  // nothing else ends there
        const std::string name = anyString();
        const std::string arguments = anyObject(0);
        Json event = base("X", name, place);
        event["cat"] = "cpu_op";
        event["args"] = Json::parse(arguments);
        const std::int64_t duration = number(0, 1'000'000);
        put(head("B", name, place) + ", \"cat\": \"cpu_op\", \"args\": " + arguments + "}");
        Place end = place;
        end.ns += duration;
        put(head("E", name, end) + "}");
        expect(event, place.ns, duration);
    }

    void memory() {
        const bool host = chance(2);
        const Place place = anywhere();
        const std::int64_t bytes = number(1, 1 << 20) * (chance(2) ? 1 : -1);
        Json arguments = {{"Addr", 140'000'000'000'000 + number(0, 1 << 30)},
                          {"Bytes", bytes},
                          {"Device Type", host ? 0 : 1},
                          {"Device Id", host ? -1 : number(0, 3)}};
        if (!host || chance(2)) arguments["Total Allocated"] = number(1 << 21, 1 << 30);
        if (!host) arguments["Total Reserved"] = number(1 << 30, 2147483647);
        Json event = base("i", R"("[memory]")", place);
        event["cat"] = "cpu_instant_event";
        event["s"] = "t";
        event["args"] = arguments;
        // Two totals of one device at one time could not be told apart.
        if (!m_memoryTimes.insert(place.ns).second) return;
        put(head("i", R"("[memory]")", place) +
            R"(, "cat": "cpu_instant_event", "s": "t", "args": )" + arguments.dump() + "}");
        expect(event, place.ns);
    }

    std::mt19937 m_random;
    std::int64_t m_base = 0, m_origin = 0;
    std::uint64_t m_correlation = 0, m_flow = 0;
    std::set<std::int64_t> m_memoryTimes;
    std::set<std::string> m_metadata;
    std::string m_text;
    std::vector<std::string> m_events;
};

/// The number behind a key of the event itself. Arguments are dense, so only the event's own keys
/// have blanks.
std::int64_t timeIn(const std::string& line, const std::string& key) {
    for (const std::string& text : {", \"" + key + "\": ", ",\"" + key + "\":"}) {
        const std::size_t at = line.find(text);
        if (at == std::string::npos) continue;
        const std::size_t from = at + text.size();
        const std::size_t to = line.find_first_of(",}", from);
        return interchange::parseMicroseconds(std::string_view(line).substr(from, to - from))
            .value()
            .value;
    }
    return 0;
}

}  // namespace

RandomKineto randomKineto(std::uint32_t seed) {
    return Maker(seed).make();
}

std::vector<std::string> canonicalEvents(const std::string& trace) {
    std::vector<std::string> events;
    std::istringstream lines(trace);
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("  ]")) inside = false;
        if (inside) {
            if (line.ends_with(',')) line.pop_back();
            const Json event = Json::parse(line);
            const bool metadata = event["ph"] == "M";
            events.push_back(
                canonical(event, metadata ? 0 : timeIn(line, "ts"), timeIn(line, "dur")));
        }
        if (line.starts_with("  \"traceEvents\"")) inside = true;
    }
    return events;
}

}  // namespace shardscope::test
