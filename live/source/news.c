#include "live/source/news.h"

#include "format/base/printable.h"
#include "format/base/signal_name.h"

#include <inttypes.h>
#include <sys/wait.h>

static const char *const kind_names[] = {
#define X(kind, name) [TG_NEWS_##kind] = name,
    TG_NEWS_KINDS(X)
#undef X
};

bool tg_news_of_decision(const struct tg_run_decision *decision, struct tg_news *news)
{
    switch (decision->kind) {
    case TG_DECIDE_STOP_THREAD:
    case TG_DECIDE_STOP_PROCESS:
    case TG_DECIDE_STOP_GROUP:
    case TG_DECIDE_RESUME_THREAD:
    case TG_DECIDE_RELEASED: /* one satisfaction, or one command, releases many */
        return false;
    case TG_DECIDE_HELD: /* with the arrival, or by command */
        return false;
    case TG_DECIDE_ARRIVED:
    case TG_DECIDE_LATE:
    case TG_DECIDE_SATISFIED:
    case TG_DECIDE_LEFT:
    case TG_DECIDE_STUCK:
        break;
    }
    *news = (struct tg_news){.kind = TG_NEWS_BARRIER,
                             .thread = decision->thread,
                             .point = decision->barrier,
                             .decision = decision->kind,
                             .reason = decision->reason,
                             .count = decision->count,
                             .other = decision->number};
    return true;
}

/* A wait status. */
static void put_wait_status(int64_t status, struct tg_news *news)
{
    int wait_status = (int)status;
    news->how = TG_EXIT_LOST;
    if (status < 0)
        return;
    if (WIFSIGNALED(wait_status)) {
        news->how = TG_EXIT_SIGNAL;
        news->status = WTERMSIG(wait_status);
    } else {
        news->how = TG_EXIT_STATUS;
        news->status = WEXITSTATUS(wait_status);
    }
}

bool tg_news_of_event(const struct tg_event *event, struct tg_thread_id thread_id, struct tg_news *news)
{
    *news =
        (struct tg_news){.thread = thread_id, .pid = event->pid, .tid = thread_id.dtid == 0 ? 0 : event->tid};
    switch ((unsigned)event->kind) {
    case TG_EVENT_PROCESS_START:
    case TG_EVENT_THREAD_START:
        news->kind = TG_NEWS_STARTED;
        return true;
    case TG_EVENT_PROGRAM:
        news->kind = TG_NEWS_EXECUTED;
        news->name = event->program.path;
        return true;
    case TG_EVENT_IDENTITY:
        news->kind = TG_NEWS_IDENTIFIED;
        news->name = *event->identity.host == '\0' ? NULL : event->identity.host;
        return event->identity.rank >= 0;
    case TG_EVENT_THREAD_EXIT:
        news->kind = TG_NEWS_EXITED;
        put_wait_status(event->thread_exit.status, news);
        return true;
    case TG_EVENT_PROCESS_EXIT:
        news->kind = TG_NEWS_EXITED;
        news->how = event->process_exit.how;
        news->status = event->process_exit.status;
        return true;
    case TG_EVENT_DETACH:
        news->kind = TG_NEWS_DETACHED;
        news->text = event->detach.reason;
        return true;
    default:
        return false;
    }
}

bool tg_news_is_for_people(const struct tg_news *news)
{
    switch (news->kind) {
    case TG_NEWS_STARTED:
    case TG_NEWS_DETACHED:
    case TG_NEWS_EXECUTED:
    case TG_NEWS_IDENTIFIED:
    case TG_NEWS_RUNNING:
    case TG_NEWS_POINT:
    case TG_NEWS_LIBRARIES:
    case TG_NEWS_SETTING:
        return false;
    case TG_NEWS_EXITED:
        return news->thread.dtid == 0;
    case TG_NEWS_BARRIER: /* arrivals are many, and told of as stops */
        return news->decision != TG_DECIDE_ARRIVED && news->decision != TG_DECIDE_LATE &&
               !(news->decision == TG_DECIDE_LEFT && news->count > 0);
    case TG_NEWS_PLANTED:
        return !news->is_own;
    case TG_NEWS_STOPPED:
    case TG_NEWS_WATCHED:
    case TG_NEWS_NOTE:
    case TG_NEWS_ERROR:
    case TG_NEWS_KIND_COUNT:
        break;
    }
    return true;
}

/* ---- words */

