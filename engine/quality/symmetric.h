/* Symmetric: eigenvalues and square roots of small symmetric matrices, in double.
 *
 * Cyclic Jacobi rotations: slow beside LAPACK, but short, without a dependency, and as exact for small eigenvalues as
 * for large ones. Source: Golub and Van Loan, Matrix Computations, section 8.5.
 */
#ifndef DIT_ENGINE_SYMMETRIC_H
#define DIT_ENGINE_SYMMETRIC_H

#include "base/status.h"
#include <stdint.h>

/* Replaces the symmetric a [n, n] by its eigenvalues on the diagonal. vectors [n, n], or NULL, gets an orthogonal
 * matrix whose column k belongs to value k; values are in no order. Errors: DIT_ERR_NONFINITE;
 * DIT_ERR_INTERNAL when they do not settle. */
dit_status dit_symmetric_eigen(double *a, int64_t n, double *vectors);
/* Fills root [n, n] with the square root of a covariance a [n, n], which stays as it is. An eigenvalue that rounding has
 * made negative counts as 0. Errors: DIT_ERR_SHAPE for an eigenvalue that is below 0 by more than rounding explains;
 * DIT_ERR_NONFINITE; DIT_ERR_INTERNAL as dit_symmetric_eigen; DIT_ERR_MEMORY. */
dit_status dit_symmetric_root(const double *a, int64_t n, double *root);
/* Returns an eigenvalue of a matrix whose largest one is `largest`, with 0 for what is within rounding of it, from
 * either side. */
double dit_symmetric_settle(double value, double largest, int64_t n);

#endif
