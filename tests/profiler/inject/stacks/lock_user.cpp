// A library that gives up a lock as PyTorch's does; linked with and without protection of its
// links.
extern "C" {
void* PyEval_SaveThread();
void PyEval_RestoreThread(void* state);

void* give_up() {
    return PyEval_SaveThread();
}

void take(void* state) {
    PyEval_RestoreThread(state);
}
}
