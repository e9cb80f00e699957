// PyTorch memory snapshots out (read back by Python's pickle and by our reader) and in.
#include "storage/interchange/import.h"
#include "storage/interchange/memory_snapshot/pickle_reader.h"
#include "storage/interchange/memory_snapshot/snapshot_walk.h"
#include "storage/recording/verify/verify_recording.h"
#include "tests/storage/interchange_formats/drawn_recording.h"
#include "tests/storage/interchange_formats/pickle_codes.h"
#include "tests/support/formats.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>

namespace shardscope::interchange {
namespace {

using test::contentOf;
using test::DrawnEvents;
using test::DrawnFolder;
using test::FailsWith;
using test::IsOk;

constexpr std::int64_t kUs = 1000;

bool havePython() {
    return std::system("python3 -c 'import pickle' > /dev/null 2>&1") == 0;
}

DrawnEvents someMemory(std::size_t count) {
    test::RandomEvents random(19);
    DrawnEvents events;
    events.strings = {"aten::mm", "wq"};
    std::vector<MemoryEvent> alive;
    for (std::size_t i = 0; i < count; ++i) {
        MemoryEvent event;
        event.time = {static_cast<std::int64_t>(i) * 5 * kUs};
        if (!alive.empty() && random.between(0, 2) == 0) {
            event = alive.back();
            alive.pop_back();
            event.time = {static_cast<std::int64_t>(i) * 5 * kUs};
            event.action = MemoryAction::kFree;
        } else {
            event.address = 0x7f0000000000u + i * 4096;
            event.size = {random.between(1, 4096)};
            event.category = static_cast<MemoryCategory>(random.between(0, 9));
            event.owner = {static_cast<std::uint32_t>(random.between(0, 2))};
            alive.push_back(event);
        }
        events.memory.push_back(event);
    }
    return events;
}

TEST(ExportMemorySnapshot, PythonLoadsItAndTheBytesAddUp) {
    if (!havePython()) GTEST_SKIP() << "python3 is not installed: read by our own reader only";
    DrawnFolder drawn(someMemory(5000));
    ASSERT_THAT(exportAs("memory-snapshot", drawn.reader(), drawn.options()), IsOk());
    std::ofstream(drawn.file("check.py")) << R"(
import pickle, pickletools, sys
data = open(sys.argv[1], "rb").read()
allowed = set("PROTO EMPTY_DICT EMPTY_LIST EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 LIST DICT MARK "
    "APPEND APPENDS SETITEM SETITEMS NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT "
    "SHORT_BINUNICODE BINUNICODE MEMOIZE BINPUT LONG_BINPUT BINGET LONG_BINGET STOP".split())
used = {code.name for code, _, _ in pickletools.genops(data)}
assert used <= allowed, used - allowed
assert all(len(pickle.encode_long(arg)) <= 8
           for code, arg, _ in pickletools.genops(data) if code.name == "LONG1")
snapshot = pickle.loads(data)
trace, = snapshot["device_traces"]
assert len(trace) == 5000, len(trace)
alive = {}
for entry in trace:
    assert "category" not in entry
    assert entry["frames"][0]["name"], entry
    if entry["action"] == "alloc":
        alive[entry["addr"]] = entry["size"]
    else:
        assert entry["action"] == "free_completed", entry
        assert alive.pop(entry["addr"]) == entry["size"]
assert trace[0]["time_us"] == 1767225600000000, trace[0]["time_us"]
assert trace[1]["time_us"] - trace[0]["time_us"] == 5
blocks = {}
for segment in snapshot["segments"]:
    at = segment["address"]
    for block in segment["blocks"]:
        assert block["address"] == at
        at += block["size"]
        if block["state"] == "active_allocated":
            blocks[block["address"]] = block["requested_size"]
    assert at - segment["address"] == segment["total_size"]
assert blocks == alive, (len(blocks), len(alive))
print("fine", len(alive))
)";
    const std::string command = "python3 " + drawn.file("check.py") + " " + drawn.options().output +
                                " > " + drawn.file("said") + " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << contentOf(drawn.file("said"));
    EXPECT_NE(contentOf(drawn.file("said")).find("fine"), std::string::npos);
}

TEST(ExportMemorySnapshot, NoMemoryIsSaid) {
    DrawnEvents events;
    events.spans = {test::drawnSpan(0, 0, 10)};
    DrawnFolder drawn(events);
    EXPECT_THAT(exportAs("memory-snapshot", drawn.reader(), drawn.options()),
                FailsWith("no memory event lies within"));
    EXPECT_EQ(test::filesIn(drawn.folder()), 1u);
}

/// Imports `path` and opens what it became.
struct Imported {
    ReaderResult result;
    std::unique_ptr<storage::RecordingReader> reader;
};
Result<Imported> import(const std::string& path, const std::string& output) {
    RunFacts run;
    run.id = "import";
    auto builder = TraceBuilder::create(output, run, true);
    if (!builder) return failure(builder);
    ReaderRequest request;
    request.path = request.title = path;
    request.builder = &*builder;
    auto result = readAs("memory-snapshot", request);
    if (!result) return failure(result);
    result->run.id = run.id;
    if (auto done = builder->finish(result->run, result->ended); !done) return failure(done);
    auto reader = storage::openRecording(output);
    if (!reader) return failure(reader);
    return Imported{std::move(*result), std::move(*reader)};
}

constexpr TimeRange kAll{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};

TEST(ReadMemorySnapshot, OurOwnExportComesBackWhole) {
    const DrawnEvents events = someMemory(3000);
    DrawnFolder drawn(events);
    ASSERT_THAT(exportAs("memory-snapshot", drawn.reader(), drawn.options()), IsOk());
    auto imported = import(drawn.options().output, drawn.file("back.sscope"));
    ASSERT_THAT(imported, IsOk());
    EXPECT_EQ(imported->result.baseUnixNs, test::kDrawnStart);
    EXPECT_EQ(imported->result.account.read, 3000u);
    EXPECT_EQ(imported->result.account.kept, 3000u);
    const auto back = imported->reader->memoryEvents({0}, kAll);
    ASSERT_THAT(back, IsOk());
    ASSERT_EQ(back->size(), events.memory.size());
    for (std::size_t i = 0; i < back->size(); ++i) {
        MemoryEvent expected = events.memory[i], got = (*back)[i];
        EXPECT_EQ(imported->reader->text({0}, got.owner),
                  expected.owner.value == 0 ? "" : events.strings[expected.owner.value - 1]);
        expected.owner = got.owner = {};
        got.arguments = {};  // the frame, and which entry it is
        ASSERT_EQ(got, expected) << i;
    }
}

TEST(ReadMemorySnapshot, WhatWasThereBeforeRunsOutAndSegments) {
    if (!havePython()) GTEST_SKIP() << "python3 writes this test's pickles and is not installed";
    const test::TemporaryFolder folder;
    std::ofstream(folder.file("write.py")) << R"(
import pickle, sys
def entry(action, addr, size, us, **more):
    return dict(action=action, addr=addr, size=size, stream=3, time_us=1_700_000_000_000_000 + us,
                frames=[dict(filename="/x/torch/nn.py", line=1, name="linear"),
                        dict(filename="/x/model.py", line=7, name="forward")], **more)
trace = [entry("segment_alloc", 4096, 2 << 20, 0), entry("alloc", 4096, 1000, 1),
         entry("free_requested", 100, 50, 2), entry("free_completed", 100, 50, 3),
         dict(action="oom", device_free=77, size=1 << 40, stream=0,
              time_us=1_700_000_000_000_004, frames=[]),
         entry("alloc", 8192, 64, 5), entry("free", 8192, 64, 6), dict(nonsense=1)]
block = lambda a, n, r, s: dict(address=a, size=n, requested_size=r, state=s, frames=[])
segments = [dict(device=0, address=4096, total_size=2 << 20, stream=3, segment_type="large",
                 blocks=[block(4096, 1024, 1000, "active_allocated"),
                         block(5120, 512, 500, "active_allocated"),
                         block(5632, (2 << 20) - 1536, 0, "inactive")])]
annotations = [dict(stage="START", name="step", device=0, time_us=1_700_000_000_000_001),
               dict(stage="END", name="step", device=0, time_us=1_700_000_000_000_005)]
for protocol in (2, 3, 4, 5):
    with open(f"{sys.argv[1]}/{protocol}.pickle", "wb") as file:
        pickle.dump(dict(segments=segments, device_traces=[trace], allocator_settings={},
                         external_annotations=annotations), file, protocol=protocol)
)";
    ASSERT_EQ(std::system(("python3 " + folder.file("write.py") + " " + folder.path()).c_str()), 0);
    for (const char* protocol : {"2", "3", "4", "5"}) {
        auto imported =
            import(folder.file(std::string(protocol) + ".pickle"), folder.file("back.sscope"));
        ASSERT_THAT(imported, IsOk());
        const ImportAccount& account = imported->result.account;
        EXPECT_EQ(account.read, account.kept + account.rejected());
        EXPECT_EQ(account.rejections.at("an entry without an action"), 1u);
        const auto memory = imported->reader->memoryEvents({0}, kAll);
        ASSERT_THAT(memory, IsOk());
        std::vector<std::tuple<std::int64_t, std::uint64_t, std::int64_t, bool>> got;
        for (const MemoryEvent& event : *memory)
            got.emplace_back(event.time.ns, event.address, event.size.count,
                             event.action == MemoryAction::kAllocate);
        EXPECT_EQ(got, (decltype(got){{0, 100, 50, true},
                                      {0, 5120, 500, true},
                                      {1000, 4096, 1000, true},
                                      {3000, 100, 50, false},
                                      {5000, 8192, 64, true},
                                      {6000, 8192, 64, false}}));
        EXPECT_EQ(imported->reader->text({0}, (*memory)[2].owner), "forward model.py:7");
        const auto summary = imported->reader->summary();
        ASSERT_THAT(summary, IsOk());
        ASSERT_EQ(summary->diagnostics.size(), 1u);
        EXPECT_EQ(summary->diagnostics[0].code, "out-of-memory");
        EXPECT_EQ(summary->diagnostics[0].time, Timestamp{4000});
        const auto spans = imported->reader->query(
            "SELECT name, start_ns, duration_ns FROM events WHERE kind='span' AND role='range'");
        ASSERT_THAT(spans, IsOk());
        ASSERT_EQ(spans->rows.size(), 1u);
        EXPECT_EQ(*spans->rows[0][2], "4000");
        const auto reserved =
            imported->reader->query("SELECT value FROM counters WHERE name LIKE 'reserved%'");
        ASSERT_THAT(reserved, IsOk());
        ASSERT_EQ(reserved->rows.size(), 2u) << "before and after the segment";
        EXPECT_EQ(std::stod(*reserved->rows[0][0]), 0);
        EXPECT_EQ(std::stod(*reserved->rows[1][0]), 2 << 20);
    }
}

