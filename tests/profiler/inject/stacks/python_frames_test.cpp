// Stacks of a Python that the test stands for: what is one place, one stack, and what never is.
#include "profiler/inject/stacks/python_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::inject {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Object {
    virtual ~Object() = default;
    int references = 1;
};
struct Text : Object {
    std::string text;
};
struct Code : Object {
    Text file, name;
    bool lives = true;
};
struct Reference : Object {
    Code* code = nullptr;
};
struct Frame : Object {
    Code* code = nullptr;
    int instruction = 0, line = 0;
    Frame* caller = nullptr;
};

/// What the functions below work on: frames, innermost last, as PyFrame_GetBack() walks them.
struct Interpreter {
    std::deque<Frame> frames;
    std::deque<Reference> references;
    int collectorPauses = 0, raised = 0, pending = 0;
    bool collects = true, referable = true;
} g_python;

Object* as(void* object) {
    return static_cast<Object*>(object);
}
void* kept(Object* object) {
    ++object->references;
    return object;
}

PythonApi api() {
    PythonApi api;
    api.topFrame = []() -> void* {
        return g_python.frames.empty() ? nullptr : static_cast<Object*>(&g_python.frames.back());
    };
    api.callerOf = [](void* frame) -> void* {
        Frame* caller = static_cast<Frame*>(as(frame))->caller;
        return caller == nullptr ? nullptr : kept(caller);
    };
    api.codeOf = [](void* frame) { return kept(static_cast<Frame*>(as(frame))->code); };
    api.placeOf = [](void* frame) { return static_cast<Frame*>(as(frame))->instruction; };
    api.lineOf = [](void* frame) { return static_cast<Frame*>(as(frame))->line; };
    api.release = [](void* object) { --as(object)->references; };
    api.pauseCollector = [] {
        ++g_python.collectorPauses;
        return static_cast<int>(g_python.collects);
    };
    api.resumeCollector = [] { return --g_python.collectorPauses; };
    api.weakly = [](void* code, void*) -> void* {
        if (!g_python.referable) {
            ++g_python.raised;
            return nullptr;
        }
        Reference& made = g_python.references.emplace_back();
        made.code = static_cast<Code*>(as(code));
        return static_cast<Object*>(&made);
    };
    api.behind = [](void* reference) -> void* {
        Code* code = static_cast<Reference*>(as(reference))->code;
        return code != nullptr && code->lives ? static_cast<Object*>(code) : nullptr;
    };
    api.attribute = [](void* object, const char* name) {
        auto* code = static_cast<Code*>(as(object));
        return kept(std::string(name) == "co_name" ? &code->name : &code->file);
    };
    api.text = [](void* object) { return static_cast<Text*>(as(object))->text.c_str(); };
    api.takeError = [](void**, void**, void**) { std::swap(g_python.raised, g_python.pending); };
    api.putError = [](void*, void*, void*) {
        g_python.raised = std::exchange(g_python.pending, 0);
    };
    return api;
}

class PythonFramesTest : public testing::Test {
protected:
    PythonFramesTest() { g_python = {}; }
    ~PythonFramesTest() override {
        for (const Frame& frame : g_python.frames) EXPECT_EQ(frame.references, 1);
        for (auto& [name, code] : m_codes) EXPECT_EQ(code.references, 1) << name;
        EXPECT_EQ(g_python.pending, 0);
    }
    Code& code(const std::string& name, const std::string& file = "/home/u/train.py") {
        Code& code = m_codes[file + name];
        code.name.text = name;
        code.file.text = file;
        return code;
    }
    /// Calls a function; the line that it is at is its instruction as well.
    void call(Code& code, int line, int instruction = -1) {
        Frame frame;
        frame.code = &code;
        frame.line = line;
        frame.instruction = instruction < 0 ? line : instruction;
        frame.caller = g_python.frames.empty() ? nullptr : &g_python.frames.back();
        g_python.frames.push_back(frame);
    }
    static void leave() { g_python.frames.pop_back(); }
    std::string here() { return m_frames.text(m_frames.here()); }

    std::map<std::string, Code> m_codes;
    PythonFrames m_frames{api()};
};

TEST_F(PythonFramesTest, ThereIsNoneWithoutPython) {
    EXPECT_EQ(m_frames.here(), PythonFrames::kNone);
}

TEST_F(PythonFramesTest, TheInnermostComesFirst) {
    call(code("<module>"), 20);
    call(code("main"), 9);
    EXPECT_EQ(here(), R"([{"name":"main","filename":"/home/u/train.py","line":9},)"
                      R"({"name":"<module>","filename":"/home/u/train.py","line":20}])");
}