static void write_unit(const struct tg_news *news, FILE *stream)
{
    if (news->set != NULL) {
        fprintf(stream, "%" PRIu64 " thread%s (", news->count, news->count == 1 ? "" : "s");
        tg_printable_write(stream, news->set);
        fputc(')', stream);
    } else if (news->thread.dpid == 0) {
        fputs("the job", stream);
    } else if (news->thread.dtid == 0) {
        fprintf(stream, "process %" PRIu32, news->thread.dpid);
    } else {
        fprintf(stream, "thread %" PRIu32 ".%" PRIu32, news->thread.dpid, news->thread.dtid);
    }
    if (news->set == NULL && news->has_rank)
        fprintf(stream, " (rank %" PRId64 ")", news->rank);
}

static void write_exit(const struct tg_news *news, FILE *stream)
{
    char name[32];
    bool are_several = news->set != NULL;
    if (are_several)
        tg_printable_write(stream, news->set);
    else
        write_unit(news, stream);
    if (news->how == TG_EXIT_SIGNAL)
        fprintf(stream, " %s killed by %s", are_several ? "were" : "was",
                tg_signal_name(news->status, name, sizeof name));
    else if (news->how == TG_EXIT_LOST)
        fputs(are_several ? " are gone" : " is gone", stream);
    else if (news->thread.dtid != 0)
        fputs(" exited", stream);
    else
        fprintf(stream, " exited with status %" PRId64, news->status);
}

static void write_place(const struct tg_news *news, const char *before, FILE *stream)
{
    if (news->place != NULL) {
        fputs(before, stream);
        tg_printable_write(stream, news->place);
    } else if (news->pc != 0) {
        fprintf(stream, "%s0x%" PRIx64, before, news->pc);
    }
}

static void write_stop(const struct tg_news *news, FILE *stream)
{
    char name[32];
    write_unit(news, stream);
    fputs(" stopped", stream);
    if (news->point != 0)
        fprintf(stream,
                news->state == TG_JOB_WATCHPOINT ? " at watchpoint %" PRIu32 : " at action point %" PRIu32,
                news->point);
    if (news->status != 0)
        fprintf(stream, " by %s", tg_signal_name(news->status, name, sizeof name));
    else if (news->state == TG_JOB_WATCHPOINT && news->point == 0)
        fputs(" at the end of a watchpoint", stream);
    write_place(news, ": ", stream);
}

static void write_watched(const struct tg_news *news, FILE *stream)
{
    fprintf(stream, "watchpoint %" PRIu32 ": ", news->point);
    tg_printable_write(stream, news->name == NULL ? "" : news->name);
    if (news->before == NULL)
        return;
    fputs(" was ", stream);
    tg_printable_write(stream, news->before);
    fputs(", is ", stream);
    tg_printable_write(stream, news->after == NULL ? "" : news->after);
    fputs(" after a write by ", stream);
    write_unit(news, stream);
    write_place(news, " in ", stream);
    if (news->other > 0)
        fprintf(stream, "; %" PRIu64 " other thread%s wrote at the same time", news->other,
                news->other == 1 ? "" : "s");
}

static void write_barrier(const struct tg_news *news, FILE *stream)
{
    switch ((unsigned)news->decision) {
    case TG_DECIDE_SATISFIED:
        if (news->other > 0)
            fprintf(stream,
                    "barrier %" PRIu32 " is satisfied by the remaining %" PRIu64 "; %" PRIu64
                    " never arrived",
                    news->point, news->count, news->other);
        else if (news->count == 1)
            fprintf(stream, "barrier %" PRIu32 " is satisfied: its only member arrived", news->point);
        else
            fprintf(stream, "barrier %" PRIu32 " is satisfied: all %" PRIu64 " arrived", news->point,
                    news->count);
        return;
    case TG_DECIDE_STUCK:
        fprintf(stream, "barrier %" PRIu32 " can no longer be satisfied: ", news->point);
        write_unit(news, stream);
        fprintf(stream, " is held at barrier %" PRIu64 ", which is waiting too; ddelete one of them",
                news->other);
        return;
    case TG_DECIDE_LEFT:
        if (news->other > 1)
            fprintf(stream, "%" PRIu64 " threads of ", news->other);
        if (news->set != NULL)
            tg_printable_write(stream, news->set);
        else
            write_unit(news, stream);
        fprintf(stream,
                news->count == 0 ? " will not arrive at barrier %" PRIu32 " (%s)"
                                 : " left barrier %" PRIu32 " (%s)",
                news->point, tg_barrier_reason_name(news->reason));
        return;
    case TG_DECIDE_LATE:
        write_unit(news, stream);
        fprintf(stream, " arrived late at barrier %" PRIu32 ", already satisfied", news->point);
        return;
    default:
        write_unit(news, stream);
        fprintf(stream, " arrived at barrier %" PRIu32, news->point);
    }
}