/// Says what differs between two snapshots, member by member; tuples are lists.
constexpr const char* kCompare = R"py(
import pickle, sys
def plain(value):
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value
def compare(a, b, where):
    if type(a) != type(b):
        sys.exit(f"{where}: {a!r} is now {b!r}")
    if isinstance(a, dict):
        if a.keys() != b.keys():
            sys.exit(f"{where}: {sorted(a)} are now {sorted(b)}")
        for key in a:
            compare(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, list):
        if len(a) != len(b):
            sys.exit(f"{where}: {len(a)} are now {len(b)}")
        for i, (x, y) in enumerate(zip(a, b)):
            compare(x, y, f"{where}[{i}]")
    elif a != b:
        sys.exit(f"{where}: {a!r} is now {b!r}")
before, after = (pickle.load(open(path, "rb")) for path in sys.argv[1:3])
compare(plain(before), plain(after), "snapshot")
for segment in after["segments"]:
    assert isinstance(segment.get("segment_pool_id", ()), tuple)
print("equal")
)py";

/// Imports, exports, and compares field for field; what differs, or "equal".
std::string roundTrip(const test::TemporaryFolder& folder, const std::string& path,
                      std::uintmax_t* size = nullptr) {
    ImportOptions in;
    in.output = folder.file("stored.sscope");
    in.overwrite = true;
    const auto imported = importTraces({path}, in);
    if (!imported) return imported.error().message;
    if (size != nullptr) *size = std::filesystem::file_size(in.output);
    auto reader = storage::openRecording(in.output);
    if (!reader) return reader.error().message;
    const auto found = storage::verifyRecording(in.output);
    if (!found || !found->sound()) return found ? found->faults[0].what : found.error().message;
    ExportOptions out;
    out.output = folder.file("again.pickle");
    out.overwrite = true;
    if (auto done = exportAs("memory-snapshot", **reader, out); !done) return done.error().message;
    std::ofstream(folder.file("compare.py")) << kCompare;
    const std::string command = "python3 " + folder.file("compare.py") + " " + path + " " +
                                out.output + " > " + folder.file("said") + " 2>&1";
    static_cast<void>(std::system(command.c_str()));
    return contentOf(folder.file("said"));
}

