#include "live/console/line_editor.h"

#include "live/console/completion.h"
#include "live/console/eval.h"
#include "live/source/interrupt.h"

#include <errno.h>
#include <histedit.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

enum { HISTORY_LINES = 1000, MAX_OFFERED = 200, GATHER_NS = 50 * 1000 * 1000 };

enum line_end {
    TG_LINE_READ,
    TG_LINE_INTERRUPTED, /* the interrupt key: what was typed is dropped */
    TG_LINE_AT_END,      /* of the input */
};

struct line_editor {
    struct tg_console *console;
    EditLine *edit;
    History *history;
    char *history_path; /* NULL: kept in no file */
    const char *prompt;
    char first_prompt[256]; /* of a command; its further lines have another */
    bool interrupted;
    struct termios terminal; /* as it was found */
    char end_key;            /* key that ends the input */
    int typed_ahead; /* bytes of the input that were there before this line was asked for; -1: not counted
                        yet */
};

/* ---- history */

/* Makes the folders of PATH, as `mkdir -p` of its parent. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700); /* an existing directory is as good; a failure shows when saving */
        *slash = '/';
    }
}

static char *find_history_path(void)
{
    const char *named = getenv("TOLLGATE_HISTORY");
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int length = -1;
    if (named != NULL)
        return *named == '\0' ? NULL : strdup(named);
    if (state != NULL && *state == '/')
        length = asprintf(&path, "%s/tollgate/history", state);
    else if (home != NULL && *home == '/')
        length = asprintf(&path, "%s/.local/state/tollgate/history", home);
    return length < 0 ? NULL : path;
}

static void remember(struct line_editor *editor, const char *text)
{
    HistEvent event;
    if (text[strspn(text, " \t\n")] != '\0')
        history(editor->history, &event, H_ENTER, text);
}

/* ---- completion */

struct offers {
    char *words[MAX_OFFERED];
    size_t count;
    bool more;
};

static void take_offer(void *context, const char *word)
{
    struct offers *offers = context;
    if (offers->count == MAX_OFFERED) {
        offers->more = true;
        return;
    }
    offers->words[offers->count] = strdup(word);
    offers->count += offers->words[offers->count] != NULL;
}

/* How many bytes all have in common at their beginning. */
static size_t common_length(const struct offers *offers)
{
    size_t length = strlen(offers->words[0]);
    for (size_t i = 1; i < offers->count; i++) {
        size_t same = 0;
        while (same < length && offers->words[i][same] == offers->words[0][same])
            same++;
        length = same;
    }
    return length;
}

static void list_offers(const struct offers *offers)
{
    fputc('\n', stdout);
    for (size_t i = 0; i < offers->count; i++)
        fprintf(stdout, "%s%s", offers->words[i], i + 1 == offers->count ? "" : "  ");
    fputs(offers->more ? "  ...\n" : "\n", stdout);
    fflush(stdout);
}

/* The Tab key. */
static unsigned char complete(EditLine *edit, wint_t key)
{
    (void)key;
    struct line_editor *editor = NULL;
    const LineInfo *info = el_line(edit);
    struct offers offers = {.count = 0};
    size_t start = 0, length = (size_t)(info->cursor - info->buffer);
    unsigned char result = CC_ERROR;
    el_get(edit, EL_CLIENTDATA, &editor);
    char *line = strndup(info->buffer, length);
    if (line == NULL)
        return CC_ERROR;
    tg_console_complete(editor->console, line, length, &start, take_offer, &offers);
    if (offers.count > 0) {
        size_t common = common_length(&offers), typed = length - start;
        if (common > typed) {
            char *rest = strndup(offers.words[0] + typed, common - typed);
            if (rest != NULL && el_insertstr(edit, rest) == 0)
                result = CC_REFRESH;
            free(rest);
        }
        if (offers.count == 1 && el_insertstr(edit, " ") == 0) {
            result = CC_REFRESH;
        } else if (offers.count > 1 && common <= typed) {
            list_offers(&offers);
            result = CC_REDISPLAY;
        }
    }
    for (size_t i = 0; i < offers.count; i++)
        free(offers.words[i]);
    free(line);
    return result;
}

/* ---- reading */

static char *prompt_of(EditLine *edit)
{
    struct line_editor *editor = NULL;
    el_get(edit, EL_CLIENTDATA, &editor);
    return (char *)(uintptr_t)editor->prompt;
}

