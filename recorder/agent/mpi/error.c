#include "recorder/agent/mpi/error.h"

#include "recorder/agent/record.h"

#include <stdio.h>

__thread struct tg_mpi_failure tg_mpi_failure __attribute__((tls_model("initial-exec")));

enum {
    TEXT_BYTES = 1024, /* the longest that an implementation writes is 1024 (MPICH) */
    NAME_BYTES = 64,
};

/* ---- names of error classes: by number, from their mpi.h */

static const char *const open_mpi_classes[] = {
    [1] = "BUFFER",
    [2] = "COUNT",
    [3] = "TYPE",
    [4] = "TAG",
    [5] = "COMM",
    [6] = "RANK",
    [7] = "REQUEST",
    [8] = "ROOT",
    [9] = "GROUP",
    [10] = "OP",
    [11] = "TOPOLOGY",
    [12] = "DIMS",
    [13] = "ARG",
    [14] = "UNKNOWN",
    [15] = "TRUNCATE",
    [16] = "OTHER",
    [17] = "INTERN",
    [18] = "IN_STATUS",
    [19] = "PENDING",
    [20] = "ACCESS",
    [21] = "AMODE",
    [22] = "ASSERT",
    [23] = "BAD_FILE",
    [24] = "BASE",
    [25] = "CONVERSION",
    [26] = "DISP",
    [27] = "DUP_DATAREP",
    [28] = "FILE_EXISTS",
    [29] = "FILE_IN_USE",
    [30] = "FILE",
    [31] = "INFO_KEY",
    [32] = "INFO_NOKEY",
    [33] = "INFO_VALUE",
    [34] = "INFO",
    [35] = "IO",
    [36] = "KEYVAL",
    [37] = "LOCKTYPE",
    [38] = "NAME",
    [39] = "NO_MEM",
    [40] = "NOT_SAME",
    [41] = "NO_SPACE",
    [42] = "NO_SUCH_FILE",
    [43] = "PORT",
    [44] = "QUOTA",
    [45] = "READ_ONLY",
    [46] = "RMA_CONFLICT",
    [47] = "RMA_SYNC",
    [48] = "SERVICE",
    [49] = "SIZE",
    [50] = "SPAWN",
    [51] = "UNSUPPORTED_DATAREP",
    [52] = "UNSUPPORTED_OPERATION",
    [53] = "WIN",
    [68] = "RMA_RANGE",
    [69] = "RMA_ATTACH",
    [70] = "RMA_FLAVOR",
    [71] = "RMA_SHARED",
};