TEST(MemorySnapshotRoundTrip, DrawnOnesComeBackFieldForField) {
    if (!havePython()) GTEST_SKIP() << "python3 writes this test's pickles and is not installed";
    const test::TemporaryFolder folder;
    std::ofstream(folder.file("draw.py")) << R"py(
import pickle, random, sys
def stack(depth):
    return [dict(name=f"f{random.randrange(40)}<\u00e9, \"#@^%\">", filename="/a/b.py", line=random.randrange(9),
                 **({"fx_node_op": "call"} if random.random() < 0.1 else {})) for _ in range(depth)]
def history(stacks):
    entries, alive, us = [], {}, 1_700_000_000_000_000
    def add(action, **more):
        nonlocal us
        us += random.choice([0, 0, 1, 7, -1])
        entry = dict(action=action, stream=random.choice([0, 7]), time_us=us, frames=random.choice(stacks), **more)
        if random.random() < 0.3:
            entry.update(compile_context="N/A", user_metadata=random.choice(["", "x"]), pool_id=(0, 1))
        if random.random() < 0.02:
            del entry["time_us"]
        if random.random() < 0.02:
            entry["frames"] = []
        entries.append(entry)
    for i in range(random.randrange(300)):
        kind = random.randrange(9)
        if kind < 3:
            addr, size = 512 * random.randrange(1, 90), random.randrange(4096)
            alive[addr] = size
            add("alloc", addr=addr, size=size)
        elif kind < 6 and alive:
            addr = random.choice(list(alive))
            add("free_requested", addr=addr, size=alive[addr])
            add(random.choice(["free_completed", "free_completed", "free"]), addr=addr, size=alive.pop(addr))
        elif kind == 6:
            add(random.choice(["segment_alloc", "segment_free", "segment_map", "segment_unmap"]), addr=1 << 45, size=2 << 20)
        elif kind == 7:
            add("oom", device_free=77, size=1 << 40)
        else:
            add(random.choice(["snapshot", "free_completed"]), addr=3, size=random.choice([0, 9]))
    return entries
for seed in range(1, 31):
    random.seed(seed)
    stacks = [stack(random.randrange(12)) for _ in range(6)] + [stack(1)]
    devices = random.choice([1, 1, 2, 3])
    traces = [history(stacks) if random.random() < 0.8 else [] for _ in range(devices)]
    traces[-1] = history(stacks) + [dict(action="alloc", addr=1, size=1, stream=0, time_us=1_800_000_000_000_000, frames=[])]
    def block(at):
        return dict(address=at, size=512, requested_size=500, state=random.choice(["active_allocated", "active_pending_free", "inactive"]), frames=random.choice(stacks))
    segments = [dict(device=random.randrange(devices), address=at << 20, total_size=1024, allocated_size=3, active_size=4, requested_size=5,
                     stream=7, segment_type="small", segment_pool_id=(0, random.randrange(3)), is_expandable=random.random() < 0.5,
                     frames=random.choice(stacks), blocks=[block((at << 20) + 512 * k) for k in range(random.randrange(4))])
                for at in range(1, random.randrange(2, 9))]
    annotations, us = [], 1_700_000_000_000_000
    for i in range(random.randrange(12)):
        us += random.randrange(5)
        annotations.append(dict(stage=random.choice(["START", "END"]), name=random.choice("ab"), device=random.randrange(devices), time_us=us))
    with open(f"{sys.argv[1]}/{seed}.pickle", "wb") as file:
        pickle.dump(dict(segments=segments, device_traces=traces, external_annotations=annotations,
                         allocator_settings=dict(PYTORCH_CUDA_ALLOC_CONF="a:1", ratio=0.8, none=None, roundup_power2_divisions={"1": 0})),
                    file, protocol=4)
)py";
    ASSERT_EQ(std::system(("python3 " + folder.file("draw.py") + " " + folder.path()).c_str()), 0);
    for (int seed = 1; seed <= 30; ++seed)
        ASSERT_EQ(roundTrip(folder, folder.file(std::to_string(seed) + ".pickle")), "equal\n")
            << "seed " << seed;
}

