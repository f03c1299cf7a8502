/* One problem by one solver of the peer, from zero: `siconos_numerics FILE KIND SOLVER TOLERANCE ITERATIONS OUT`.
 *
 * KIND is 2, 3, 5 (components per contact) or lcp, SOLVER the peer's number of it. The least CPU time of several batches of solves
 * counts, without reading and without the set-up of the options. The impulses go to OUT, one number a line; the numbers of
 * the run to a line `RESULT {json}`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>

#include "FrictionContactProblem.h"
#include "Friction_cst.h"
#include "LinearComplementarityProblem.h"
#include "NonSmoothDrivers.h"
#include "NumericsMatrix.h"
#include "RollingFrictionContactProblem.h"
#include "SolverOptions.h"

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int count, char **arguments)
{
    if (count != 7) {
        fprintf(stderr, "usage: %s FILE KIND SOLVER TOLERANCE ITERATIONS OUT\n", arguments[0]);
        return 2;
    }
    const char *file = arguments[1], *kind = arguments[2];
    int id = atoi(arguments[3]), limit = atoi(arguments[5]);
    double tolerance = atof(arguments[4]);
    /* The peer talks on standard output. */
    int out = dup(1), quiet = open("/dev/null", O_WRONLY);
    dup2(quiet, 1);
    dup2(quiet, 2);

    FrictionContactProblem *contact = NULL;
    RollingFrictionContactProblem *rolling = NULL;
    LinearComplementarityProblem *lcp = NULL;
    int size;
    if (!strcmp(kind, "lcp")) {
        lcp = malloc(sizeof *lcp);
        memset(lcp, 0, sizeof *lcp);
        /* What the reader returns is not set on success. */
        linearComplementarity_newFromFilename(lcp, file);
        size = lcp->size;
        if (size <= 0)
            return 3;
    } else if (!strcmp(kind, "5")) {
        rolling = rollingFrictionContact_new_from_filename(file);
        size = 5 * rolling->numberOfContacts;
    } else {
        contact = frictionContact_new_from_filename(file);
        size = contact->dimension * contact->numberOfContacts;
    }
    double *r = calloc(size, sizeof(double)), *u = calloc(size, sizeof(double));
    /* The clock is coarse: batches of solves that last some milliseconds, the least batch counts; long solves run once. */
    enum { MOST = 2000, BATCHES = 5 };
    static SolverOptions *options[MOST];
    double best = 1e300, residual = -1.0;
    int info = -1, iterations = 0, repeats = 1;
    for (int batch = 0; batch <= BATCHES; batch++) {
        for (int k = 0; k < repeats; k++) {
            options[k] = solver_options_create(id);
            options[k]->dparam[SICONOS_DPARAM_TOL] = tolerance;
            if (limit > 0)
                options[k]->iparam[SICONOS_IPARAM_MAX_ITER] = limit;
        }
        double before = cpu();
        for (int k = 0; k < repeats; k++) {
            memset(r, 0, size * sizeof(double));
            memset(u, 0, size * sizeof(double));
            if (lcp)
                info = linearComplementarity_driver(lcp, r, u, options[k]);
            else if (rolling)
                info = rolling_fc3d_driver(rolling, r, u, options[k]);
            else if (contact->dimension == 2)
                info = fc2d_driver(contact, r, u, options[k]);
            else
                info = fc3d_driver(contact, r, u, options[k]);
        }
        double spent = cpu() - before;
        iterations = options[repeats - 1]->iparam[SICONOS_IPARAM_ITER_DONE];
        residual = options[repeats - 1]->dparam[SICONOS_DPARAM_RESIDU];
        for (int k = 0; k < repeats; k++)
            solver_options_delete(options[k]);
        if (batch == 0) {
            /* The first solve tells how many make a batch; it counts only if it is long itself. */
            double count = 0.008 / (spent > 1e-6 ? spent : 1e-6);
            repeats = count < 1 ? 1 : count > MOST ? MOST : (int)count;
            if (spent < 0.1)
                continue;
        }
        best = spent / repeats < best ? spent / repeats : best;
        if (best > 0.3)
            break;
    }
    FILE *to = fopen(arguments[6], "w");
    for (int i = 0; to && i < size; i++)
        fprintf(to, "%.17g\n", r[i]);
    if (to)
        fclose(to);
    char text[300];
    int length = snprintf(text, sizeof text,
        "RESULT {\"info\":%d,\"time_s\":%.9g,\"iterations\":%d,\"residual\":\"%g\",\"repeats\":%d}\n", info, best, iterations,
        residual, repeats);
    if (write(out, text, length) != length)
        return 4;
    _exit(0);
}