/* The line that is being typed makes room. The terminal is one that the library moves the cursor on. */
static void clear_line(void *context)
{
    (void)context;
    fputs("\r\x1b[K", stdout);
}

/* News are printed above the line that is being typed. */
static void tell_news(struct line_editor *editor)
{
    if (tg_console_attend_at_prompt(editor->console, clear_line, NULL))
        el_set(editor->edit, EL_REFRESH);
}

/* Lets the visitor in while a line is typed: what it moved shows in the prompt. The interrupt key is for its commands
 * then. */
static bool visit(struct line_editor *editor, const struct pollfd *fds, const sigset_t *others)
{
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, others, &blocked);
    bool was_there = tg_console_visit(editor->console, fds);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    if (was_there)
        tell_news(editor);
    if (was_there && fds[1].revents != 0) {
        tg_interrupt_clear();
        tg_console_prompt(editor->console, editor->first_prompt, sizeof editor->first_prompt);
        clear_line(NULL);
        el_set(editor->edit, EL_REFRESH);
    }
    return was_there;
}

/* Waits for input. False: the interrupt key was pressed, before or meanwhile. */
static bool wait_for_input(struct line_editor *editor)
{
    sigset_t interrupt, others;
    struct pollfd inputs[4] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.events = POLLIN}};
    bool pressed;
    int status;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &others);
    sigdelset(&others, SIGINT);
    for (;;) {
        pressed = tg_interrupt_pending();
        inputs[1].fd = tg_console_wake_fd(editor->console);
        nfds_t count = 2 + tg_console_visit_fds(editor->console, inputs + 2);
        int ready = pressed ? 0 : ppoll(inputs, count, NULL, &others); /* a descriptor of -1 is passed over */
        if (pressed || (ready < 0 && errno != EINTR) || (ready > 0 && inputs[0].revents != 0))
            break;
        if (ready > 0 && visit(editor, inputs + 2, &others)) {
            if (tg_console_has_quit(editor->console, &status))
                break;
            continue;
        }
        /* news of one moment are printed together */
        if (ready > 0 && ppoll(inputs, 1, &(struct timespec){.tv_nsec = GATHER_NS}, &others) == 0)
            tell_news(editor);
    }
    sigprocmask(SIG_SETMASK, &others, NULL);
    return !pressed;
}

/* Input typed while the terminal still put lines together itself: there the key that ends the input is
 * kept as a NUL, which would be lost among characters. */
static char restore_end_key(struct line_editor *editor, char byte)
{
    if (editor->typed_ahead <= 0)
        return byte;
    editor->typed_ahead--;
    return byte == '\0' ? editor->end_key : byte;
}

/* Reads one character of standard input. The library's own function would wait on when the interrupt key is
 * pressed. */
static int read_character(EditLine *edit, wchar_t *character)
{
    struct line_editor *editor = NULL;
    mbstate_t state;
    memset(&state, 0, sizeof state);
    el_get(edit, EL_CLIENTDATA, &editor);
    if (editor->typed_ahead < 0 && ioctl(STDIN_FILENO, FIONREAD, &editor->typed_ahead) != 0)
        editor->typed_ahead = 0;
    for (;;) {
        char byte;
        int status;
        editor->interrupted = !wait_for_input(editor);
        bool is_over = editor->interrupted || tg_console_has_quit(editor->console, &status);
        ssize_t got = is_over ? 0 : read(STDIN_FILENO, &byte, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return (int)got;
        byte = restore_end_key(editor, byte);
        size_t length = mbrtowc(character, &byte, 1, &state);
        if (length == (size_t)-1)
            memset(&state, 0, sizeof state); /* no UTF-8: passed over */
        else if (length != (size_t)-2)
            return 1;
    }
}

static void destroy_editor(struct line_editor *editor)
{
    HistEvent event;
    if (editor == NULL)
        return;
    if (editor->edit != NULL) {
        /* The library would throw away what was typed for whoever reads the terminal next. */
        el_set(editor->edit, EL_EDITMODE, 0);
        el_end(editor->edit);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &editor->terminal);
    }
    if (editor->history_path != NULL && editor->history != NULL) {
        make_folders(editor->history_path);
        history(editor->history, &event, H_SAVE, editor->history_path);
    }
    if (editor->history != NULL)
        history_end(editor->history);
    free(editor->history_path);
    free(editor);
}

