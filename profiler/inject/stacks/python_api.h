// The functions of CPython's public C API that read a thread's own stack, found in the running
// interpreter: nothing of Python is linked, and a program without it finds none.
//
// All but the first four want Python's lock (the GIL) to be held. None of them runs Python code.
#pragma once

#include "storage/model/result.h"

namespace shardscope::inject {

struct PythonApi {
    int (*isInitialized)() = nullptr;    ///< Py_IsInitialized: false while it ends
    int (*checkLock)() = nullptr;        ///< PyGILState_Check: always true with subinterpreters
    void* (*ownState)() = nullptr;       ///< PyGILState_GetThisThreadState
    void* (*lockHolder)() = nullptr;     ///< PyThreadState_GetUnchecked: state that is current
    void* (*topFrame)() = nullptr;       ///< PyEval_GetFrame; borrowed
    void* (*callerOf)(void*) = nullptr;  ///< PyFrame_GetBack
    void* (*codeOf)(void*) = nullptr;    ///< PyFrame_GetCode
    int (*lineOf)(void*) = nullptr;      ///< PyFrame_GetLineNumber
    int (*placeOf)(void*) = nullptr;     ///< PyFrame_GetLasti; null before 3.11
    void (*release)(void*) = nullptr;    ///< Py_DecRef
    int (*pauseCollector)() = nullptr;   ///< PyGC_Disable: whether it was on; null before 3.10
    int (*resumeCollector)() = nullptr;  ///< PyGC_Enable
    void* (*weakly)(void*, void*) = nullptr;              ///< PyWeakref_NewRef
    void* (*behind)(void*) = nullptr;                     ///< PyWeakref_GetObject; borrowed
    void* (*attribute)(void*, const char*) = nullptr;     ///< PyObject_GetAttrString
    const char* (*text)(void*) = nullptr;                 ///< PyUnicode_AsUTF8
    void (*takeError)(void**, void**, void**) = nullptr;  ///< PyErr_Fetch
    void (*putError)(void*, void*, void*) = nullptr;      ///< PyErr_Restore

    /// kLaunch where one is missing: which one.
    static Result<PythonApi> find();

    /// Whether the calling thread has a state of Python and holds the lock. Any thread.
    [[nodiscard]] bool isLockHeld() const {
        if (isInitialized() == 0) return false;
        const void* own = ownState();
        return own != nullptr && checkLock() == 1 && lockHolder() == own;
    }
};

}  // namespace shardscope::inject
