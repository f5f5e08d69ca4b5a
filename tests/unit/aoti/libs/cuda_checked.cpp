// As checked.cpp, for CUDA.
#define AOTI_MODEL_CUDA
#include "checked.cpp"
