/* Predefined datatypes by name: whether data of one may arrive as another. */
#ifndef TG_ANALYZER_MODELS_MPI_TYPES_H
#define TG_ANALYZER_MODELS_MPI_TYPES_H

#include <stdbool.h>

/* Whether elements of X and Y (as mpi_enter has them; NULL or "": not known) have one representation, or that is not
 * known. Names of one thing in C and Fortran match, and so do signed and unsigned: somebody who mixes those has made no
 * mistake that harms. MPI_BYTE and MPI_PACKED match everything. */
bool tg_mpi_types_match(const char *x, const char *y);

#endif
