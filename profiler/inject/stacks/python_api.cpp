#include "profiler/inject/stacks/python_api.h"

#include <dlfcn.h>

#include <initializer_list>
#include <string>

namespace shardscope::inject {
namespace {

/// The first that there is of several names of one function.
template <class Function>
bool found(Function& function, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
        if (function != nullptr) return true;
    }
    return false;
}

template <class Function>
void need(Function& function, std::initializer_list<const char*> names, std::string& missing) {
    if (!found(function, names) && missing.empty()) missing = *names.begin();
}

}  // namespace

Result<PythonApi> PythonApi::find() {
    PythonApi api;
    std::string missing;
    need(api.isInitialized, {"Py_IsInitialized"}, missing);
    need(api.checkLock, {"PyGILState_Check"}, missing);
    need(api.ownState, {"PyGILState_GetThisThreadState"}, missing);
    // Before 3.13 it had this name, and extensions made by Cython have called it by that for years.
    need(api.lockHolder, {"PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet"}, missing);
    need(api.topFrame, {"PyEval_GetFrame"}, missing);
    need(api.callerOf, {"PyFrame_GetBack"}, missing);
    need(api.codeOf, {"PyFrame_GetCode"}, missing);
    need(api.lineOf, {"PyFrame_GetLineNumber"}, missing);
    need(api.release, {"Py_DecRef"}, missing);
    need(api.weakly, {"PyWeakref_NewRef"}, missing);
    need(api.behind, {"PyWeakref_GetObject"}, missing);
    need(api.attribute, {"PyObject_GetAttrString"}, missing);
    need(api.text, {"PyUnicode_AsUTF8"}, missing);
    need(api.takeError, {"PyErr_Fetch"}, missing);
    need(api.putError, {"PyErr_Restore"}, missing);
    if (!missing.empty())
        return failure(ErrorCode::kLaunch, "this Python has no " + missing + "()");
    found(api.placeOf, {"PyFrame_GetLasti"});
    if (!found(api.pauseCollector, {"PyGC_Disable"}) ||
        !found(api.resumeCollector, {"PyGC_Enable"}))
        api.pauseCollector = api.resumeCollector = nullptr;
    return api;
}

}  // namespace shardscope::inject