static const char *const mpich_classes[] = {
    [1] = "BUFFER",
    [2] = "COUNT",
    [3] = "TYPE",
    [4] = "TAG",
    [5] = "COMM",
    [6] = "RANK",
    [7] = "ROOT",
    [8] = "GROUP",
    [9] = "OP",
    [10] = "TOPOLOGY",
    [11] = "DIMS",
    [12] = "ARG",
    [13] = "UNKNOWN",
    [14] = "TRUNCATE",
    [15] = "OTHER",
    [16] = "INTERN",
    [17] = "IN_STATUS",
    [18] = "PENDING",
    [19] = "REQUEST",
    [20] = "ACCESS",
    [21] = "AMODE",
    [22] = "BAD_FILE",
    [23] = "CONVERSION",
    [24] = "DUP_DATAREP",
    [25] = "FILE_EXISTS",
    [26] = "FILE_IN_USE",
    [27] = "FILE",
    [28] = "INFO",
    [29] = "INFO_KEY",
    [30] = "INFO_VALUE",
    [31] = "INFO_NOKEY",
    [32] = "IO",
    [33] = "NAME",
    [34] = "NO_MEM",
    [35] = "NOT_SAME",
    [36] = "NO_SPACE",
    [37] = "NO_SUCH_FILE",
    [38] = "PORT",
    [39] = "QUOTA",
    [40] = "READ_ONLY",
    [41] = "SERVICE",
    [42] = "SPAWN",
    [43] = "UNSUPPORTED_DATAREP",
    [44] = "UNSUPPORTED_OPERATION",
    [45] = "WIN",
    [46] = "BASE",
    [47] = "LOCKTYPE",
    [48] = "KEYVAL",
    [49] = "RMA_CONFLICT",
    [50] = "RMA_SYNC",
    [51] = "SIZE",
    [52] = "DISP",
    [53] = "ASSERT",
    [55] = "RMA_RANGE",
    [56] = "RMA_ATTACH",
    [57] = "RMA_SHARED",
    [58] = "RMA_FLAVOR",
    [75] = "SESSION",
    [76] = "PROC_ABORTED",
    [77] = "VALUE_TOO_LARGE",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* "MPI_ERR_TRUNCATE"; "" for a class that the program made. */
static void print_class(int error_class, char name[NAME_BYTES])
{
    bool is_open_mpi = tg_mpi.abi->pointer_handles;
    const char *const *names = is_open_mpi ? open_mpi_classes : mpich_classes;
    size_t n = is_open_mpi ? COUNT(open_mpi_classes) : COUNT(mpich_classes);
    const char *found = error_class > 0 && (size_t)error_class < n ? names[error_class] : NULL;
    if (found == NULL)
        name[0] = '\0';
    else
        snprintf(name, NAME_BYTES, "MPI_ERR_%s", found);
}

/* ---- the record */

static void record(int code, tg_mpi_handle request, const char *call)
{
    char name[NAME_BYTES] = "", text[TEXT_BYTES + 1] = "";
    int error_class = 0, length = 0;
    if (tg_pmpi_Error_class(code, &error_class) == 0)
        print_class(error_class, name);
    if (tg_pmpi_Error_string(code, text, &length) != 0)
        text[0] = '\0';
    text[TEXT_BYTES] = '\0';
    size_t call_words = tg_agent_string_words(call), name_words = tg_agent_string_words(name);
    size_t text_words = tg_agent_string_words(text);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_MPI_ERROR, 2 + call_words + name_words + text_words);
    if (arguments == NULL)
        return;
    arguments[0] = (uint64_t)(int64_t)code;
    arguments[1] = request;
    tg_agent_put_string(arguments + 2, call, call_words);
    tg_agent_put_string(arguments + 2 + call_words, name, name_words);
    tg_agent_put_string(arguments + 2 + call_words + name_words, text, text_words);
    tg_agent_commit();
}

/* Errors of several requests are one, which says only that they are in the statuses. */
static bool is_in_status(int code)
{
    return (code & tg_mpi.abi->error_class) == tg_mpi.abi->err_in_status;
}

/* Replaces *CODE by that of the first request that failed, where the statuses tell; returns its handle. */
static tg_mpi_handle find_failed(const struct tg_mpi_waiting *waiting, int *code)
{
    if (waiting == NULL || waiting->pending == NULL)
        return 0;
    if (waiting->n == 1)
        return waiting->pending[0].request;
    for (size_t i = 0; waiting->statuses != NULL && is_in_status(*code) && i < waiting->n; i++) {
        struct tg_mpi_status status;
        tg_mpi.abi->read_status(tg_mpi_abi_status_at(tg_mpi.abi, waiting->statuses, i), &status);
        if (waiting->pending[i].request == 0 || status.error == 0 ||
            (status.error & tg_mpi.abi->error_class) == tg_mpi.abi->err_pending)
            continue;
        *code = status.error;
        return waiting->pending[i].request;
    }
    return 0;
}

void tg_mpi_error_tell(int code, const char *function)
{
    tg_mpi_failure.is_told = true;
    tg_mpi_handle request = find_failed(tg_mpi_failure.waiting, &code);
    tg_mpi_failure.is_telling = true;
    record(code, request, function);
    tg_mpi_failure.is_telling = false;
}