TEST(MemorySnapshotRoundTrip, RealInferenceComesBackFieldForField) {
    const std::string path = SHARDSCOPE_SHARED_TRACES "/torch_memory_snapshot_inference.pickle";
    if (!std::filesystem::exists(path) || !havePython())
        GTEST_SKIP() << path << " or python3 is not there: no real snapshot was read";
    const test::TemporaryFolder folder;
    std::uintmax_t size = 0;
    EXPECT_EQ(roundTrip(folder, path, &size), "equal\n");
    auto reader = storage::openRecording(folder.file("stored.sscope"));
    ASSERT_THAT(reader, IsOk());
    // 3,840 entries, 98 segments, 230 blocks; stacks are 63 frames deep on average.
    EXPECT_LT(size, 60u * 3840);
    const auto stack = (*reader)->query(
        "SELECT json_array_length(arguments, '$.frames'),"
        " json_extract(arguments, '$.frames[0].name') FROM memory_events"
        " WHERE action='allocate' AND arguments IS NOT NULL ORDER BY 1 DESC LIMIT 1");
    ASSERT_THAT(stack, IsOk());
    EXPECT_EQ(stack->rows.at(0).at(0), "85");
    EXPECT_EQ(stack->rows.at(0).at(1), "torch::unwind::unwind()");
    const auto frames = (*reader)->query(
        "SELECT count(*), max(frame.value ->> 'line') FROM memory_events,"
        " json_each(memory_events.arguments, '$.frames') AS frame WHERE action='allocate'");
    ASSERT_THAT(frames, IsOk());
    EXPECT_GT(std::stoi(frames->rows.at(0).at(0).value_or("0")), 60 * 1280);
    // Instants of any recording are instants of Kineto.
    ExportOptions options;
    options.output = folder.file("out.json");
    ASSERT_THAT(exportAs("kineto", **reader, options), IsOk());
    const std::string text = contentOf(options.output);
    std::size_t requested = 0;
    for (std::size_t at = 0; (at = text.find("\"name\": \"free_requested\"", at)) != text.npos;
         ++at)
        ++requested;
    EXPECT_EQ(requested, 1280u);
}

