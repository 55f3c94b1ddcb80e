/* The wait of a thread: its slot, filled before it blocks, and the slot as other threads see it. */
#ifndef GORDIAN_SOURCES_RUN_WAIT_H
#define GORDIAN_SOURCES_RUN_WAIT_H

#include "sources/run/shield.h"
#include "sources/run/walk.h"