static struct tg_error *create_editor(struct tg_console *console, struct line_editor **editor)
{
    struct line_editor *made = calloc(1, sizeof *made);
    HistEvent event;
    if (made == NULL)
        return tg_error_no_memory();
    made->console = console;
    if (tcgetattr(STDIN_FILENO, &made->terminal) != 0) {
        free(made);
        return tg_error_create(TG_ERROR_OS, "cannot read the terminal's modes");
    }
    made->end_key = (char)made->terminal.c_cc[VEOF];
    made->edit = el_init("tollgate", stdin, stdout, stderr);
    made->history = history_init();
    if (made->edit == NULL || made->history == NULL) {
        destroy_editor(made);
        return tg_error_create(TG_ERROR_OS, "cannot edit lines on this terminal");
    }
    history(made->history, &event, H_SETSIZE, HISTORY_LINES);
    history(made->history, &event, H_SETUNIQUE, 1);
    made->history_path = find_history_path();
    if (made->history_path != NULL)
        history(made->history, &event, H_LOAD, made->history_path);
    el_set(made->edit, EL_CLIENTDATA, made);
    el_set(made->edit, EL_PROMPT, prompt_of);
    el_set(made->edit, EL_EDITOR, "emacs");
    el_set(made->edit, EL_SIGNAL, 0);
    el_set(made->edit, EL_HIST, history, made->history);
    el_set(made->edit, EL_GETCFN, read_character);
    /* The narrow form, el_set, keeps copies that it never frees. */
    el_wset(made->edit, EL_ADDFN, L"tollgate-complete", L"Complete the word", complete);
    el_set(made->edit, EL_BIND, "^I", "tollgate-complete", NULL);
    el_set(made->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_source(made->edit, NULL);
    *editor = made;
    return NULL;
}

static enum line_end read_line(struct line_editor *editor, const char *prompt, const char **line)
{
    int count = 0;
    editor->prompt = prompt;
    editor->interrupted = false;
    editor->typed_ahead = -1;
    tg_interrupt_clear();
    el_resize(editor->edit);
    const char *got = el_gets(editor->edit, &count);
    if (editor->interrupted) {
        el_reset(editor->edit);
        fputs("^C\n", stdout);
        fflush(stdout);
        return TG_LINE_INTERRUPTED;
    }
    if (got == NULL || count <= 0)
        return TG_LINE_AT_END;
    *line = got;
    return TG_LINE_READ;
}

static bool ask(void *context, const char *question)
{
    const char *line = "";
    return read_line(context, question, &line) == TG_LINE_READ && (*line == 'y' || *line == 'Y');
}

/* ---- the loop */

/* Lines until they are whole; NULL at the end of the input. *TEXT is empty where the user gave up. */
static enum line_end read_command(struct line_editor *editor, char **text)
{
    size_t size = 0;
    tg_console_prompt(editor->console, editor->first_prompt, sizeof editor->first_prompt);
    *text = NULL;
    for (;;) {
        const char *line;
        enum line_end end = read_line(editor, size == 0 ? editor->first_prompt : "... ", &line);
        if (end != TG_LINE_READ)
            return end;
        size_t length = strlen(line);
        char *larger = realloc(*text, size + length + 1);
        if (larger == NULL)
            return TG_LINE_AT_END;
        *text = larger;
        memcpy(larger + size, line, length + 1);
        size += length;
        if (tg_console_is_complete(larger))
            return TG_LINE_READ;
    }
}

struct tg_error *tg_line_editor_run(struct tg_console *console)
{
    struct line_editor *editor = NULL;
    struct tg_error *error = create_editor(console, &editor);
    int status;
    if (error != NULL)
        return error;
    tg_interrupt_catch();
    while (!tg_console_has_quit(console, &status)) {
        const struct tg_console_place place = {.name = NULL, .line = 1};
        char *text;
        tg_console_settle(console);
        enum line_end end = read_command(editor, &text);
        if (end == TG_LINE_READ) {
            remember(editor, text);
            console->ask = ask;
            console->ask_context = editor;
            tg_console_eval(console, text, TG_PRINT_ALL, &place); /* failures were printed */
            console->ask = NULL;
        }
        free(text);
        if (end == TG_LINE_INTERRUPTED)
            tg_console_interrupt(console);
        if (end == TG_LINE_AT_END) {
            fputc('\n', stdout);
            break;
        }
    }
    tg_interrupt_release();
    destroy_editor(editor);
    return NULL;
}
