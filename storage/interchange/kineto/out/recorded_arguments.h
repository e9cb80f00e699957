// Arguments of events that Kineto did not write, under Kineto's names.
#pragma once

#include "storage/interchange/event_text.h"
#include "storage/interchange/formats/export_scope.h"
#include "storage/interchange/json_text.h"
#include "storage/model/recording.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::interchange::kineto_out {

/// Builds the members of one event's arguments; start with begin(). A key that is there already
/// stays as it is.
class RecordedArguments {
public:
    void begin(std::string_view object);
    /// The text of one of the event's own arguments; empty: it has none.
    [[nodiscard]] std::string own(std::string_view key) const;
    [[nodiscard]] std::optional<std::int64_t> ownInteger(std::string_view key) const;

    /// Its own arguments. Of a CPU event none may be called `stream`: HTA takes it for a device's.
    void addOwn(bool device);
    /// Step, layer and phase.
    void addPlace(const SpanEvent& span);
    void add(std::string_view key, std::int64_t value);
    void add(std::string_view key, std::string_view value);
    void addNumber(std::string_view key, double value);

    [[nodiscard]] std::string_view members() const { return m_members; }

private:
    [[nodiscard]] bool key(std::string_view key);
    ArgumentCheck m_check;
    std::string m_object;
    std::vector<Member> m_own;
    std::string m_members;
    std::vector<std::pair<std::size_t, std::size_t>> m_keys;  ///< place and length in m_members
};

/// Of a collective's kernel and of its record_param_comms.
struct GroupFacts {
    std::int32_t worldSize = 0;
    std::int32_t rank = 0;
};
void addCollective(RecordedArguments& arguments, const CollectiveEvent& collective,
                   const GroupFacts& group);

}  // namespace shardscope::interchange::kineto_out