TEST(ReadMemorySnapshot, StacksOfCppAreNamedByWhoAsked) {
    if (!havePython()) GTEST_SKIP() << "python3 writes this test's pickles and is not installed";
    const test::TemporaryFolder folder;
    std::ofstream(folder.file("write.py")) << R"py(
import pickle, sys
front = ["torch::unwind::unwind()", "torch::CapturedTraceback::gather(bool, bool, bool)",
         "torch::cuda::(anonymous namespace)::gather_with_cpp()",
         "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)",
         "at::TensorBase at::detail::_empty_generic<long>(c10::ArrayRef<long>, c10::Allocator*)",
         "at::(anonymous namespace)::create_out(c10::ArrayRef<long>)"]
stacks = [front + ["at::native::(anonymous namespace)::addmm_out_cuda_impl(at::Tensor&)", "main"],
          front + ["at::_ops::mm::call(at::Tensor const&)", "torch::autograd::THPVariable_mm(_object*)"],
          front]
trace = [dict(action="alloc", addr=4096 * (i + 1), size=512, stream=0, time_us=10 + i,
              frames=[dict(filename="??", line=0, name=name) for name in names])
         for i, names in enumerate(stacks)]
with open(sys.argv[1], "wb") as file:
    pickle.dump(dict(segments=[], device_traces=[trace]), file, protocol=4)
)py";
    const std::string path = folder.file("cpp.pickle");
    ASSERT_EQ(std::system(("python3 " + folder.file("write.py") + " " + path).c_str()), 0);
    auto imported = import(path, folder.file("back.sscope"));
    ASSERT_THAT(imported, IsOk());
    const auto memory = imported->reader->memoryEvents({0}, kAll);
    ASSERT_THAT(memory, IsOk());
    std::vector<std::string> owners;
    for (const MemoryEvent& event : *memory)
        owners.emplace_back(imported->reader->text({0}, event.owner));
    EXPECT_EQ(owners, (std::vector<std::string>{
                          "at::native::(anonymous namespace)::addmm_out_cuda_impl(at::Tensor&)",
                          "torch::autograd::THPVariable_mm(_object*)", "torch::unwind::unwind()"}));
}

