/* Programs for Isotach 1.0 that include this header beside iso.h, as C.3 of its report does, compile as they are: all that they use is in iso.h. */
#ifndef QUINTET_IISO_H
#define QUINTET_IISO_H

#include "iso.h"

#endif
