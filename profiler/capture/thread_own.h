// What a thread has of its own and other libraries' destructors still ask for when it is gone.
//
// A plain thread_local with a destructor may be used by what is destroyed after it: a thread of
// PyTorch frees its last tensors in destructors of its own.
#pragma once

namespace shardscope::capture {

/// The calling thread's T, made at the first call. Null once the thread has ended it. What T's
/// constructor asks for of other types ends after it.
template <class T>
T* threadOwn() {
    struct Slot {
        T* value;
        bool ended;
    };
    static thread_local constinit Slot slot{nullptr, false};
    struct Owner {
        ~Owner() {
            slot.ended = true;
            delete slot.value;
            slot.value = nullptr;
        }
    };
    if (slot.value != nullptr || slot.ended) return slot.value;
    slot.value = new T();
    static thread_local Owner owner;
    static_cast<void>(owner);  // makes it
    return slot.value;
}

}  // namespace shardscope::capture
