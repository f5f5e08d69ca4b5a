// As checked.cpp, but compiled by a torch that keeps no error: it only prints it.
#define AOTI_MODEL_OLD
#include "checked.cpp"
