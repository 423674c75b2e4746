/* A program of kernels, whose main is the library's. */
#include "kernels.h"
