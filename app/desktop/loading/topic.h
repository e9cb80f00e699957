// Something that one keeps asking an open recording about, of which only the newest answer counts:
// the picture of a timeline, the table of a range. A member of who asks.
//
//   Topic m_picture{loader, Urgency::kPicture};
//   m_picture.ask([query](auto& reader, const auto& recording, const auto& generation) {...},
//                 [this](const FramePtr& frame) {...});
//
// GUI thread; may outlive its loader.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"

#include <QPointer>
#include <functional>
#include <memory>
#include <utility>

namespace shardscope::desktop {

class RecordingLoader;

/// Which of several waiting questions is answered first: what one looks at before what one reads.
enum class Urgency { kPicture, kSlice, kTable };

/// What the loader keeps of a topic.
struct TopicState {
    int order = 0;  ///< among waiting questions
    storage::Generations generations;
    bool isTable = false;
    bool open = false;  ///< a question waits for its answer
};

class Topic {
public:
    Topic(RecordingLoader& loader, Urgency urgency);
    /// No answer comes after this.
    ~Topic();
    Topic(const Topic&) = delete;
    Topic& operator=(const Topic&) = delete;

    /// `work`: Result<T>(RecordingReader&, const OpenRecording&, const Generation&), on a loader
    /// thread, which ends with kCancelled soon after the generation was superseded. `deliver`:
    /// void(T), on the GUI thread, unless one has asked again or opened another recording since.
    template <class Work, class Deliver>
    void ask(Work work, Deliver deliver) {
        submit([work = std::move(work), deliver = std::move(deliver)](
                   storage::RecordingReader& reader, const OpenRecording& recording,
                   const storage::Generation& generation) -> Result<Delivery> {
            auto answer = work(reader, recording, generation);
            if (!answer) return failure(answer);
            return Delivery([deliver, answer = std::move(*answer)] { deliver(answer); });
        });
    }

    /// No answer comes to what was asked.
    void forget() {
        m_state->generations.supersede();
        m_state->open = false;
    }

private:
    friend class RecordingLoader;
    using Delivery = std::function<void()>;
    using Question = std::function<Result<Delivery>(storage::RecordingReader&, const OpenRecording&,
                                                    const storage::Generation&)>;

    void submit(Question question);

    QPointer<RecordingLoader> m_loader;
    std::shared_ptr<TopicState> m_state;
};

}  // namespace shardscope::desktop
