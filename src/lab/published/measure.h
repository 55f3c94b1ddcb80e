/* What measuring a published method gives. */
#pragma once

/* Nanoseconds. */
struct measure_time {
    double device; /* between two marks in the device's queue, as the papers' timers do it; 0: no
                      device took part */
    double wall;   /* from the call until the answer is there */
};