TEST_F(PythonFramesTest, EqualStacksAreOneAndOthersAreNot) {
    call(code("main"), 9);
    const auto first = m_frames.here();
    EXPECT_EQ(m_frames.here(), first);
    g_python.frames.back().line = g_python.frames.back().instruction = 10;
    const auto second = m_frames.here();
    EXPECT_NE(second, first);
    call(code("main"), 9);  // recursion
    EXPECT_NE(m_frames.here(), first);
    leave();
    EXPECT_EQ(m_frames.here(), second);
}

TEST_F(PythonFramesTest, InstructionsOfALineAreOnePlace) {
    call(code("main"), 9, 100);
    const auto first = m_frames.here();
    leave();
    call(code("main"), 9, 102);
    EXPECT_EQ(m_frames.here(), first);
}

TEST_F(PythonFramesTest, ANewCodeObjectAtAnOldAddressIsAnother) {
    Code& there = code("old");
    call(there, 9);
    EXPECT_THAT(here(), HasSubstr("old"));
    // It is gone, and what references say of it; another one is made where it was.
    for (Reference& each : g_python.references) each.code = nullptr;
    there.name.text = "new";
    EXPECT_THAT(here(), HasSubstr("new"));
    for (const Reference& each : g_python.references)
        EXPECT_EQ(each.references, each.code == nullptr ? 0 : 1);
}

TEST_F(PythonFramesTest, OuterFramesBeyondTheLimitAreOneThatSaysSo) {
    for (std::size_t i = 0; i < PythonFrames::kMostFrames + 5; ++i)
        call(code("f"), static_cast<int>(i));
    const std::string text = here();
    EXPECT_THAT(text, StartsWith(R"([{"name":"f","filename":"/home/u/train.py","line":36},)"));
    EXPECT_THAT(text,
                EndsWith(R"-("line":5},)-"
                         R"-({"name":"(outer frames are left out)","filename":"","line":0}])-"));
    for (int i = 0; i < 5; ++i) leave();
    EXPECT_THAT(here(), Not(HasSubstr("left out")));
}

TEST_F(PythonFramesTest, WhatTorchCompileTracesHasNone) {
    call(code("main"), 9);
    call(code("step", "/v/site-packages/torch/_dynamo/symbolic_convert.py"), 900);
    EXPECT_EQ(m_frames.here(), PythonFrames::kNone);
    EXPECT_EQ(m_frames.here(), PythonFrames::kNone);  // known by now
    leave();
    EXPECT_NE(m_frames.here(), PythonFrames::kNone);
}

TEST_F(PythonFramesTest, NothingIsRaisedAndWhatWasStaysSo) {
    g_python.raised = 7;
    g_python.referable = false;
    call(code("main"), 9);
    EXPECT_EQ(m_frames.here(), PythonFrames::kNone);
    EXPECT_EQ(g_python.raised, 7);
    g_python.referable = true;
    EXPECT_NE(m_frames.here(), PythonFrames::kNone);
    EXPECT_EQ(g_python.raised, 7);
}

TEST_F(PythonFramesTest, TheCollectorRunsAgainOnlyWhereItDid) {
    call(code("main"), 9);
    static_cast<void>(m_frames.here());
    EXPECT_EQ(g_python.collectorPauses, 0);
    g_python.collects = false;
    static_cast<void>(m_frames.here());
    EXPECT_EQ(g_python.collectorPauses, 1);  // paused, and left so
}

TEST_F(PythonFramesTest, NamesAreTextOfJson) {
    call(code("quote\"", "back\\slash\n"), 1);
    EXPECT_EQ(here(), R"([{"name":"quote\"","filename":"back\\slash\u000a","line":1}])");
}

TEST_F(PythonFramesTest, MoreStacksThanTheLimitAreNotRecorded) {
    call(code("main"), 0);
    for (std::size_t i = 0; i + 1 < PythonFrames::kMostStacks; ++i) {
        g_python.frames.back().line = g_python.frames.back().instruction = static_cast<int>(i);
        ASSERT_NE(m_frames.here(), PythonFrames::kNone);
    }
    EXPECT_TRUE(m_frames.isFull());
    g_python.frames.back().line = g_python.frames.back().instruction = -1;
    EXPECT_EQ(m_frames.here(), PythonFrames::kNone);
    g_python.frames.back().line = g_python.frames.back().instruction = 5;
    EXPECT_NE(m_frames.here(), PythonFrames::kNone);  // those that are known stay
}

}  // namespace
}  // namespace shardscope::inject
