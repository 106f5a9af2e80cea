/* The JSON report's verdict, OpenMP and MPI. */
#include "analyzer/output/openmp_words.h"
#include "analyzer/report/sections.h"
#include "analyzer/verdict/words.h"

#include <string.h>

static void write_process(struct tg_json *json, const struct tg_report *report, size_t process)
{
    tg_json_key(json, "process");
    if (process < tg_process_model_count(report->processes))
        tg_json_unsigned(json, process);
    else
        tg_json_null(json);
}

static void write_code(struct tg_json *json, const struct tg_report *report, size_t process, uint64_t code)
{
    char text[512] = "0x";
    tg_json_key(json, "code");
    if (code == 0)
        tg_json_null(json);
    else
        tg_json_address(json, code);
    tg_json_key(json, "where");
    if (code != 0 && report->namer.name != NULL && process < tg_process_model_count(report->processes))
        report->namer.name(report->namer.context, process, code, text, sizeof text);
    if (strncmp(text, "0x", 2) == 0) /* it has no name */
        tg_json_null(json);
    else
        tg_json_string(json, text);
}

static void write_moment(struct tg_json *json, const char *key, const struct tg_report *report,
                         uint64_t time_ns)
{
    tg_json_member_signed(json, key, (int64_t)(time_ns - report->start_ns));
}