static void write_named(const struct tg_news *news, const char *verb, FILE *stream)
{
    write_unit(news, stream);
    if (news->pid != 0 && news->thread.dpid != 0)
        fprintf(stream, ", %s %" PRId32 ",", news->thread.dtid == 0 ? "pid" : "tid",
                news->thread.dtid == 0 ? news->pid : news->tid);
    fprintf(stream, " %s", verb);
    if (news->name != NULL) {
        fputs(": ", stream);
        tg_printable_write(stream, news->name);
    }
}

static void write_point(const struct tg_news *news, FILE *stream)
{
    if (news->point != 0)
        fprintf(stream, "action point %" PRIu32 " is ", news->point);
    else
        fputs("action points are ", stream);
    tg_printable_write(stream, news->name == NULL ? "" : news->name);
    write_place(news, ": ", stream);
}

static void write_libraries(const struct tg_news *news, FILE *stream)
{
    write_unit(news, stream);
    if (news->count > 0)
        fprintf(stream, " loaded %" PRIu64 " librar%s", news->count, news->count == 1 ? "y" : "ies");
    if (news->other > 0)
        fprintf(stream, "%s unloaded %" PRIu64 " librar%s", news->count > 0 ? " and" : "", news->other,
                news->other == 1 ? "y" : "ies");
    if (news->name != NULL) {
        fputs(news->count > 1 ? ", including " : ": ", stream);
        tg_printable_write(stream, news->name);
    }
}

/* Lines stay one line. */
static void write_text(const struct tg_news *news, FILE *stream)
{
    if (news->text == NULL || *news->text == '\0')
        return;
    if (news->kind == TG_NEWS_SETTING)
        fputs(" is ", stream);
    else if (news->kind != TG_NEWS_NOTE && news->kind != TG_NEWS_ERROR)
        fputs("; ", stream);
    if (news->is_printable)
        fputs(news->text, stream);
    else
        tg_printable_write(stream, news->text);
}

void tg_news_words(const struct tg_news *news, FILE *stream)
{
    switch (news->kind) {
    case TG_NEWS_STARTED:
        write_named(news, "started", stream);
        break;
    case TG_NEWS_EXECUTED:
        write_named(news, "executes", stream);
        break;
    case TG_NEWS_DETACHED:
        write_named(news, "was detached", stream);
        break;
    case TG_NEWS_EXITED:
        write_exit(news, stream);
        break;
    case TG_NEWS_IDENTIFIED:
        fprintf(stream, "process %" PRIu32 " is rank %" PRId64, news->thread.dpid, news->rank);
        if (news->name != NULL)
            fputs(" on ", stream);
        tg_printable_write(stream, news->name == NULL ? "" : news->name);
        break;
    case TG_NEWS_STOPPED:
        write_stop(news, stream);
        break;
    case TG_NEWS_WATCHED:
        write_watched(news, stream);
        break;
    case TG_NEWS_RUNNING:
        write_unit(news, stream);
        fputs(news->set != NULL && news->count != 1 ? " are running" : " is running", stream);
        break;
    case TG_NEWS_BARRIER:
        write_barrier(news, stream);
        break;
    case TG_NEWS_PLANTED:
        fprintf(stream, "action point %" PRIu32 " is planted in ", news->point);
        if (news->set != NULL)
            tg_printable_write(stream, news->set);
        else
            write_unit(news, stream);
        write_place(news, ": ", stream);
        break;
    case TG_NEWS_POINT:
        write_point(news, stream);
        break;
    case TG_NEWS_LIBRARIES:
        write_libraries(news, stream);
        break;
    case TG_NEWS_SETTING:
        fputs("setting ", stream);
        tg_printable_write(stream, news->name == NULL ? "" : news->name);
        break;
    case TG_NEWS_NOTE:
    case TG_NEWS_ERROR:
    case TG_NEWS_KIND_COUNT:
        break;
    }
    write_text(news, stream);
}

/* ---- JSON */

static const char *state_name(enum tg_job_state state)
{
    switch (state) {
    case TG_JOB_NONEXISTENT:
        return "nonexistent";
    case TG_JOB_RUNNING:
        return "running";
    case TG_JOB_KERNEL:
        return "kernel";
    case TG_JOB_STOPPED:
        return "stopped";
    case TG_JOB_BREAKPOINT:
        return "breakpoint";
    case TG_JOB_WATCHPOINT:
        return "watchpoint";
    case TG_JOB_ERROR:
        return "error";
    }
    return "unknown";
}

static void put_number(struct tg_json *json, const char *key, uint64_t value)
{
    if (value != 0)
        tg_json_member_unsigned(json, key, value);
}

