/* Messages between devices of a simulated cluster, all sent at the same virtual moment.
 *
 * Usage, under smpirun: simulated_pairs BYTES FROM TO [FROM TO]... Prints "execute US", what a computation of 3.5 us
 * took on rank 0, and "FROM TO US" for every message: from the sending of all to its arrival.
 */
#include <mpi.h>
#include <smpi/smpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64 };

static void measure_execute(void)
{
    double start = MPI_Wtime();
    smpi_execute(3.5e-6);
    printf("execute %.6f\n", (MPI_Wtime() - start) * 1e6);
}

/* Receives first, so that no message waits for its receiver. */
static void exchange(int rank, int bytes, int flows, char *const *words)
{
    MPI_Request requests[MOST];
    int received[MOST], receives = 0;
    char *buffer = malloc((size_t)bytes);
    for (int i = 0; i < flows; i++) {
        if (atoi(words[2 * i + 1]) != rank) continue;
        received[receives] = i;
        MPI_Irecv(buffer, bytes, MPI_BYTE, atoi(words[2 * i]), i, MPI_COMM_WORLD, &requests[receives++]);
    }
    smpi_execute(1 - MPI_Wtime());
    for (int i = 0; i < flows; i++) {
        MPI_Request sent;
        if (atoi(words[2 * i]) != rank) continue;
        MPI_Isend(buffer, bytes, MPI_BYTE, atoi(words[2 * i + 1]), i, MPI_COMM_WORLD, &sent);
        MPI_Request_free(&sent);
    }
    for (int left = receives; left > 0; left--) {
        int which;
        MPI_Waitany(receives, requests, &which, MPI_STATUS_IGNORE);
        printf("%s %s %.6f\n", words[2 * received[which]], words[2 * received[which] + 1], (MPI_Wtime() - 1) * 1e6);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(buffer);
}

static int concerns(int rank, int flows, char *const *words)
{
    for (int i = 0; i < 2 * flows; i++)
        if (atoi(words[i]) == rank) return 1;
    return 0;
}

int main(int argc, char **argv)
{
    int rank, flows = (argc - 2) / 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (flows < 1 || flows > MOST) MPI_Abort(MPI_COMM_WORLD, 2);
    if (rank == 0) measure_execute();
    if (concerns(rank, flows, argv + 2))
        exchange(rank, atoi(argv[1]), flows, argv + 2);
    else
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
