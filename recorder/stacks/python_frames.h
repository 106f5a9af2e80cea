/* Python functions that a thread runs, read from the interpreter's memory. */
#ifndef TG_RECORDER_STACKS_PYTHON_FRAMES_H
#define TG_RECORDER_STACKS_PYTHON_FRAMES_H

#include "recorder/unwind/frames.h"

/* The interpreter of a process. CPython 3.9 to 3.13, 64 bits, with the structures that its releases have: a
 * build with others (debugging, without a GIL) is found out, and has no frames. */
struct tg_python {
    const struct tg_module *module; /* NULL: there is none that is understood */
    const struct tg_module
        *unknown; /* the file of one that is not; NULL: there is no interpreter, or MODULE */
    const struct tg_python_layout *layout;
    uint64_t runtime, code_type, text_type; /* addresses of _PyRuntime, PyCode_Type, PyUnicode_Type */
};

/* The structures of the release that PATH, of an interpreter's file, names: python3.11, libpython3.11.so.1.0;
 * NULL: none that is understood. */
const struct tg_python_layout *tg_python_layout_of(const char *path);

/* The same, of the release that PATH, of an extension module, was made for: _json.cpython-311-x86_64-linux-gnu.so. */
const struct tg_python_layout *tg_python_layout_of_extension(const char *path);

/* Whether PATH is an interpreter's file by its name, of whatever version: python, python2.7, libpython3.14t.so.1.0. */
bool tg_python_is_interpreter(const char *path);

/* Looks for an interpreter among MODULES, whose process is stopped. Valid as long as MODULES. */
struct tg_python tg_python_find(struct tg_modules *modules);

/* Whether the code at ADDRESS runs Python functions. */
bool tg_python_is_evaluation(const struct tg_python *python, struct tg_modules *modules, uint64_t address);

struct tg_python_frame {
    char function[160]; /* qualified where the version has that; UTF-8 of the target's, untrusted */
    char file[512];
    unsigned line;
    bool is_entry; /* the outermost one that its call of the evaluation function runs */
};

/* The frames of the thread whose thread-local storage is at FS_BASE, innermost first; at most MAX. Returns how
 * many could be read, 0 also where memory is not what it should be, or the thread was not found until UNTIL_NS
 * (tg_engine_now_ns). IS_WHOLE: there are no others. */
size_t tg_python_frames_read(const struct tg_python *python, const struct tg_inspect_memory *memory,
                             uint64_t fs_base, uint64_t until_ns, struct tg_python_frame *frames, size_t max,
                             bool *is_whole);

/* What to say of a process with PYTHON whose Python functions cannot be known; false: nothing. */
bool tg_python_remark(const struct tg_python *python, char *text, size_t size);

#endif
