#include "engine/checkpoint/safetensors.h"

#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

namespace shardscope::checkpoint {
namespace {

std::string contentsOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

void write(const std::string& path, const std::string& contents) {
    std::ofstream(path, std::ios::binary) << contents;
}

/// A file with this header and `dataBytes` of data.
std::string fileOf(const std::string& header, std::size_t dataBytes) {
    const std::uint64_t length = header.size();
    std::string file(8, '\0');
    std::memcpy(file.data(), &length, 8);
    return file.append(header).append(dataBytes, '\x01');
}

class Safetensors : public testing::Test {
protected:
    [[nodiscard]] std::string path(const char* name = "a.safetensors") const {
        return m_folder.file(name);
    }
    [[nodiscard]] std::string complaint(const std::string& header, std::size_t dataBytes) const {
        write(path(), fileOf(header, dataBytes));
        const auto file = SafetensorsFile::open(path());
        return file ? std::string() : file.error().message;
    }

private:
    test::TemporaryFolder m_folder;
};

TEST_F(Safetensors, ReadsWhatItWrote) {
    const std::vector<float> a{1, -2, 3.5F, 4, 5, 6};
    const std::vector<float> b{7};
    ASSERT_TRUE(writeSafetensors(path(), {{"a", {2, 3}, a}, {"b", {1}, b}}, {{"who", "me"}}));
    const auto file = SafetensorsFile::open(path());
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ((*file)->metadata().at("who"), "me");
    ASSERT_EQ((*file)->tensors().size(), 2u);
    const TensorInfo* found = (*file)->find("a");
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ((*file)->floats(*found).value(), a);
    EXPECT_EQ((*file)->floats(*(*file)->find("b")).value(), b);
    EXPECT_EQ((*file)->find("c"), nullptr);
    // The format asks for data aligned to eight bytes.
    EXPECT_EQ(((*file)->size() - 28) % 8, 0u);
}

TEST_F(Safetensors, WidensHalfAndBFloat16) {
    const std::string header = R"({"h":{"dtype":"F16","shape":[6],"data_offsets":[0,12]},)"
                               R"("b":{"dtype":"BF16","shape":[1],"data_offsets":[12,14]}})";
    std::string text = fileOf(header, 0);
    const std::uint16_t values[] = {0x3C00, 0xC000, 0x0001, 0x7C00, 0x8000, 0x7BFF, 0x3F80};
    text.append(reinterpret_cast<const char*>(values), sizeof values);
    write(path(), text);
    const auto file = SafetensorsFile::open(path());
    ASSERT_TRUE(file) << file.error().message;
    const auto half = (*file)->floats(*(*file)->find("h")).value();
    EXPECT_EQ(half[0], 1.0F);
    EXPECT_EQ(half[1], -2.0F);
    EXPECT_EQ(half[2], 0x1p-24F);
    EXPECT_TRUE(std::isinf(half[3]));
    EXPECT_TRUE(std::signbit(half[4]));
    EXPECT_EQ(half[5], 65504.0F);
    EXPECT_EQ((*file)->floats(*(*file)->find("b")).value()[0], 1.0F);
}

TEST_F(Safetensors, SaysWhatIsWrong) {
    EXPECT_NE(complaint("[]", 0).find("no JSON object"), std::string::npos);
    EXPECT_NE(complaint(R"({"a":{"dtype":"F32","shape":[2]}})", 8).find("'a'"), std::string::npos);
    EXPECT_NE(complaint(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 8)
                  .find("do not agree"),
              std::string::npos);
    EXPECT_NE(complaint(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4)
                  .find("do not agree"),
              std::string::npos);
    EXPECT_NE(complaint(R"({"a":{"dtype":"X9","shape":[2],"data_offsets":[0,8]}})", 8)
                  .find("do not agree"),
              std::string::npos);
    EXPECT_NE(complaint(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,8]}})", 8)
                  .find("do not agree"),
              std::string::npos);
    EXPECT_NE(complaint(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                        R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                        6)
                  .find("overlap"),
              std::string::npos);
    EXPECT_NE(
        complaint(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 5).find("do not end"),
        std::string::npos);
    EXPECT_NE(SafetensorsFile::open(path("none")).error().message.find("cannot be read"),
              std::string::npos);
}

TEST_F(Safetensors, SurvivesRandomDamage) {
    const std::vector<float> values(64, 1.5F);
    ASSERT_TRUE(writeSafetensors(path(), {{"a", {8, 8}, values}}, {{"k", "v"}}));
    const std::string whole = contentsOf(path());
    std::mt19937 random(7);
    for (int i = 0; i < 2000; ++i) {
        std::string damaged = whole.substr(0, random() % (whole.size() + 1));
        for (int j = 0; j < 3 && !damaged.empty(); ++j)
            damaged[random() % damaged.size()] = static_cast<char>(random());
        write(path("b"), damaged);
        const auto file = SafetensorsFile::open(path("b"));
        if (!file) continue;
        for (const TensorInfo& tensor : (*file)->tensors())
            EXPECT_EQ((*file)->data(tensor).size(), tensor.bytes());
    }
}

/// A limit on the size of files stands in for a full disk.
TEST_F(Safetensors, WhatCannotBeWrittenIsSaidAndLeavesNothing) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{1 << 16, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::vector<float> values(1 << 16);
    const auto done = writeSafetensors(path(), {{"a", {1 << 16}, values}}, {});
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, handler);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find(path()), std::string::npos);
    EXPECT_NE(done.error().message.find("cannot be written"), std::string::npos);
    EXPECT_FALSE(std::ifstream(path()).good());
}

}  // namespace
}  // namespace shardscope::checkpoint
