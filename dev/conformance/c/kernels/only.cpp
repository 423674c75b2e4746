/* The same kernels in C++. */
#include "kernels.h"
