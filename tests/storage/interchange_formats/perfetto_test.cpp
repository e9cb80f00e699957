// Perfetto traces, read back with a small decoder of the wire format that is written here.
#include "storage/interchange/export.h"
#include "storage/model/host_facts.h"
#include "storage/model/step_facts.h"
#include "tests/storage/interchange_formats/drawn_recording.h"
#include "tests/support/formats.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

namespace shardscope::interchange {
namespace {

using test::contentOf;
using test::DrawnEvents;
using test::DrawnFolder;
using test::drawnSpan;
using test::IsOk;

/// A message's fields in order: number, and a number or bytes.
struct Field {
    std::uint64_t number = 0;
    std::uint64_t value = 0;
    std::string bytes;
};
struct Message {
    std::vector<Field> fields;

    explicit Message(const std::string& text) {
        std::size_t at = 0;
        while (at < text.size()) {
            Field field;
            const std::uint64_t key = varint(text, at);
            field.number = key >> 3;
            if ((key & 7) == 0) {
                field.value = varint(text, at);
            } else if ((key & 7) == 1) {
                std::memcpy(&field.value, text.substr(at, 8).data(), 8);
                at += 8;
            } else {
                EXPECT_EQ(key & 7, 2u) << "wire type";
                const std::uint64_t size = varint(text, at);
                field.bytes = text.substr(at, size);
                EXPECT_EQ(field.bytes.size(), size);
                at += size;
            }
            fields.push_back(std::move(field));
        }
    }
    static std::uint64_t varint(const std::string& text, std::size_t& at) {
        std::uint64_t value = 0;
        for (int shift = 0; at < text.size(); shift += 7) {
            const auto byte = static_cast<unsigned char>(text[at++]);
            value |= std::uint64_t{byte & 0x7fu} << shift;
            if (byte < 0x80) return value;
        }
        ADD_FAILURE() << "truncated varint";
        return value;
    }
    [[nodiscard]] const Field* find(std::uint64_t number) const {
        for (const Field& field : fields)
            if (field.number == number) return &field;
        return nullptr;
    }
    [[nodiscard]] std::uint64_t number(std::uint64_t field) const {
        const Field* found = find(field);
        return found == nullptr ? 0 : found->value;
    }
    [[nodiscard]] std::string text(std::uint64_t field) const {
        const Field* found = find(field);
        return found == nullptr ? std::string() : found->bytes;
    }
    [[nodiscard]] Message message(std::uint64_t field) const { return Message(text(field)); }
};

struct Slice {
    std::string name;
    std::int64_t start = 0, end = 0;
    std::uint64_t track = 0, flow = 0, flowEnd = 0;
    std::map<std::string, Message> arguments;
    friend bool operator<(const Slice& a, const Slice& b) {
        return std::tie(a.name, a.start, a.end) < std::tie(b.name, b.start, b.end);
    }
};
struct Track {
    std::string name;
    std::uint64_t parent = 0;
    bool counter = false;
    std::uint64_t unit = 0;
    std::map<std::int64_t, double> samples;
};

/// What a trace processor makes of the packets.
struct Trace {
    std::map<std::uint64_t, Track> tracks;
    std::vector<Slice> slices;
    std::map<std::uint64_t, std::int64_t> clocks;
    std::map<std::string, std::size_t> instants;  ///< by category