static void write_findings(struct tg_json *json, const struct tg_report *report)
{
    tg_json_key(json, "post_mortem");
    tg_json_begin_array(json);
    for (size_t i = 0; i < report->verdict.count; i++) {
        const struct tg_finding *finding = &report->verdict.findings[i];
        tg_json_begin_object(json);
        tg_json_member_string(json, "kind", tg_finding_kind_name(finding->kind));
        write_moment(json, "since_ns", report, finding->since_ns);
        write_process(json, report, finding->process);
        write_code(json, report, finding->process, finding->code);
        tg_json_member_unsigned(json, "waiting", finding->waiting);
        tg_json_member_unsigned(json, "missing", finding->missing);
        tg_json_member_string(json, "text", finding->text);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

static void write_zones(struct tg_json *json, const struct tg_report *report)
{
    size_t count;
    const struct tg_openmp_zone_use *zones = tg_openmp_statistics_zones(report->openmp, &count);
    tg_json_key(json, "zones");
    tg_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        char label[64];
        tg_openmp_words_place(zones[i].kind, zones[i].what, label, sizeof label);
        tg_json_begin_object(json);
        tg_json_member_string(json, "zone", label);
        write_process(json, report, zones[i].process);
        write_code(json, report, zones[i].process, zones[i].code);
        if (zones[i].is_inferred)
            tg_json_member_bool(json, "inferred", true);
        tg_json_member_unsigned(json, "count", zones[i].count);
        tg_json_member_unsigned(json, "total_ns", zones[i].total_ns);
        tg_json_member_unsigned(json, "longest_ns", zones[i].max_ns);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

static void write_regions(struct tg_json *json, const struct tg_report *report)
{
    size_t count;
    const struct tg_openmp_region_use *regions = tg_openmp_statistics_regions(report->openmp, &count);
    tg_json_key(json, "regions");
    tg_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        tg_json_begin_object(json);
        write_process(json, report, regions[i].process);
        write_code(json, report, regions[i].process, regions[i].code);
        tg_json_member_unsigned(json, "count", regions[i].count);
        tg_json_member_unsigned(json, "threads", regions[i].threads);
        tg_json_member_unsigned(json, "total_ns", regions[i].total_ns);
        tg_json_member_unsigned(json, "mean_busy_ns", regions[i].busy_ns);
        tg_json_member_unsigned(json, "most_busy_ns", regions[i].max_busy_ns);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

static void write_locks(struct tg_json *json, const struct tg_report *report)
{
    size_t count;
    const struct tg_openmp_lock_use *locks = tg_openmp_statistics_locks(report->openmp, &count);
    tg_json_key(json, "locks");
    tg_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        tg_json_begin_object(json);
        tg_json_member_string(json, "lock", tg_openmp_words_mutex(locks[i].mutex)->phrase);
        tg_json_key(json, "address");
        tg_json_address(json, locks[i].lock);
        write_process(json, report, locks[i].process);
        write_code(json, report, locks[i].process, locks[i].code);
        tg_json_member_unsigned(json, "entries", locks[i].entries);
        tg_json_member_unsigned(json, "contended", locks[i].contended);
        tg_json_member_unsigned(json, "wait_ns", locks[i].wait_ns);
        tg_json_member_unsigned(json, "longest_wait_ns", locks[i].max_wait_ns);
        tg_json_member_unsigned(json, "hold_ns", locks[i].hold_ns);
        tg_json_member_unsigned(json, "longest_hold_ns", locks[i].max_hold_ns);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

static void write_workers(struct tg_json *json, const struct tg_report *report)
{
    const struct tg_openmp_model *model = tg_openmp_statistics_model(report->openmp);
    tg_json_key(json, "workers");
    tg_json_begin_array(json);
    for (size_t i = 0; i < tg_openmp_model_worker_count(model); i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(model, i);
        struct tg_openmp_worker_use use = tg_openmp_statistics_worker(report->openmp, i);
        tg_json_begin_object(json);
        write_process(json, report, worker->process);
        tg_json_member_unsigned(json, "worker", worker->number);
        tg_json_member_signed(json, "tid", worker->tid);
        tg_json_member_bool(json, "alive", worker->alive);
        tg_json_member_unsigned(json, "region_ns", use.region_ns);
        tg_json_member_unsigned(json, "barrier_ns", use.barrier_ns);
        tg_json_member_unsigned(json, "lock_ns", use.lock_ns);
        tg_json_member_unsigned(json, "tasks", use.tasks);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

static void write_openmp(struct tg_json *json, const struct tg_report *report)
{
    uint64_t first_ns;
    const char *first;
    tg_json_key(json, "openmp");
    tg_json_begin_object(json);
    write_regions(json, report);
    write_zones(json, report);
    write_locks(json, report);
    write_workers(json, report);
    tg_json_member_unsigned(
        json, "impossible_events",
        tg_openmp_model_impossible(tg_openmp_statistics_model(report->openmp), &first_ns, &first));
    tg_json_end_object(json);
}

static void write_threads(struct tg_json *json, const struct tg_report *report)
{
    tg_json_key(json, "threads");
    tg_json_begin_array(json);
    for (size_t i = 0; i < tg_mpi_model_thread_count(report->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(report->mpi, i);
        const struct tg_mpi_process *process = tg_mpi_model_process(report->mpi, thread->process);
        tg_json_begin_object(json);
        write_process(json, report, thread->process);
        tg_json_member_signed(json, "rank", process == NULL ? -1 : process->rank);
        tg_json_member_signed(json, "tid", thread->tid);
        tg_json_member_unsigned(json, "calls", thread->calls);
        tg_json_member_unsigned(json, "call_ns", thread->call_ns);
        tg_json_member_bool(json, "in_call", thread->in_call);
        tg_json_member_string(json, "call", thread->call.name);
        write_moment(json, "since_ns", report, thread->in_call ? thread->call.since_ns : thread->left_ns);
        tg_json_member_signed(json, "peer", thread->call.peer);
        tg_json_member_signed(json, "tag", thread->call.tag);
        write_code(json, report, thread->process, thread->call.code);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

struct messages {
    struct tg_json *json;
    const struct tg_report *report;
};

static struct tg_error *write_message(void *context, const struct tg_mpi_message *message)
{
    const struct messages *to = context;
    tg_json_begin_object(to->json);
    tg_json_member_string(to->json, "call", message->name);
    write_process(to->json, to->report, message->process);
    tg_json_key(to->json, "comm");
    tg_json_address(to->json, message->comm);
    tg_json_member_signed(to->json, "source", message->source);
    tg_json_member_signed(to->json, "destination", message->destination);
    tg_json_member_signed(to->json, "tag", message->tag);
    tg_json_member_unsigned(to->json, "bytes", message->bytes);
    write_moment(to->json, "since_ns", to->report, message->since_ns);
    write_code(to->json, to->report, message->process, message->code);
    tg_json_end_object(to->json);
    return NULL;
}

static struct tg_error *write_mpi(struct tg_json *json, const struct tg_report *report)
{
    struct messages to = {.json = json, .report = report};
    tg_json_key(json, "mpi");
    tg_json_begin_object(json);
    write_threads(json, report);
    tg_json_key(json, "unreceived");
    tg_json_begin_array(json);
    struct tg_error *error = tg_mpi_model_visit_sends(report->mpi, write_message, &to);
    tg_json_end_array(json);
    tg_json_key(json, "unsatisfied");
    tg_json_begin_array(json);
    if (error == NULL)
        error = tg_mpi_model_visit_receives(report->mpi, write_message, &to);
    tg_json_end_array(json);
    tg_json_member_unsigned(json, "unmatched_beyond_limit", tg_mpi_model_unkept(report->mpi));
    tg_json_member_unsigned(json, "impossible_events", tg_mpi_model_impossible(report->mpi));
    tg_json_end_object(json);
    return error;
}

struct tg_error *tg_report_parallel_json(const struct tg_report *report, struct tg_json *json)
{
    write_findings(json, report);
    write_openmp(json, report);
    return write_mpi(json, report);
}
