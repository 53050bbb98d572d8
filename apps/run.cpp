#include "apps/verbs.h"
