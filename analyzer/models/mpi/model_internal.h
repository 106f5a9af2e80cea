/* The state of the MPI model, shared by its files. */
#ifndef TG_ANALYZER_MODELS_MPI_MODEL_INTERNAL_H
#define TG_ANALYZER_MODELS_MPI_MODEL_INTERNAL_H

#include "analyzer/models/mpi/callers.h"
#include "analyzer/models/mpi/collectives.h"
#include "analyzer/models/mpi/comms.h"
#include "analyzer/models/mpi/epochs.h"
#include "analyzer/models/mpi/known_names.h"
#include "analyzer/models/mpi/messages.h"
#include "analyzer/models/mpi/model.h"
#include "analyzer/models/mpi/partitions.h"
#include "analyzer/models/mpi/started.h"
#include "format/base/string_pool.h"

struct tg_mpi_model {
    struct tg_mpi_model_options options;
    struct tg_string_pool names;
    struct tg_mpi_known_names known;
    struct tg_mpi_callers callers;
    struct tg_mpi_comms comms;
    struct tg_mpi_collectives collectives;
    struct tg_mpi_started_calls started;
    struct tg_mpi_partitions partitions;
    struct tg_mpi_epochs epochs;
    struct tg_mpi_messages *messages;
    struct tg_wait_times waits;
    uint64_t impossible;
    bool has_names; /* of communicators */
    bool has_joint; /* communicators between jobs */
    struct tg_mpi_fault *faults;
    size_t n_faults, fault_capacity;
    uint64_t all_faults;
    struct tg_mpi_mistyped *mistyped;
    size_t n_mistyped, mistyped_capacity;
};

#endif