    explicit Trace(const std::string& bytes) {
        const Message file(bytes);
        bool first = true;
        for (const Field& field : file.fields) {
            EXPECT_EQ(field.number, 1u);
            const Message packet(field.bytes);
            EXPECT_NE(packet.number(10), 0u) << "a packet without a sequence";
            EXPECT_EQ(packet.number(13) & 1, first ? 1u : 0u) << "state is cleared once";
            first = false;
            read(packet);
        }
        for (const auto& [track, open] : m_open) EXPECT_TRUE(open.empty()) << "left open";
    }
    [[nodiscard]] std::vector<Slice> named(const std::string& name) const {
        std::vector<Slice> found;
        for (const Slice& slice : slices)
            if (slice.name == name) found.push_back(slice);
        return found;
    }
    [[nodiscard]] const Track& counter(const std::string& name) const {
        for (const auto& [uuid, track] : tracks)
            if (track.counter && track.name == name) return track;
        throw std::runtime_error("no counter " + name);
    }

private:
    void read(const Message& packet) {
        if (packet.find(6) != nullptr)
            for (const Field& clock : packet.message(6).fields)
                if (clock.number == 1)
                    clocks[Message(clock.bytes).number(1)] =
                        static_cast<std::int64_t>(Message(clock.bytes).number(2));
        if (packet.find(12) != nullptr)
            for (const Field& entry : packet.message(12).fields) {
                const Message interned(entry.bytes);
                EXPECT_TRUE(
                    m_interned[entry.number].emplace(interned.number(1), interned.text(2)).second);
            }
        if (packet.find(60) != nullptr) describe(packet.message(60));
        if (packet.find(11) != nullptr)
            event(static_cast<std::int64_t>(packet.number(8)), packet.message(11));
    }
    void describe(const Message& descriptor) {
        Track track;
        track.name = descriptor.text(2);
        track.parent = descriptor.number(5);
        if (descriptor.find(3) != nullptr) track.name = descriptor.message(3).text(6);
        track.counter = descriptor.find(8) != nullptr;
        if (track.counter) track.unit = descriptor.message(8).number(3);
        if (track.parent != 0) {
            EXPECT_TRUE(tracks.contains(track.parent));
        }
        EXPECT_TRUE(tracks.emplace(descriptor.number(1), track).second) << "uuid used twice";
    }
    void event(std::int64_t time, const Message& event) {
        const std::uint64_t uuid = event.number(11);
        ASSERT_TRUE(tracks.contains(uuid));
        auto& open = m_open[uuid];
        switch (event.number(9)) {
            case 1: {
                Slice slice;
                ASSERT_TRUE(m_interned[2].contains(event.number(10)));
                ASSERT_TRUE(m_interned[1].contains(event.number(3)));
                slice.name = m_interned[2][event.number(10)];
                slice.start = time;
                slice.track = uuid;
                slice.flow = event.number(47);
                slice.flowEnd = event.number(48);
                for (const Field& field : event.fields)
                    if (field.number == 4) {
                        const Message annotation(field.bytes);
                        ASSERT_TRUE(m_interned[3].contains(annotation.number(1)));
                        slice.arguments.emplace(m_interned[3][annotation.number(1)], annotation);
                    }
                ASSERT_GE(time, m_latest[uuid]) << "slices of a track come in order";
                open.push_back(slice);
                break;
            }
            case 2:
                ASSERT_FALSE(open.empty());
                ASSERT_GE(time, m_latest[uuid]);
                open.back().end = time;
                slices.push_back(open.back());
                open.pop_back();
                break;
            case 3:
                ASSERT_TRUE(m_interned[2].contains(event.number(10)));
                ++instants[m_interned[1][event.number(3)]];
                break;
            default: {
                ASSERT_EQ(event.number(9), 4u);
                const Field* real = event.find(44);
                tracks[uuid].samples[time] =
                    real != nullptr
                        ? std::bit_cast<double>(real->value)
                        : static_cast<double>(static_cast<std::int64_t>(event.number(30)));
            }
        }
        m_latest[uuid] = time;
    }

