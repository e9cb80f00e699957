// Arguments of foreign events, split into a form and values (storage/columns/arguments.h).
//
// Integers and decimals become numbers where they can be written again digit by digit; of an array
// of objects, a stack's frames mostly, each is a string of the recording, and the list of them one
// more; any other value, and what is no object at all, is a string. One thread.
#pragma once

#include "storage/columns/arguments.h"
#include "storage/interchange/json_text.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardscope::interchange {

/// Arguments of one span, ready to be stored; belongs to the splitter that made it.
struct SplitArguments {
    columns::ArgumentForm form;
    std::vector<std::int64_t> values;
};

class ArgumentSplitter {
public:
    using Intern = std::function<StringId(std::string_view)>;
    explicit ArgumentSplitter(Intern intern) : m_intern(std::move(intern)) {}

    /// Appends the values to `values` and returns their form. `nonFinite`: some of them are NaN or
    /// infinities, which JSON does not have: they become strings.
    columns::ArgumentForm split(std::span<const Member> members, bool nonFinite,
                                std::vector<std::int64_t>& values);
    /// Any text, an object mostly.
    columns::ArgumentForm split(std::string_view json, std::vector<std::int64_t>& values);

private:
    struct Recent {
        std::string text;
        StringId id;
    };
    void add(const Member& member, bool nonFinite, std::vector<std::int64_t>& values);
    /// The string that lists the elements of an array of objects; nothing for another value.
    std::optional<StringId> listOf(std::string_view array);
    columns::ArgumentForm whole(std::string_view json, std::vector<std::int64_t>& values);
    StringId formId();

    Intern m_intern;
    std::string m_form;
    std::unordered_map<std::string, StringId> m_lists;  ///< by text of the array
    std::size_t m_listBytes = 0;
    std::array<Recent, 64> m_recent;  ///< forms used last, by their length
    std::vector<char> m_dense;
    std::vector<Member> m_members;
};

/// Split arguments of one rank's spans, numbered and stored a chunk at a time.
class ArgumentTable {
public:
    using Store = std::function<Result<void>(StringId first, const columns::ArgumentRows& rows)>;
    explicit ArgumentTable(Store store) : m_store(std::move(store)) {}

    /// The id of the next span's arguments. Spans without any get one as well where others of
    /// their chunk have some, so that ids count up evenly and cost nothing.
    StringId add(const columns::ArgumentForm& form, std::span<const std::int64_t> values);
    StringId addNone() { return add({}, {}); }
    /// Stores what is not stored yet; the first error of all.
    Result<void> flush();

private:
    Store m_store;
    columns::ArgumentRows m_rows;
    std::unordered_map<StringId, std::uint32_t> m_index;  ///< of forms
    std::uint32_t m_first = columns::kFirstArguments;     ///< id of the first of `m_rows`
    StringId m_lastForm;
    std::uint32_t m_lastIndex = 0;
    Result<void> m_status;
};

}  // namespace shardscope::interchange