TEST(ReadMemorySnapshot, RefusesInSentences) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("a.pickle");
    std::ofstream(path) << kProtocol4 << "}.";
    EXPECT_THAT(import(path, folder.file("out.sscope")), FailsWith("is no memory snapshot"));
    std::ofstream(path) << kProtocol4 << "cos\nsystem\n.";
    EXPECT_THAT(import(path, folder.file("out.sscope")), FailsWith("GLOBAL, which imports code"));
    // {'segments': [], 'device_traces': [[1], the same list]}
    const auto key = [](const std::string& name) {
        return bytes({0x8c, static_cast<int>(name.size())}) + name;
    };
    std::ofstream(path) << kProtocol4 << "}(" << key("segments") << "]" << key("device_traces")
                        << "](" << bytes({']', 0x94, 'K', 1, 'a', 'h', 0}) << "eu.";
    EXPECT_THAT(import(path, folder.file("out.sscope")), FailsWith("share one history"));
    EXPECT_FALSE(std::filesystem::exists(folder.file("out.sscope")));
}

TEST(ReadMemorySnapshot, RealInferenceHasTheSizesMemoryVizDraws) {
    const std::string path = SHARDSCOPE_SHARED_TRACES "/torch_memory_snapshot_inference.pickle";
    if (!std::filesystem::exists(path))
        GTEST_SKIP() << path << " is not there: no real snapshot was read";
    const test::TemporaryFolder folder;
    auto imported = import(path, folder.file("real.sscope"));
    ASSERT_THAT(imported, IsOk());
    // 3,840 entries, and blocks alive without an allocation in them.
    EXPECT_EQ(imported->result.account.read, 3840u + 223u);
    EXPECT_EQ(imported->result.account.rejected(), 0u);
    const auto events = imported->reader->rankEvents({0}, kAll);
    ASSERT_THAT(events, IsOk());
    EXPECT_EQ(events->peakMemory, (Bytes{1'736'962'048})) << "by the viewer's algorithm in Python";
    const auto alive = imported->reader->liveMemory({0}, imported->result.ended);
    ASSERT_THAT(alive, IsOk());
    std::int64_t sum = 0;
    for (const MemoryEvent& block : *alive) sum += block.size.count;
    EXPECT_EQ(alive->size(), 223u);
    EXPECT_EQ(sum, 1'701'310'464);
}

}  // namespace
}  // namespace shardscope::interchange