    std::map<std::uint64_t, std::map<std::uint64_t, std::string>> m_interned;
    std::map<std::uint64_t, std::vector<Slice>> m_open;
    std::map<std::uint64_t, std::int64_t> m_latest;
};

TEST(ExportPerfetto, ShowsEverySpanNestedOrSpilled) {
    test::RandomEvents random(17);
    DrawnEvents events;
    events.strings = {"a", "b"};
    std::multiset<Slice> expected;
    std::int64_t start = -1000;
    for (int i = 0; i < 3000; ++i) {
        start += random.between(0, 50);
        const auto name = static_cast<std::uint32_t>(random.between(1, 2));
        const std::int64_t duration = random.between(0, 200);
        events.spans.push_back(drawnSpan(name, start, duration));
        Slice slice;
        slice.name = std::string(1, name == 1 ? 'a' : 'b');
        // Times below 0 are none in a Perfetto trace.
        slice.start = start - events.spans.front().start.ns;
        slice.end = slice.start + duration;
        expected.insert(slice);
    }
    DrawnFolder drawn(events);
    const auto account = exportAs("perfetto", drawn.reader(), drawn.options());
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->events, 3000u);
    const Trace trace(contentOf(drawn.options().output));
    ASSERT_EQ(trace.slices.size(), expected.size());
    std::multiset<Slice> shown(trace.slices.begin(), trace.slices.end());
    for (auto a = shown.begin(), b = expected.begin(); a != shown.end(); ++a, ++b) {
        ASSERT_EQ(a->name, b->name);
        ASSERT_EQ(a->start, b->start);
        ASSERT_EQ(a->end, b->end);
    }
    EXPECT_EQ(trace.clocks.at(1) - trace.clocks.at(6),
              test::kDrawnStart + events.spans.front().start.ns)
        << "wall time survives the shift";
}

TEST(ExportPerfetto, CountersKeepUnitsAndValues) {
    DrawnEvents events;
    events.samples = {{{5}, {}, 1024}, {{9}, {}, 0.25}, {{12}, {}, -3}, {{15}, {}, -3}};
    DrawnFolder drawn(events);
    ASSERT_THAT(exportAs("perfetto", drawn.reader(), drawn.options()), IsOk());
    const Trace trace(contentOf(drawn.options().output));
    const Track& counter = trace.counter("resident set");
    EXPECT_EQ(counter.unit, 3u) << "bytes";
    EXPECT_EQ(counter.samples,
              (std::map<std::int64_t, double>{{5, 1024.0}, {9, 0.25}, {12, -3.0}, {15, -3.0}}));
    EXPECT_EQ(trace.tracks.at(counter.parent).name, "rank 0 (cpu)");
}

TEST(ExportPerfetto, ArgumentsKeepTheirTypes) {
    DrawnEvents events;
    std::string deep;
    for (int i = 0; i < 100; ++i) deep += R"({"a":)";
    events.strings = {"op",
                      R"({"n":-7,"big":18446744073709551615,"x":0.5,"on":true,"s":"é",)"
                      R"("list":[1,[2]],"map":{"k":"v"},"none":null})",
                      "no JSON", deep};
    for (std::uint32_t i = 0; i < 3; ++i) {
        events.spans.push_back(drawnSpan(1, 10 * i, 5));
        events.spans.back().arguments = {2 + i};
    }
    events.spans[0].step = {4};
    events.spans[0].layer = {2};
    events.spans[0].phase = Phase::kBackward;
    DrawnFolder drawn(events);
    ASSERT_THAT(exportAs("perfetto", drawn.reader(), drawn.options()), IsOk());
    const Trace trace(contentOf(drawn.options().output));
    ASSERT_EQ(trace.slices.size(), 3u);
    const auto& arguments = trace.slices[0].arguments;
    EXPECT_EQ(static_cast<std::int64_t>(arguments.at("n").number(4)), -7);
    EXPECT_EQ(arguments.at("big").number(3), 18446744073709551615u);
    EXPECT_EQ(std::bit_cast<double>(arguments.at("x").number(5)), 0.5);
    EXPECT_EQ(arguments.at("on").number(2), 1u);
    EXPECT_EQ(arguments.at("s").text(6), "é");
    EXPECT_EQ(arguments.at("list").message(12).number(3), 1u);
    EXPECT_EQ(arguments.at("map").message(11).text(10), "k");
    EXPECT_EQ(arguments.at("map").message(11).text(6), "v");
    EXPECT_EQ(arguments.at("step").number(4), 4u);
    EXPECT_EQ(arguments.at("layer").text(6), "layer 2");
    EXPECT_EQ(arguments.at("phase").text(6), "backward");
    EXPECT_EQ(trace.slices[1].arguments.at("arguments").text(6), "no JSON");
    EXPECT_EQ(trace.slices[2].arguments.at("arguments").text(6), deep);
}

TEST(ExportPerfetto, ForwardFlowsToBackwardFromTheOutermost) {
    DrawnEvents events;
    events.strings = {"linear", "addmm", "LinearBackward", "alone"};
    events.spans = {drawnSpan(1, 0, 50), drawnSpan(2, 10, 20, 1), drawnSpan(3, 100, 20),
                    drawnSpan(4, 200, 20)};
    for (std::size_t i = 0; i < 3; ++i) events.spans[i].correlation = 77;
    for (SpanEvent& span : events.spans) span.phase = Phase::kForward;
    events.spans[2].phase = Phase::kBackward;
    DrawnFolder drawn(events);
    ASSERT_THAT(exportAs("perfetto", drawn.reader(), drawn.options()), IsOk());
    const Trace trace(contentOf(drawn.options().output));
    const Slice forward = trace.named("linear").at(0), inner = trace.named("addmm").at(0),
                backward = trace.named("LinearBackward").at(0), alone = trace.named("alone").at(0);
    EXPECT_NE(forward.flow, 0u);
    EXPECT_EQ(backward.flowEnd, forward.flow);
    EXPECT_EQ(backward.flow, 0u);
    EXPECT_EQ(inner.flow | inner.flowEnd | alone.flow | alone.flowEnd, 0u);
}

class SampleTrace : public testing::Test {
protected:
    void SetUp() override {
        test::SampleOptions sample;
        sample.gpu = true;
        sample.steps = 3;
        ASSERT_THAT(test::writeSampleRecording(m_folder.file("run.sscope"), sample), IsOk());
        auto reader = storage::openRecording(m_folder.file("run.sscope"));
        ASSERT_THAT(reader, IsOk());
        m_reader = std::move(*reader);
        m_options.output = m_folder.file("run.pftrace");
        ASSERT_THAT(exportAs("perfetto", *m_reader, m_options), IsOk());
    }
    test::TemporaryFolder m_folder;
    std::unique_ptr<storage::RecordingReader> m_reader;
    ExportOptions m_options;
};

TEST_F(SampleTrace, HasAllSpansAndEveryKernelItsLaunch) {
    const Trace trace(contentOf(m_options.output));
    const auto summary = m_reader->summary();
    EXPECT_EQ(trace.slices.size(), summary->events.spans);
    EXPECT_EQ(trace.instants,
              (std::map<std::string, std::size_t>{{"collective", summary->events.collectives},
                                                  {"memory", summary->events.memory},
                                                  {"metric", summary->metrics.size()},
                                                  {"step", summary->steps.size()}}));
    std::set<std::uint64_t> launches;
    std::size_t kernels = 0, launched = 0;
    for (const Slice& slice : trace.slices)
        if (slice.flow != 0) launches.insert(slice.flow);
    for (const Slice& slice : trace.slices) {
        if (slice.flowEnd == 0 || trace.tracks.at(slice.track).name == "operators") continue;
        ++kernels;
        launched += launches.contains(slice.flowEnd) ? 1 : 0;
    }
    EXPECT_GT(kernels, 100u);
    EXPECT_EQ(launched, kernels);
    std::set<std::string> processes;
    for (const auto& [uuid, track] : trace.tracks)
        if (track.parent == 0) processes.insert(track.name);
    EXPECT_EQ(processes.size(), 2u);
    EXPECT_FALSE(trace.counter("resident set").samples.empty());
}

TEST_F(SampleTrace, ProtocReadsEveryByte) {
    if (std::system("protoc --version > /dev/null 2>&1") != 0) {
        GTEST_SKIP() << "protoc is not installed: the trace was read by the test's own decoder";
    }
    const std::string command =
        "protoc --decode_raw < " + m_options.output + " > " + m_folder.file("raw");
    ASSERT_EQ(std::system(command.c_str()), 0);
    EXPECT_NE(contentOf(m_folder.file("raw")).find("rank 1"), std::string::npos);
}

}  // namespace
}  // namespace shardscope::interchange
