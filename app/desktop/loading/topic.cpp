#include "app/desktop/loading/topic.h"

#include "app/desktop/loading/recording_loader.h"

namespace shardscope::desktop {

Topic::Topic(RecordingLoader& loader, Urgency urgency)
    : m_loader(&loader), m_state(loader.addTopic(urgency)) {}

Topic::~Topic() {
    forget();
}

void Topic::submit(Question question) {
    if (m_loader) m_loader->ask(m_state, std::move(question));
}

}  // namespace shardscope::desktop