static void put_text(struct tg_json *json, const char *key, const char *text)
{
    if (text != NULL)
        tg_json_member_string(json, key, text);
}

static void put_pc(struct tg_json *json, uint64_t pc)
{
    if (pc == 0)
        return;
    tg_json_key(json, "pc");
    tg_json_address(json, pc);
}

static void put_exit(struct tg_json *json, const struct tg_news *news)
{
    static const char *const hows[] = {
        [TG_EXIT_STATUS] = "status", [TG_EXIT_SIGNAL] = "signal", [TG_EXIT_LOST] = "lost"};
    tg_json_member_string(json, "how", hows[news->how]);
    if (news->how != TG_EXIT_LOST)
        tg_json_member_signed(json, "status", news->status);
}

static void put_barrier(struct tg_json *json, const struct tg_news *news)
{
    tg_json_member_string(json, "what", tg_run_decision_name(news->decision));
    if (news->decision == TG_DECIDE_SATISFIED) {
        tg_json_member_unsigned(json, "members", news->count);
        tg_json_member_unsigned(json, "never_came", news->other);
    } else if (news->decision == TG_DECIDE_LEFT) {
        tg_json_member_string(json, "reason", tg_barrier_reason_name(news->reason));
        tg_json_member_bool(json, "had_arrived", news->count != 0);
    } else if (news->decision == TG_DECIDE_STUCK) {
        tg_json_member_unsigned(json, "holder", news->other);
        tg_json_member_unsigned(json, "blocked", news->count);
    }
}

/* Members common to all kinds. */
static void put_whom(struct tg_json *json, const struct tg_news *news)
{
    tg_json_member_string(json, "event", kind_names[news->kind]);
    put_number(json, "dpid", news->thread.dpid);
    put_number(json, "dtid", news->thread.dtid);
    if (news->pid > 0)
        tg_json_member_signed(json, "pid", news->pid);
    if (news->tid > 0)
        tg_json_member_signed(json, "tid", news->tid);
    if (news->has_rank)
        tg_json_member_signed(json, "rank", news->rank);
    put_text(json, "set", news->set);
    put_number(json, "point", news->point);
}

static void put_stop(struct tg_json *json, const struct tg_news *news)
{
    tg_json_member_string(json, "state", state_name(news->state));
    put_number(json, "signal", (uint64_t)news->status);
    put_pc(json, news->pc);
    put_text(json, "place", news->place);
    put_number(json, "threads", news->count);
    if (news->stepped)
        tg_json_member_bool(json, "step", true);
}

static void put_watched(struct tg_json *json, const struct tg_news *news)
{
    put_text(json, "expression", news->name);
    put_text(json, "before", news->before);
    put_text(json, "after", news->after);
    put_number(json, "other_writers", news->other);
    put_pc(json, news->pc);
    put_text(json, "place", news->place);
}

void tg_news_json(const struct tg_news *news, struct tg_json *json)
{
    put_whom(json, news);
    switch (news->kind) {
    case TG_NEWS_STARTED:
        put_number(json, "parent", news->other);
        break;
    case TG_NEWS_EXECUTED:
        put_text(json, "program", news->name);
        break;
    case TG_NEWS_EXITED:
        put_exit(json, news);
        break;
    case TG_NEWS_IDENTIFIED:
        put_text(json, "host", news->name);
        break;
    case TG_NEWS_STOPPED:
        put_stop(json, news);
        break;
    case TG_NEWS_RUNNING:
        put_number(json, "threads", news->count);
        break;
    case TG_NEWS_BARRIER:
        put_barrier(json, news);
        break;
    case TG_NEWS_POINT:
        put_text(json, "what", news->name);
        put_pc(json, news->pc);
        put_text(json, "place", news->place);
        break;
    case TG_NEWS_SETTING:
        put_text(json, "name", news->name);
        tg_json_member_string(json, "value", news->text == NULL ? "" : news->text);
        return;
    case TG_NEWS_WATCHED:
        put_watched(json, news);
        break;
    case TG_NEWS_PLANTED:
        put_pc(json, news->pc);
        put_text(json, "place", news->place);
        break;
    case TG_NEWS_LIBRARIES:
        tg_json_member_unsigned(json, "loaded", news->count);
        tg_json_member_unsigned(json, "unloaded", news->other);
        put_text(json, "library", news->name);
        break;
    case TG_NEWS_DETACHED:
    case TG_NEWS_NOTE:
    case TG_NEWS_ERROR:
    case TG_NEWS_KIND_COUNT:
        break;
    }
    put_text(json, "text", news->text);
}
